"""The JSON API, by which programs ask and tell: a router for each subject, listed in `coombs.web.app`."""
