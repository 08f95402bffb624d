"""The pages for people: a router for each, listed in `coombs.web.app`; their HTML is in `templates`."""
