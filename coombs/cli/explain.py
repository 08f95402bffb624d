"""`coombs explain`: a saved model in words."""

from __future__ import annotations

import argparse

from coombs.cli import saved, show
from coombs.cli.parser import Commands, add_command, add_json


def add(commands: Commands) -> None:
    """The command and its options."""
    explain = add_command(
        commands,
        "explain",
        run,
        "coombs explain taste.json",
        help="say in words what a saved model holds",
        description="Say what matters, where the ideal is and what is worth what: as `coombs fit` said "
        "it when it wrote the model, or as far as the numbers of another model hold it.",
    )
    explain.add_argument("model", help="JSON file")
    add_json(explain)


def run(options: argparse.Namespace) -> None:
    """Read, and say it."""
    model = saved.read_model(options.model)
    told = model.explain()
    if options.json:
        show.as_json(told.to_dict() | {"n_people": model.n_people})
    else:
        show.together(model)
        from coombs.render.sentences import sections

        show.page(sections(told))
