"""Many people on the command line: the fit, what is written of it, and what is printed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import coombs
from coombs.cli import show

if TYPE_CHECKING:
    from coombs.data.comparisons import Comparisons
    from coombs.estimators.population import Population

METRICS = ("auto", "none", "diagonal", "full", "smooth")
"""Kinds of preference that many people may have."""


def fitted_population(data: Comparisons, metric: str, groups: str, about: str | None = None) -> Population:
    """The population that is asked for, with what a file says about people; its warnings as sentences."""
    population = coombs.Population(metric=metric, groups=_count(groups))
    with show.warned():
        population.fit(data, people=None if about is None else _people_in(about))
    return population


def _people_in(path: str) -> Any:
    """A frame with a row a person."""
    from coombs.data.files import read_table
    from coombs.data.tables import pandas
    from coombs.data.user_columns import USER, user_column

    table = read_table(path)
    user = user_column(table.columns, path)
    if user is None:
        raise coombs.InputError(
            f"{path} has no column user with names in it, so that nobody knows who its rows are of; it has "
            f"{', '.join(map(str, table.columns))}."
        )
    columns = {name: list(cells) for name, cells in table.typed.items() if name != user}
    return pandas().DataFrame({USER: table.columns[user]} | columns)


def _count(text: str) -> int | str:
    """A number of groups, or auto."""
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise coombs.InputError(f"--groups is {text!r}; it must be auto or a whole number from 1.")
    return text if text == "auto" else int(text)


def write_population(population: Population, options: SimpleNamespace) -> dict[str, str | None]:
    """All files that are asked for: what each is, and its path."""
    from coombs.data.frame_files import write_frame
    from coombs.insights.people_explanation import names_items

    for path in {options.out, options.save} - {None}:
        population.save(path)
    if options.people:
        write_frame(population.to_frame(ranks=names_items(population)), options.people)
    if options.report:
        population.report(options.report)
    return {
        "model": options.out,
        "estimator": options.save,
        "people": options.people,
        "report": options.report,
    }


def print_files(written: dict[str, str | None]) -> None:
    """Where they are."""
    names = {"model": "Population", "estimator": "Population", "people": "People", "report": "Report"}
    lines = [f"{names[what]}: {path}" for what, path in written.items() if path]
    if lines:
        print("", *dict.fromkeys(lines), sep="\n")


def population_json(population: Population, options: SimpleNamespace, written: dict[str, Any]) -> None:
    """For programs: as much as `coombs fit` says of one, and what people share."""
    from coombs.insights.people_explanation import names_items, names_of

    told = population.explain()
    features = names_of(population)
    ideal = dict(zip(features, population.ideal_point_.tolist(), strict=True)) if told.has_pattern else None
    names = list(population.people_.tolist())
    found = population.consensus("borda") if told.has_pattern and names_items(population) else None
    ranking = [] if found is None else list(zip(found["item"], found["borda"], strict=True))
    show.as_json(
        {
            "estimator": "population",
            "metric": max(population.kind_weights_, key=lambda kind: population.kind_weights_[kind]),
            "status": population.status_,
            "user": None,
            "users": names,
            "n_answers": len(population._data),
            "shapes": options.shapes,
            "n_items": population._data.n_items,
            "features": list(features),
            "has_pattern": told.has_pattern,
            "ideal_point": ideal,
            "ranking": [
                {"rank": rank, "item": item, "mean_place": place}
                for rank, (item, place) in enumerate(ranking, 1)
            ],
            "groups": [group_json(one) for one in population.groups_],
            "explanation": told.to_dict(),
            "written": written,
        }
    )


def group_json(group: Any, top: int | None = None) -> dict[str, Any]:
    """A group for programs."""
    return {
        "group": group.number,
        "people": group.people,
        "share": group.share,
        "certain": group.certain,
        "wants": group.words,
        "members": list(group.members),
        "probabilities": list(group.probabilities),
        "best": list(group.best[:top]),
    }
