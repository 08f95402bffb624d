"""Numbers whose scale, log or not, was chosen because it predicts the answers better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coombs.data.encoding import ANSWERS, LOG, NUMBER
from coombs.insights.columns import TableColumn


@dataclass(frozen=True)
class ChosenScale:
    """A number that is on a log scale, or on none, because that predicts the answers better."""

    feature: str
    is_log: bool

    @property
    def text(self) -> str:
        """As price: number, on a log scale, as that predicts these answers better."""
        scale, other = ("on a log scale", NUMBER) if self.is_log else ("not on a log scale", LOG)
        better = "as that predicts these answers better"
        return f"{self.feature}: number, {scale}, {better} (the role {other} keeps it otherwise)."


def chosen_scales(columns: Sequence[TableColumn]) -> Iterator[ChosenScale]:
    """Of the columns of a fit."""
    for one in columns:
        if one.column.scale_by == ANSWERS:
            yield ChosenScale(one.name, one.column.role == LOG)
