"""Learn a person's ideal point and the metric in which they judge, from "A or B?" answers."""

from coombs.comparisons import Comparisons, InputError
from coombs.estimators.alternating import Alternating
from coombs.estimators.euclidean import EuclideanCompass, EuclideanSingleStep
from coombs.estimators.ideal_point import IdealPoint
from coombs.estimators.single_step import SingleStep
from coombs.html_report import report
from coombs.model import Model
from coombs.posterior import Posterior
from coombs.solvers.program import ConvergenceError, Status

__version__ = "0.2.0"

__all__ = [
    "Alternating",
    "Comparisons",
    "ConvergenceError",
    "EuclideanCompass",
    "EuclideanSingleStep",
    "IdealPoint",
    "InputError",
    "Model",
    "Posterior",
    "SingleStep",
    "Status",
    "__version__",
    "report",
]
