"""`coombs monitor`, `coombs respondent`, `coombs retention`: how far people are, and what is kept of them."""

from __future__ import annotations

import click

import coombs
from coombs.cli import output
from coombs.cli.export_import import named_study, there_is
from coombs.cli.model_files import check_output_paths
from coombs.cli.options import argument, command, json_option, storage_option

SHOWN = ("all", "invited", "started", "done", "flagged", "not done")
ACTS = ("export", "revoke", "renew", "anonymise", "delete")
_NAME = click.option("--name", metavar="STUDY", help="name of the study (default: the only one there is)")


@command("monitor", "see who is invited, has started and is done", "coombs monitor --show 'not done'")
@click.option("--show", "shown", type=click.Choice(SHOWN), default="all", help="whom to list (default: all)")
@click.option(
    "--links",
    metavar="ADDRESS",
    help="print names and links instead, to remind people; the page's address, as https://taste.example.org",
)
@_NAME
@storage_option
@json_option
def monitor(shown: str, links: str | None, name: str | None, storage: str, as_json: bool) -> None:
    """List the people of a study with their status, answers, when they were last seen, and what is noticeable
    in their answers.
    """
    study = named_study(name, storage)
    found = study.monitor()
    people = found.only(shown)
    if as_json:
        output.as_json({**found.to_dict(), "people": [one.to_dict() for one in people]})
        return
    if links is not None:
        tokens = study.links()
        for one in (one for one in people if one.name in tokens):
            output.line(f"{one.name}  {links.rstrip('/')}/a/{tokens[one.name]}")
        return
    counts = ", ".join(f"{n} {status}" for status, n in found.counts.items())
    print(f"Study {study.name!r}: {counts}, {len(found.flagged)} flagged")
    for one in people:
        seen = f"{one.last_seen:%Y-%m-%d %H:%M}" if one.last_seen else "never seen"
        flags = f"  {', '.join(one.flags)}" if one.flags else ""
        output.line(f"{one.status:8} {one.n_answers:5}  {seen:16}  {one.name}{flags}")


@command(
    "respondent",
    "export, delete or anonymise one person, revoke or renew their link",
    "coombs respondent export me me.json",
)
@argument("act", "what to do", type=click.Choice(ACTS))
@argument("person", "name of the person", type=str)
@argument("file", "of an export: ends in .json for all there is, in .csv for the answers", required=False)
@_NAME
@storage_option
@click.option("--yes", is_flag=True, help="that something is deleted for good is meant")
def respondent(act: str, person: str, file: str | None, name: str | None, storage: str, yes: bool) -> None:
    """Export all that is stored of a person; revoke or renew their link; or delete what is stored of them:
    all of it (delete), or all but their answers (anonymise).
    """
    from coombs.words import count

    study = named_study(name, storage)
    _, n_answers = study.person_record(person)
    if act == "export":
        path = file or "respondent.json"
        check_output_paths(path)
        study.export_respondent(person, path)
        print(f"{path}: all that is stored of one person")
        return
    if file is not None:
        raise click.UsageError(f"A file is for export; {act} takes none.")
    if act in ("delete", "anonymise") and not yes:
        raise coombs.InputError(f"To {act} {person!r} ({count(n_answers, 'answer')}) is for good; add --yes.")
    if act == "delete":
        study.delete_respondent(person)
        print(f"Deleted, with {count(n_answers, 'answer')}")
    elif act == "anonymise":
        print(f"From now on called {study.anonymise_respondent(person)!r}")
    elif act == "revoke":
        study.revoke_link(person)
        print("The link opens nothing any more")
    else:
        print(f"The new link ends in /a/{study.renew_link(person)}")


@command(
    "retention",
    "say how long people's data is kept, and do what is due",
    "coombs retention --until 2030-01-31 --action anonymise",
)
@click.option("--until", metavar="DATE", help="the last day, in UTC, as 2027-01-31; none for no end")
@click.option(
    "--action",
    type=click.Choice(("delete", "anonymise")),
    default="delete",
    help="after that day, delete people with their answers (default), or keep these without names",
)
@click.option("--apply", is_flag=True, help="in all studies, do what is due")
@_NAME
@storage_option
def retention(until: str | None, action: str, apply: bool, name: str | None, storage: str) -> None:
    """Show or set the last day on which people's data is kept. The page does what is due by itself, within an
    hour; where none runs, `--apply` does.
    """
    from coombs.study import apply_retention

    if apply:
        there_is(storage)
        for done in apply_retention(storage):
            print(f"Study {done.study!r}: {done.action}, {done.n_people} people")
        print("What was due is done")
        return
    study = named_study(name, storage)
    if until is not None:
        study.set_retention(None if until == "none" else until, action)
    kept = study.retention
    told = "kept until you delete it" if kept is None else f"kept until {kept.until}, then: {kept.action}"
    print(f"Study {study.name!r}: people's data is {told}")
