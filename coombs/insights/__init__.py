"""Every number that is said or drawn of a fit or of a saved model, computed once, as frozen records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coombs.insights.explanation import Explanation

if TYPE_CHECKING:
    from coombs.insights.from_fit import explain

__all__ = ["Explanation", "explain"]


def __getattr__(name: str) -> Any:
    # A model alone is told of without scikit-learn, which takes a second to import.
    if name != "explain":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from coombs.insights.from_fit import explain

    return explain
