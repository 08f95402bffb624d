"""What makes a fitted estimator one that can be kept in a file."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from coombs.data.files import path_text, replacing
from coombs.data.tables import InputError


class Savable:
    """Adds `save`, whose file `load` reads, the estimator's own or `coombs.load`."""

    def save(self: Any, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to a file, from which `coombs.load` makes the same one again.

        The file is JSON, without pickle, and holds all that was learned: the answers with who gave them, the
        kinds of preference with their draws, item effects, scales, and what `explain` says. Predictions are
        the same to the last bit on the same machine, and to its rounding on another. Items that were a frame
        come back as a table with the same names; a generator as `random_state` is not kept, but None.

        Parameters
        ----------
        path : where to write; a file that is there is replaced once the new one is whole

        Returns
        -------
        None

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import coombs
        >>> est = coombs.SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> path = Path(tempfile.mkdtemp()) / "taste.json"
        >>> est.save(path)
        >>> coombs.load(path)
        SingleStep(items=array([[0.],
               [1.],
               [2.]]))
        """
        # Imported here because it knows every estimator.
        from coombs.estimators.saved import text_of

        check_is_fitted(self)
        text = text_of(self)
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the fitted estimator that `save` wrote to a file; one of another class is refused.

        Parameters
        ----------
        path : of a file that `save` wrote

        Returns
        -------
        the estimator, which predicts, ranks and explains as it did when it was saved

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import coombs
        >>> path = Path(tempfile.mkdtemp()) / "taste.json"
        >>> coombs.SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]]).save(path)
        >>> coombs.SingleStep.load(path).rank().tolist()
        [0, 1, 2]
        """
        # Imported here because it knows every estimator.
        from coombs.estimators.saved import load

        found = load(path)
        if not isinstance(found, cls):
            of = type(found).__name__
            raise InputError(f"{path_text(path)} holds a {of} and no {cls.__name__}; coombs.load reads it.")
        return found
