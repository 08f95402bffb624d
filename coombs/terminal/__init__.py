"""Questions in a terminal: `coombs ask`."""

from coombs.terminal.session import Plan, ask

__all__ = ["Plan", "ask"]
