"""Questions in a terminal: `coombs ask`."""
