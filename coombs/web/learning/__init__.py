"""Learning from answers behind the page: a queue, and the processes that do the work."""
