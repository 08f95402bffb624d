"""`coombs export` and `coombs import`: studies and their answers as files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from coombs.cli import saved
from coombs.cli.parser import Commands, Parser, add_command, add_storage

if TYPE_CHECKING:
    from coombs.study import Study

SQLITE = "sqlite:///"


def add(commands: Commands) -> None:
    """The two commands and their options."""
    export = add_command(
        commands,
        "export",
        run_export,
        "coombs export answers.csv",
        help="write the answers of a study, or all of it",
        description="Write everybody's answers as CSV or Parquet, or the whole study as JSONL.",
    )
    export.add_argument("file", help="its ending says what: .csv, .parquet or .jsonl")
    _add_study(export, "of the study (default: the only one there is)")
    bring = add_command(
        commands,
        "import",
        run_import,
        "coombs import answers.csv",
        help="add answers to a study, or bring a whole one",
        description="Add the answers of a CSV or Parquet file to a study, or make the study of a JSONL file "
        "again; all of it or nothing.",
    )
    bring.add_argument("file", help="what coombs export wrote, or answers as for coombs fit")
    _add_study(bring, "of the study (default: the only one there is; of JSONL, its old name)")


def _add_study(command: Parser, help: str) -> None:
    command.add_argument("--name", metavar="STUDY", help=help)
    add_storage(command)


def run_export(options: argparse.Namespace) -> None:
    """Write the file."""
    saved.check_folder(options.file)
    study = _study(options)
    study.export(options.file)
    print(f"{options.file}: study {study.name!r}, {_answers(study)}")


def run_import(options: argparse.Namespace) -> None:
    """Read the file."""
    from coombs.study import import_study
    from coombs.words import count

    if options.file.lower().endswith(".jsonl"):
        study = import_study(options.file, storage=options.storage, name=options.name)
        print(f"Study {study.name!r}: {_answers(study)}")
    else:
        study = _study(options)
        print(f"Study {study.name!r}: {count(study.import_answers(options.file), 'answer')} more")


def _study(options: argparse.Namespace) -> Study:
    """The study of that name, or the only one."""
    from coombs.data.tables import InputError
    from coombs.storage import is_memory
    from coombs.study import list_studies, load_study

    path = options.storage.removeprefix(SQLITE)
    if options.storage.startswith(SQLITE) and not is_memory(options.storage) and not Path(path).exists():
        raise InputError(f"There is no database {path}; say where answers are kept with --storage.")
    if options.name is not None:
        return load_study(options.name, storage=options.storage)
    names = [one.name for one in list_studies(options.storage)]
    if len(names) != 1:
        there = f"the studies there are {', '.join(map(repr, names))}" if names else "there is no study"
        raise InputError(f"Say which study is meant with --name; {there}.")
    return load_study(names[0], storage=options.storage)


def _answers(study: Study) -> str:
    from coombs.words import count

    people = study.respondents()
    return f"{count(sum(people.values()), 'answer')} by {count(len(people), 'person')}".replace(
        "persons", "people"
    )
