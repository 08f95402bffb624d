"""Learn a person's ideal point and the metric in which they judge, from "A or B?" answers."""

from coombs.comparisons import Comparisons, InputError

__version__ = "0.1.0"

__all__ = ["Comparisons", "InputError", "__version__"]
