"""The page in the browser: `serve` runs it, `create_app` gives it to any ASGI server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coombs.web.app import create_app as create_app
    from coombs.web.server import serve as serve

__all__ = ["create_app", "serve"]
_HOME = {"create_app": "app", "serve": "server"}


def __getattr__(name: str) -> Any:
    """Import what is asked for; without the extra a sentence says what to install."""
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ImportError as error:
        if (error.name or "").startswith("coombs"):
            raise
        raise ImportError(
            f'The page needs {error.name}; install it with: pip install "coombs[web]"'
        ) from error
