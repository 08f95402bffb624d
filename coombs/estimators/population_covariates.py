"""What a population makes of what is known of people beside their answers."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data import naming
from coombs.data.people_table import PeopleTable
from coombs.data.tables import InputError
from coombs.inference.people.covariate_slopes import Covariates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray, Names
    from coombs.inference.people.average_of_kinds import PeopleAverage
    from coombs.inference.people.tastes import Taste


class PopulationCovariates:
    """Who is meant, by name, and what is known of them."""

    people_: NDArray[Any]
    _average: PeopleAverage
    _about: PeopleTable | None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {naming.text(name): place for place, name in enumerate(self.people_)}

    def _told_of(self, people: Any) -> Covariates | None:
        """Everybody's covariates out of a frame; None without one, or where nobody differs."""
        table = None if people is None else PeopleTable.of(people, self.people_)
        if table is not None and not len(table.columns):
            warnings.warn(
                "Nothing in people differs from one person to another, so that it is not learned from.",
                UserWarning,
                stacklevel=3,
            )
            table = None
        return self._with_about(table, None)

    def _with_about(self, table: PeopleTable | None, columns: NDArray[np.intp] | None) -> Covariates | None:
        """Keep what is known of people, and give the columns of it that are learned from."""
        self._about = table
        if table is None:
            return None
        every = Covariates(table.values(self.people_), table.sources)
        return every if columns is None else every.columns(columns)

    def _position(self, user: Any) -> int:
        """Of a person among all; -1 if never seen."""
        return self._positions.get(naming.text(user), -1)

    def _places_of(self, users: Names, people: Any) -> tuple[NDArray[np.intp], list[FloatArray]]:
        """(n,) positions of people; -1 of those never seen, and -2, -3, ... of such as something is known of.

        Covariates of those are given in that order.
        """
        labels = np.array([self._position(user) for user in users], dtype=np.intp)
        strange = dict.fromkeys(naming.text(users[i]) for i in np.flatnonzero(labels < 0))
        known = self._values_of(list(strange), people)
        numbers = {text: -2 - place for place, text in enumerate(known)}
        for i in np.flatnonzero(labels < 0):
            labels[i] = numbers.get(naming.text(users[i]), -1)
        return labels, list(known.values())

    def _values_of(self, users: list[str], people: Any) -> dict[str, FloatArray]:
        """Covariates of people never seen: out of a frame, or of that of the fit."""
        if people is not None and self._about is None:
            raise InputError(
                "The population knows of people nothing but their answers; give people= to fit, too."
            )
        if self._about is None or not users:
            return {}
        kept, wanted = self._average.told.columns, set(users)
        found = [user for user in users if self._about.has(user)]
        known = dict(zip(found, self._about.values(found)[:, kept], strict=True))
        if people is not None:
            names, values = self._about.new(people, users)
            known |= {
                name: value for name, value in zip(names, values[:, kept], strict=True) if name in wanted
            }
        return known

    def _values_about(self, about: Mapping[str, Any] | None) -> FloatArray | None:
        """Covariates of somebody new; None if nothing is known of them."""
        if about is None:
            return None
        if self._about is None:
            raise InputError(
                "The population knows of people nothing but their answers, so that about= tells it nothing; "
                "give people= to fit."
            )
        result: FloatArray = self._about.about(about)[self._average.told.columns]
        return result

    def _tastes_about(self, values: FloatArray | None) -> tuple[Taste, ...]:
        """Of somebody never seen, of whom these covariates are known, or none."""
        return tuple(part.known_about(values).anybody() for part in self._average.parts)
