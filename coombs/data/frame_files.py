"""A pandas frame as a file: CSV whose cells no spreadsheet takes for formulas, or Parquet."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from coombs.data.files import replacing
from coombs.data.formats import guard

if TYPE_CHECKING:
    import os


def write_frame(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write it without its index; .parquet keeps types, anything else is CSV with guarded texts."""
    with replacing(path) as part:
        if str(path).endswith(".parquet"):
            names = [column for column in frame if frame[column].dtype == object]
            # Names of several types cannot share a column of Parquet.
            mixed = {one: frame[one].map(str) for one in names if len({*map(type, frame[one])}) > 1}
            frame.assign(**mixed).to_parquet(part, index=False)
            return
        texts = {
            name: [guard(cell) if isinstance(cell, str) else cell for cell in frame[name]]
            for name in frame
            if frame[name].dtype == object or str(frame[name].dtype).startswith("str")
        }
        guarded = frame.assign(**texts).rename(columns=lambda name: guard(str(name)))
        # All text is quoted: pandas would leave a carriage return bare, which ends a row.
        guarded.to_csv(part, index=False, quoting=csv.QUOTE_NONNUMERIC)
