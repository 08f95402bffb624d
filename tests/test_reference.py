"""Every public name says what it takes, what comes out, and how it is called; objects show themselves."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coombs
from coombs import Comparisons, IdealPoint, Model, Posterior, SingleStep
from coombs.study import Question

ROOT = Path(__file__).resolve().parents[1]
MODULES = (
    "coombs",
    "coombs.datasets",
    "coombs.evaluation",
    "coombs.questions",
    "coombs.simulate",
    "coombs.insights",
    "coombs.plots",
    "coombs.storage",
    "coombs.study",
    "coombs.web",
)
OLD_NAMES = ("IdealPoint.ladder",)
"""Deprecated: a line that says the new name is enough."""


def public(module: str) -> Iterator[tuple[str, Any]]:
    """Classes and functions that a module offers, by name."""
    home = import_module(module)
    for name in getattr(home, "__all__", None) or [name for name in vars(home) if name[0] != "_"]:
        value = getattr(home, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        is_own = value.__module__ == module or hasattr(home, "__all__")
        # A former name has the help of the present one.
        if is_own and value.__name__ == name and value.__module__.startswith("coombs"):
            yield name, value


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class, inherited ones included but for those of other packages."""
    for name, value in inspect.getmembers(owner):
        is_method = inspect.isfunction(value) or inspect.ismethod(value)
        if is_method and name[0] != "_" and value.__module__.startswith("coombs"):
            yield f"{owner.__name__}.{name}", value


def documented() -> dict[str, Any]:
    """Everything public whose help must be complete, by name."""
    found = {}
    for module in MODULES:
        for name, value in public(module):
            found[name] = value
            found |= dict(methods(value)) if inspect.isclass(value) else {}
    return {name: value for name, value in found.items() if name not in OLD_NAMES}


DOCUMENTED = documented()


def parameters(value: Any) -> list[str]:
    """What it is called with; nobody makes a status, and an exception is called with its message."""
    if inspect.isclass(value) and issubclass(value, Exception | Enum):
        return []
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


def section(help_text: str, name: str) -> str:
    """The text under a heading, or nothing."""
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", help_text, flags=re.MULTILINE | re.DOTALL)
    return "" if found is None else found[1]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_help_has_parameters_returns_and_an_example(name: str) -> None:
    """That examples run is tested where they stand: pytest collects the doctests of the package."""
    value = DOCUMENTED[name]
    text = inspect.getdoc(value) or ""
    described = section(text, "Parameters")
    missing = [one for one in parameters(value) if not re.search(rf"\b{one}\b", described)]
    if "others : as for `SingleStep`" in described:
        missing = [one for one in missing if one not in parameters(SingleStep)]
    assert not missing, f"{name} does not say what {missing} are"
    assert inspect.isclass(value) or section(text, "Returns"), f"{name} does not say what comes out"
    assert ">>>" in section(text, "Examples"), f"{name} has no example"


@pytest.mark.parametrize("name", [name for name in coombs.__all__ if hasattr(getattr(coombs, name), "fit")])
def test_help_of_an_estimator_lists_what_a_fit_leaves(name: str) -> None:
    """Under Attributes: every attribute, or where the list stands."""
    listed = section(inspect.getdoc(getattr(coombs, name)) or "", "Attributes")
    fitted = ["ideal_point_", "metric_", "distances_", "status_"]
    if name == "Population":
        fitted = ["people_", "ideal_point_", "metric_", "status_"]
    assert [one for one in fitted if one not in listed] == [] or "others" in listed


def listed() -> list[str]:
    """The names in docs/reference.md; methods stand on the page of their class."""
    lines = r"^(?:   |\.\. autoclass:: )(coombs\.[\w.]+)$"
    return re.findall(lines, (ROOT / "docs" / "reference.md").read_text(), flags=re.MULTILINE)


def test_the_reference_has_every_documented_name() -> None:
    names = {name.rpartition(".")[2] for name in listed()}
    assert [name for name in DOCUMENTED if "." not in name and name not in names] == []


@pytest.mark.parametrize("name", listed())
def test_a_name_in_the_reference_can_be_imported(name: str) -> None:
    home, _, last = name.rpartition(".")
    assert hasattr(import_module(home), last)


def test_doctests_of_the_package_are_collected() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert "coombs" in options["testpaths"]
    assert "--doctest-modules" in options["addopts"]


def test_the_list_of_old_names_holds_no_name_that_is_gone() -> None:
    for name in OLD_NAMES:
        owner, method = name.split(".")
        assert hasattr(getattr(coombs, owner), method)


# What objects show of themselves

SCRIPT = "<script>alert('&\"')</script>"


class Table(HTMLParser):
    """The tags, texts and rows of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def many(n: int = 100_000) -> Comparisons:
    """Answers about many items, by many people."""
    pairs = np.column_stack([np.arange(n), np.roll(np.arange(n), 1)])
    return Comparisons(np.arange(3.0 * n).reshape(n, 3), pairs, users=np.arange(n))


def named() -> Comparisons:
    """Answers in which every name is a script."""
    pd = pytest.importorskip("pandas")
    items = pd.DataFrame([[0.0], [1.0]], index=[SCRIPT, "tea"], columns=[SCRIPT])
    return Comparisons(items, [[SCRIPT, "tea"], ["tea", SCRIPT]], y=[-1, 0], users=[SCRIPT, "ann"])


def study() -> coombs.Study:
    """A study in which every name is a script."""
    pd = pytest.importorskip("pandas")
    items = pd.DataFrame([[0.0], [1.0]], index=[SCRIPT, "tea"], columns=[SCRIPT])
    made = coombs.create_study(items, SCRIPT, storage="memory:", probes=0.0)
    made.respondent(SCRIPT).tell((SCRIPT, "tea"))
    return made


def question() -> Question:
    """A question in which every name is a script."""
    return Question(7, SCRIPT, SCRIPT, "tea", (0, 1), "probe", None, datetime(2026, 1, 31, tzinfo=UTC))


def posterior(d: int, n_items: int = 2) -> Posterior:
    """Four draws."""
    rng = np.random.default_rng(0)
    ideals = rng.normal(size=(4, d))
    eyes, effects = np.broadcast_to(np.eye(d), (4, d, d)), np.zeros((4, n_items))
    return Posterior(np.zeros(d), eyes, ideals, ideals, np.zeros(4), effects=effects)


SHOWN = {
    "many answers": (many, "Comparisons(100000 answers about 100000 items with 3 features, by 100000 users)"),
    "named": (named, "Comparisons(2 answers about 2 items with 1 feature, by 2 users, 1 tie)"),
    "model": (lambda: Model(np.eye(2), np.array([4, 0.5])), "Model(2 features, ideal point: 4, 0.5)"),
    "model with names": (
        lambda: Model(np.eye(1), np.ones(1), (SCRIPT,), n_people=3),
        f"Model(1 feature, ideal point: {SCRIPT} 1; learned from 3 people's answers)",
    ),
    "linear model": (
        lambda: Model(0 * np.eye(2), np.full(2, np.nan), ("a", "b"), slope=np.ones(2), centre=np.zeros(2)),
        "Model(2 features, no ideal point)",
    ),
    "wide model": (
        lambda: Model(np.eye(50), np.zeros(50)),
        "Model(50 features, ideal point: 0, 0, 0, 0, ...)",
    ),
    "study": (study, f"Study({SCRIPT!r}, 2 items with 1 feature)"),
    "question": (question, f"Question(7: {SCRIPT!r} or 'tea'? For {SCRIPT!r}, probe)"),
    "posterior": (
        lambda: posterior(20, 100_000),
        "Posterior(4 draws by sampling, 20 features, effects of 100000 items, R-hat 1.00)",
    ),
}


@pytest.mark.parametrize(("make", "line"), SHOWN.values(), ids=SHOWN)
def test_an_object_says_in_one_line_what_it_holds(make: Any, line: str) -> None:
    assert repr(make()) == line


@pytest.mark.parametrize("make", [make for make, _ in SHOWN.values()], ids=SHOWN)
def test_a_notebook_shows_a_small_table_with_every_text_escaped(make: Any) -> None:
    """At most ten rows and a heading; the caption is the line, and no name is markup."""
    value = make()
    page = Table(value._repr_html_())
    assert {*page.tags} <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert page.tags.count("tr") <= 11
    assert repr(value) in page.text


def test_a_notebook_shows_who_preferred_what() -> None:
    """Rows of user, left, right, winner, weight; and how many there are where not all are shown."""
    page = Table(named()._repr_html_())
    assert page.text.endswith(f"{SCRIPT}{SCRIPT}teatea1" + f"anntea{SCRIPT}tie1")
    assert Table(many(20)._repr_html_()).text.endswith("10 of 20 answers")


def test_a_fitted_model_and_its_posterior_show_themselves() -> None:
    est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
    assert re.fullmatch(r"Model\(1 feature, ideal point: \S+\)", repr(est.model_))
    assert re.fullmatch(
        r"Posterior\(\d+ draws by sampling, 1 feature, R-hat \d\.\d\d\)", repr(est.posterior_)
    )
    assert Table(est.posterior_._repr_html_()).tags.count("tr") == 2


def test_no_two_files_or_classes_of_the_package_have_the_same_name() -> None:
    names: list[str] = []
    for path in (ROOT / "coombs").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        names += [node.name for node in nodes if isinstance(node, ast.ClassDef)]
        names += [path.name] * (path.name != "__init__.py")
    assert not [name for name, count in Counter(names).items() if count > 1]
