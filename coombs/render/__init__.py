"""Sentences (`sentences`), HTML and plots (`draw_*`), from the records of `coombs.insights` alone."""
