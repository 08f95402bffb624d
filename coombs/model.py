"""What was learned: a metric and an ideal point, and what follows from them alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coombs.data import notebook
from coombs.data.encoding import Encoding
from coombs.data.new_items import table_for
from coombs.data.strict_json import read_json
from coombs.data.tables import FloatArray, InputError, ItemTable, TableLike
from coombs.inference.kernel import Bumps
from coombs.model_fields import VECTORS, checked_fields
from coombs.terminal_text import terminal_safe
from coombs.words import count, plain

if TYPE_CHECKING:
    from coombs.insights.explanation import Explanation

FORMAT = "coombs-model"
"""What a file of a model says that it is."""
VERSION = 2
"""Of the file's format."""
SMOOTH_VERSION = 3
"""Of a model with a smooth part, which older versions of coombs do not know."""
ENCODED_VERSION = 4
"""Of a model of a table whose columns are not all plain numbers, or of scores with a constant."""
READABLE = (1, 2, 3, 4)
"""Versions that are read."""
UNSEEN = 1e-6
"""Eigenvalues of the metric below this share of the largest count as zero."""
SHOWN = 4
"""Features that the one line about a model names."""


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A frozen result: squared distance (x - u)' M (x - u), the nearest item being the best.

    Parameters
    ----------
    metric : (d, d) symmetric positive semidefinite M, known up to a factor
    ideal_point : (d,) u, in the units of the features
    feature_names : d names, or None
    scales : (d,) a typical size of each feature, in whose units directions are told apart
    slope, centre : (d,) each, or None; where given, the score (x - c)' M (x - c) + slope' (x - c) takes the
        distance's place: for linear preferences, which have no ideal point (it is NaN), and signed ones
    n_people : how many people's answers it was learned from, or None where that is not known
    bumps, offset : a smooth function of the features, or None, and a constant that are added to the score
    findings : what the answers support (`Explanation.findings`), so that the model says the same as the fit
    item_scores : of items without features, d being 0, the score of each by name, less being better
    encoding : how the columns of a table of items become features, or None where they are the same numbers

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import Model
    >>> model = Model(np.eye(2), np.array([4.0, 0.5]), ("price", "milk"))
    >>> model
    Model(2 features, ideal point: price 4, milk 0.5)
    >>> model.rank([[9.0, 0.0], [5.0, 1.0]]).tolist()
    [1, 0]
    """

    metric: FloatArray
    ideal_point: FloatArray
    feature_names: tuple[str, ...] | None = None
    scales: FloatArray | None = None
    slope: FloatArray | None = None
    centre: FloatArray | None = None
    n_people: int | None = None
    findings: dict[str, Any] | None = None
    bumps: Bumps | None = None
    offset: float = 0.0
    item_scores: dict[str, float] | None = None
    encoding: Encoding | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self._score_fields() == other._score_fields()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.item_scores is not None:
            return f"Model({count(len(self.item_scores), 'item')} by name, without features)"
        values = [plain(value) for value in self.ideal_point[:SHOWN]]
        if self.feature_names is not None:
            names = map(terminal_safe, self.feature_names)
            values = [f"{name} {value}" for name, value in zip(names, values, strict=False)]
        values += ["..."] * (len(self.ideal_point) > SHOWN)
        has_ideal = not np.isnan(self.ideal_point).any()
        parts = [f"ideal point: {', '.join(values)}" if has_ideal else "no ideal point"]
        parts += ["a smooth part"] * (self.bumps is not None)
        parts += [] if self.n_people is None else [f"learned from {self.n_people} people's answers"]
        return f"Model({count(len(self.ideal_point), 'feature')}, {'; '.join(parts)})"

    def _repr_html_(self) -> str:
        """The ideal point and the metric's diagonal as a table for notebooks."""
        d, columns = len(self.ideal_point), {"metric, diagonal": np.diag(self.metric)}
        if self.slope is not None:
            columns = {"slope at the centre": self.slope, **columns}
        if not np.isnan(self.ideal_point).any():
            columns = {"ideal point": self.ideal_point, **columns}
        names = map(str, range(d)) if self.feature_names is None else self.feature_names
        some = [column[: notebook.MOST_ROWS].tolist() for column in columns.values()]
        rows = [[name, *map(plain, values)] for name, *values in zip(names, *some, strict=False)]
        return notebook.table(repr(self), ["feature", *columns], rows, d, "feature")

    def distance(self, items: TableLike) -> FloatArray:
        """Return the squared distance of each item from the ideal point; less is better.

        Parameters
        ----------
        items : (n, d) table with the features that were learned from

        Returns
        -------
        (n,) squared distances; where there is a slope or a smooth part, scores

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> Model(np.eye(2), np.zeros(2)).distance([[3.0, 0.0], [1.0, 1.0]]).tolist()
        [9.0, 2.0]
        """
        return self._distances(self._table(items))

    def _distances(self, table: ItemTable) -> FloatArray:
        """Distances of a checked table's items; by name where they have no features."""
        if self.item_scores is not None:
            return self._scores_of(table.texts, self.item_scores)
        return self.scores_of(table.matrix)

    def scores_of(self, matrix: FloatArray) -> FloatArray:
        """Return the same of items that are the features themselves, as the fit has them.

        Parameters
        ----------
        matrix : (n, d) numbers, in the order of `feature_names`

        Returns
        -------
        (n,) squared distances, or scores

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> Model(np.eye(2), np.zeros(2)).scores_of(np.array([[3.0, 0.0]])).tolist()
        [9.0]
        """
        away = matrix - (self.ideal_point if self.centre is None else self.centre)
        result: FloatArray = np.einsum("ij,ij->i", away @ self.metric, away)
        if self.slope is not None:
            result += away @ self.slope
        if self.bumps is not None:
            result += self.bumps(matrix)
        return result + self.offset if self.offset else result

    def _scores_of(self, names: list[str], scores: dict[str, float]) -> FloatArray:
        """Scores of items without features, by name."""
        unknown = next((name for name in names if name not in scores), None)
        if unknown is not None:
            known = ", ".join(map(repr, list(scores)[:SHOWN])) + ", ..." * (len(scores) > SHOWN)
            raise InputError(f"Nothing is known of item {unknown!r}; the model ranks {known} by their names.")
        return np.array([scores[name] for name in names])

    def rank(self, items: TableLike) -> NDArray[Any]:
        """Return the items from best to worst.

        Parameters
        ----------
        items : (n, d) table with the features that were learned from

        Returns
        -------
        (n,) names where the table has them, otherwise positions

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> Model(np.eye(2), np.zeros(2)).rank([[3.0, 0.0], [1.0, 1.0]]).tolist()
        [1, 0]
        """
        table = self._table(items)
        order = np.argsort(self._distances(table), kind="stable")
        return order if table.names is None else table.names[order]

    def transform(self, items: TableLike) -> FloatArray:
        """Return the items in coordinates in which the learned distance is Euclidean: x L', M = L'L.

        Parameters
        ----------
        items : (n, d) table with the features that were learned from

        Returns
        -------
        (n, d) numbers, the most important direction first

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> np.abs(Model(np.diag([1.0, 4.0]), np.zeros(2)).transform([[3.0, 0.5]])).tolist()
        [[1.0, 3.0]]
        """
        return self._matrix(items) @ self.components().T

    def components(self) -> FloatArray:
        """Return a root of the metric: L with M = L'L.

        Returns
        -------
        (d, d) L, a row for each eigenvector of M, the most important first

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> np.abs(Model(np.diag([1.0, 4.0]), np.zeros(2)).components()).tolist()
        [[0.0, 2.0], [1.0, 0.0]]
        """
        values, vectors = np.linalg.eigh(self.metric)
        result: FloatArray = (vectors * np.sqrt(np.maximum(values, 0.0))).T[::-1]
        return result

    def interactions(self) -> tuple[FloatArray, FloatArray]:
        """Return how features act together: eigenvalues and eigenvectors of M in units of `scales`.

        Returns
        -------
        shares : (d,) of the metric, largest first, adding up to 1; of a signed metric, by their size
        directions : (d, d), a column each

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> shares, directions = Model(np.diag([1.0, 4.0]), np.zeros(2)).interactions()
        >>> shares.tolist(), np.abs(directions).tolist()
        ([0.8, 0.2], [[0.0, 1.0], [1.0, 0.0]])
        """
        values, vectors = np.linalg.eigh(self._scaled_metric())
        order = np.argsort(-np.abs(values), kind="stable")
        shares = np.abs(values[order])
        return shares / max(shares.sum(), np.finfo(float).tiny), vectors[:, order]

    def explain(self) -> Explanation:
        """Return what matters, the ideal and what is worth what, in words: `print(model.explain())`.

        A model with `findings` says what the fit said; of another, how sure any of it is takes the answers.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> Model(np.eye(2), np.zeros(2), ("price", "milk")).explain().ideal[1].feature
        'milk'
        """
        from coombs.insights.from_model import explain_model

        return explain_model(self)

    def _scaled_metric(self) -> FloatArray:
        """M for features measured in units of `scales`."""
        return self.metric if self.scales is None else self.metric * np.outer(self.scales, self.scales)

    def unseen_directions(self, compared: FloatArray | None = None) -> FloatArray:
        """Return directions along which every item is as good as every other, in units of `scales`.

        That part of the ideal point cannot be known (the paper's Proposition 1).

        Parameters
        ----------
        compared : (d, d) Gram matrix of the compared items' differences in units of `scales`; with it,
            also directions in which they do not differ

        Returns
        -------
        (d, k) orthonormal columns; k is 0 where the metric sees every direction

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> np.abs(Model(np.diag([1.0, 0.0]), np.zeros(2)).unseen_directions()).tolist()
        [[0.0], [1.0]]
        """
        metric = self._scaled_metric()
        gram = np.eye(len(metric)) if compared is None else compared
        values, vectors = np.linalg.eigh(metric @ gram @ metric)
        unseen = vectors[:, values <= UNSEEN**2 * max(values.max(initial=0.0), np.finfo(float).tiny)]
        basis, _ = np.linalg.qr(unseen if self.scales is None else unseen * self.scales[:, None])
        return basis

    def _matrix(self, items: TableLike) -> FloatArray:
        """Items as numbers, with the features that were learned from, in their order."""
        return self._table(items).matrix

    def _table(self, items: TableLike) -> ItemTable:
        """Items as a checked table, with their names and the features that were learned from."""
        return table_for(items, self.feature_names, len(self.ideal_point), self.encoding, self.centre)

    def to_json(self) -> str:
        """Return the model as JSON text, which `from_json` reads.

        Returns
        -------
        str

        Examples
        --------
        >>> import json
        >>> import numpy as np
        >>> from coombs import Model
        >>> json.loads(Model(np.eye(2), np.zeros(2)).to_json())["ideal_point"]
        [0.0, 0.0]
        """
        version = VERSION if self.bumps is None else SMOOTH_VERSION
        if self.encoding is not None or (self.bumps is None and self.offset):
            version = ENCODED_VERSION
        header = {"format": FORMAT, "version": version}
        rest = {"n_people": self.n_people, "findings": self.findings}
        known = {name: value for name, value in rest.items() if value is not None}
        return json.dumps(header | self._score_fields() | known, indent=1)

    def _score_fields(self) -> dict[str, Any]:
        """What the score of an item follows from, in plain types: models with the same are equal."""
        optional = {name: getattr(self, name) for name in VECTORS}
        return {
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "ideal_point": None if np.isnan(self.ideal_point).any() else self.ideal_point.tolist(),
            "metric": self.metric.tolist(),
            **{name: None if value is None else value.tolist() for name, value in optional.items()},
            **({} if self.bumps is None else {"bumps": self.bumps.to_dict()}),
            **({"offset": self.offset} if self.offset or self.bumps is not None else {}),
            **({} if self.encoding is None else {"encoding": self.encoding.to_dict()}),
            **({} if self.item_scores is None else {"item_scores": self.item_scores}),
        }

    @classmethod
    def from_json(cls, text: str) -> Model:
        """Return the model in JSON text; nothing in it is executed.

        Parameters
        ----------
        text : what `to_json` gave

        Returns
        -------
        Model

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Model
        >>> model = Model(np.eye(2), np.zeros(2))
        >>> Model.from_json(model.to_json()) == model
        True
        """
        data = read_json(text, "The model", "give text that to_json wrote")
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"The JSON is not a coombs model; its format must be {FORMAT!r}.")
        version = data.get("version")
        if type(version) is not int or version not in READABLE:
            versions = f"{READABLE[0]} to {READABLE[-1]}"
            raise InputError(f"The model has version {version!r}; this coombs reads {versions}.")
        known = ("format", "version", *(field.name for field in fields(cls)))
        model = cls(**checked_fields(data, known))
        if not model._has_scores():
            raise InputError("The model's numbers are so large that its scores overflow; use other units.")
        return model

    def _has_scores(self) -> bool:
        """Whether scores are numbers, at the model's own places and one scale from them."""
        d = len(self.ideal_point)
        middle = self.ideal_point if self.centre is None else self.centre
        sizes = np.ones(d) if self.scales is None else self.scales
        places = [np.zeros((1, d)), middle[None], middle + np.diag(sizes), middle - np.diag(sizes)]
        places += [] if self.bumps is None else [self.bumps.kernel.support]
        with np.errstate(all="ignore"):
            return bool(np.isfinite(self.scores_of(np.concatenate(places))).all())
