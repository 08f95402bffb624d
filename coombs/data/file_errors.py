"""Errors for files that are not what they should be; pages say them in their language."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from coombs.language import Translatable
from coombs.messages import InputError

_ARCHIVES = {
    "content.xml": Translatable("an OpenDocument file"),
    "Index/Document.iwa": Translatable("a Numbers file"),
}
"""What a zip file is, by a file in it."""
_OTHER_ARCHIVE = Translatable("an archive or another kind of workbook")


def unreadable(name: str, error: BaseException) -> InputError:
    """The error for a file that is absent or not what it should be."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"There is no file {name}; give the path of one that exists.")
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return InputError(
        "{name} cannot be read ({reason}); give a valid file of its kind.", name=name, reason=reason
    )


def no_workbook(name: str, inside: Collection[str]) -> InputError:
    """The error for a zip file with these files in it."""
    kind = next((_ARCHIVES[part] for part in _ARCHIVES if part in inside), _OTHER_ARCHIVE)
    return InputError(
        "{name} is {kind}; save or export it as CSV UTF-8 or .xlsx, and give that file.", name=name, kind=kind
    )


def uneven_row(place: str, row: Sequence[str], total: int) -> InputError:
    """The error for a row that has more or fewer fields than the header's total."""
    hint = Translatable("is something missing at its end?")
    if any("\n" in cell for cell in row):
        hint = Translatable('is a quote (") left open?')
    elif len(row) > total:
        hint = Translatable("a field with commas in it needs quotes.")
    return InputError(
        "{place} has {fields}; the header has {total}; {hint}",
        place=place,
        fields=Translatable("{n} field|{n} fields", n=len(row)),
        total=total,
        hint=hint,
    )
