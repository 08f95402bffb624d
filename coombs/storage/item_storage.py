"""Items that come, change and go while a study runs: rows are added and marked, never taken out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from coombs.storage import rows, validation
from coombs.storage.records import Item
from coombs.storage.study_storage import StudyStorage
from coombs.storage.timestamps import utc


class ItemStorage(StudyStorage):
    """The part of a `Storage` that changes the items of a study."""

    def add_items(self, study_id: int, items: Sequence[Item]) -> None:
        """Add items to a study, at the positions after all that it has.

        Parameters
        ----------
        study_id : of the study
        items : of Item

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.add_items(study.record.id, [Item("large", (3.0,))])
        >>> [item.name for item in study.storage.items(study.record.id)]
        ['0', '1', 'large']
        """
        new = [rows.item_row(item) for item in items]
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            ((first,),) = self.database.rows("SELECT COUNT(*) FROM items WHERE study_id = ?", study_id)
            placed = [(study_id, first + k, *row) for k, row in enumerate(new)]
            self.database.insert_each("items", rows.ITEM, placed)

    def retire_items(self, study_id: int, positions: Sequence[int], *, at: datetime | None = None) -> None:
        """Mark items as not asked about any more.

        Parameters
        ----------
        study_id : of the study
        positions : of the items
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.retire_items(study.record.id, [1])
        >>> [item.retired is None for item in study.storage.items(study.record.id)]
        [True, False]
        """
        self._mark(study_id, positions, utc(at))

    def restore_items(self, study_id: int, positions: Sequence[int]) -> None:
        """Ask about retired items again.

        Parameters
        ----------
        study_id : of the study
        positions : of the items

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.retire_items(study.record.id, [1])
        >>> study.storage.restore_items(study.record.id, [1])
        >>> [item.retired is None for item in study.storage.items(study.record.id)]
        [True, True]
        """
        self._mark(study_id, positions, None)

    def _mark(self, study_id: int, positions: Sequence[int], retired: datetime | None) -> None:
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            for position in positions:
                update = "UPDATE items SET retired = ? WHERE study_id = ? AND position = ?"
                self.database.change(update, retired, study_id, position)

    def set_features(
        self, study_id: int, feature_names: Sequence[str], features: Mapping[int, Sequence[float]]
    ) -> None:
        """Store the features of a study's items anew, of which there are more now.

        Parameters
        ----------
        study_id : of the study
        feature_names : what all of them are called
        features : of each item by its position

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.set_features(study.record.id, ["size", "new"], {0: (1.0, 0.0), 1: (2.0, 0.0)})
        >>> study.storage.items(study.record.id)[0].features
        (1.0, 0.0)
        """
        names = validation.as_json(list(feature_names), "feature names")
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            self.database.change("UPDATE studies SET feature_names = ? WHERE id = ?", names, study_id)
            for position, values in features.items():
                update = "UPDATE items SET features = ? WHERE study_id = ? AND position = ?"
                text = validation.as_json([float(value) for value in values], f"features of item {position}")
                self.database.change(update, text, study_id, position)
