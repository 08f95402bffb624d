"""The JSON API behind the page: another front end can ask questions and store answers."""
