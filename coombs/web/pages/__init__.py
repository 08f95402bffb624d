"""The pages for people, as HTML."""
