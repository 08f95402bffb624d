"""`coombs completion`: what a shell needs to complete commands, options, values and files."""

from __future__ import annotations

import click

from coombs.cli.options import argument, command

VARIABLE = "_COOMBS_COMPLETE"
"""Of the environment: with it, a shell's script asks `coombs` for the words that may follow."""
SHELLS = ("bash", "zsh", "fish")


@command("completion", "print a script that completes commands in a shell", "coombs completion bash")
@argument("shell", "which one", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script for a shell; `source <(coombs completion bash)` in ~/.bashrc, the same with zsh in
    ~/.zshrc, `coombs completion fish | source` in config.fish.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    print(made(click.get_current_context().find_root().command, {}, "coombs", VARIABLE).source(), end="")
