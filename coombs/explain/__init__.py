"""What was learned, in words: `explain(est)` or `est.explain()`."""

from coombs.explain.learned import explain
from coombs.explain.records import Explanation

__all__ = ["Explanation", "explain"]
