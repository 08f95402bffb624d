"""`coombs export` and `coombs import`: studies and their answers as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import coombs
from coombs.cli import output
from coombs.cli.model_files import check_output_paths
from coombs.cli.options import argument, command, storage_option

if TYPE_CHECKING:
    from coombs.study import Study

SQLITE = "sqlite:///"


@command("export", "write the answers of a study, or all of it", "coombs export answers.csv")
@argument("file", "its ending says what: .csv, .parquet, .jsonl or .zip; a folder ends in a slash")
@click.option("--name", metavar="STUDY", help="name of the study (default: the only one there is)")
@storage_option
def export_study(file: str, name: str | None, storage: str) -> None:
    """Write everybody's answers as CSV or Parquet; answers, people and items with a codebook into a folder or
    a zip; or the whole study as JSONL.
    """
    check_output_paths(None if file.endswith("/") or Path(file).is_dir() else file)
    study = named_study(name, storage)
    study.export(file)
    print(f"{file}: study {study.name!r}, {_answers(study)}")


@command("import", "add answers to a study, or bring a whole one", "coombs import answers.csv")
@argument("file", "what coombs export wrote, or answers as for coombs fit")
@click.option(
    "--name",
    metavar="STUDY",
    help="name of the study (default: the only one there is; of JSONL, its old name)",
)
@storage_option
def import_study(file: str, name: str | None, storage: str) -> None:
    """Add the answers of a CSV, Excel, JSON or Parquet file to a study, or make the study of a JSONL file of
    `coombs export` again; all of it or nothing.
    """
    from coombs.study.study_jsonl import holds_study
    from coombs.words import count

    if file.lower().endswith(".jsonl") and holds_study(file):
        study = coombs.import_study(file, storage=storage, name=name)
        print(f"Study {study.name!r}: {_answers(study)}")
    else:
        study = named_study(name, storage)
        with output.warned():
            added = study.import_answers(file)
        print(f"Study {study.name!r}: {count(added, 'answer')} more")


def named_study(name: str | None, storage: str) -> Study:
    """The study of that name, or the only one."""
    there_is(storage)
    if name is not None:
        return coombs.load_study(name, storage=storage)
    names = [one.name for one in coombs.list_studies(storage)]
    if len(names) != 1:
        there = f"the studies there are {', '.join(map(repr, names))}" if names else "there is no study"
        raise coombs.InputError(f"Say which study is meant with --name; {there}.")
    return coombs.load_study(names[0], storage=storage)


def there_is(storage: str) -> None:
    """Refuse a file that is not there, which would be made otherwise."""
    from coombs.storage import is_memory

    path = storage.removeprefix(SQLITE)
    if storage.startswith(SQLITE) and not is_memory(storage) and not Path(path).exists():
        raise coombs.InputError(f"There is no database {path}; say where answers are kept with --storage.")


def _answers(study: Study) -> str:
    from coombs.words import count

    people = study.respondents()
    by = "1 person" if len(people) == 1 else f"{len(people)} people"
    return f"{count(sum(people.values()), 'answer')} by {by}"
