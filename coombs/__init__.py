"""Learn a person's ideal point and the metric in which they judge, from "A or B?" answers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coombs.data.comparisons import Comparisons as Comparisons
    from coombs.data.tables import InputError as InputError
    from coombs.estimators.alternating import Alternating as Alternating
    from coombs.estimators.convex import ConvexIdealPoint as ConvexIdealPoint
    from coombs.estimators.euclidean import EuclideanCompass as EuclideanCompass
    from coombs.estimators.euclidean import EuclideanSingleStep as EuclideanSingleStep
    from coombs.estimators.ideal_point import IdealPoint as IdealPoint
    from coombs.estimators.many_people import SharedMetric as SharedMetric
    from coombs.estimators.person import Person as Person
    from coombs.estimators.population import Population as Population
    from coombs.estimators.saved import load as load
    from coombs.estimators.single_step import SingleStep as SingleStep
    from coombs.inference.people.shard_keepers import ClusterLostError as ClusterLostError
    from coombs.inference.posterior import Posterior as Posterior
    from coombs.model import Model as Model
    from coombs.programs.program import ConvergenceError as ConvergenceError
    from coombs.programs.program import Status as Status
    from coombs.render.html import report as report
    from coombs.study import Study as Study
    from coombs.study import create_study as create_study
    from coombs.study import delete_study as delete_study
    from coombs.study import import_study as import_study
    from coombs.study import list_studies as list_studies
    from coombs.study import load_study as load_study

__version__ = "0.2.0"

_HOME = {
    "Alternating": "estimators.alternating",
    "ClusterLostError": "inference.people.shard_keepers",
    "Comparisons": "data.comparisons",
    "ConvergenceError": "programs.program",
    "ConvexIdealPoint": "estimators.convex",
    "EuclideanCompass": "estimators.euclidean",
    "EuclideanSingleStep": "estimators.euclidean",
    "IdealPoint": "estimators.ideal_point",
    "InputError": "data.tables",
    "Model": "model",
    "Person": "estimators.person",
    "Population": "estimators.population",
    "Posterior": "inference.posterior",
    "SharedMetric": "estimators.many_people",
    "SingleStep": "estimators.single_step",
    "Status": "programs.program",
    "Study": "study",
    "create_study": "study",
    "delete_study": "study",
    "import_study": "study",
    "list_studies": "study",
    "load": "estimators.saved",
    "load_study": "study",
    "report": "render.html",
}
"""Where each name lives; it is imported when it is asked for, so that commands start at once."""

__all__ = [*_HOME, "__version__"]


_MODULES = ("datasets", "evaluation", "plots", "questions", "simulate", "web")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
