"""Learn a person's ideal point and the metric in which they judge, from "A or B?" answers."""

from coombs.comparisons import Comparisons, InputError
from coombs.estimators.alternating import Alternating
from coombs.estimators.euclidean import EuclideanCompass, EuclideanSingleStep
from coombs.estimators.single_step import SingleStep
from coombs.model import Model
from coombs.solvers.program import ConvergenceError, Status

__version__ = "0.1.0"

__all__ = [
    "Alternating",
    "Comparisons",
    "ConvergenceError",
    "EuclideanCompass",
    "EuclideanSingleStep",
    "InputError",
    "Model",
    "SingleStep",
    "Status",
    "__version__",
]
