"""Text, HTML and plots of what was learned, from the records of `coombs.insights`."""
