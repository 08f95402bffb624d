"""`coombs completion`: what a shell needs to complete commands and options, made from the parser."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass

from coombs.cli.parser import Commands, Parser, add_command

BASH = """# coombs: source <(coombs completion bash)
_coombs() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
    if (( COMP_CWORD == 1 )); then
        words="{commands} --help --version"
    else
        case "${{COMP_WORDS[1]}} $prev" in
{values}
        *) case "${{COMP_WORDS[1]}}" in
{options}
            esac ;;
        esac
    fi
    # Nothing to offer: files, by the default below.
    COMPREPLY=( $(compgen -W "$words" -- "$cur") )
}}
complete -o default -F _coombs coombs
"""
ZSH = """#compdef coombs
# coombs: source <(coombs completion zsh)
_coombs() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        _arguments '--help[show help]' '--version[show the version]'
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{options}
    esac
}}
if [[ $funcstack[1] == _coombs ]]; then _coombs "$@"; else compdef _coombs coombs; fi
"""


@dataclass(frozen=True)
class Word:
    """An option or a place of a command, with the values it may have, if they are few."""

    name: str
    help: str
    values: tuple[str, ...]
    takes: bool
    many: bool


def add(commands: Commands) -> None:
    """The command and its options."""
    completion = add_command(
        commands,
        "completion",
        run,
        "coombs completion bash",
        help="print what makes a shell complete commands",
        description="Print a script for a shell; `source <(coombs completion bash)` in ~/.bashrc, the same "
        "with zsh in ~/.zshrc, `coombs completion fish | source` in config.fish.",
    )
    completion.add_argument("shell", choices=list(SCRIPTS), metavar="|".join(SCRIPTS), help="which one")


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    from coombs.cli import build_parser

    print(SCRIPTS[options.shell](build_parser()), end="")


def subcommands(parser: Parser) -> dict[str, tuple[str, Parser]]:
    """Every command's one line of help, and its parser."""
    (action,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    helps = {one.dest: one.help or "" for one in action._choices_actions}
    return {name: (helps[name], command) for name, command in action.choices.items()}


def words(command: Parser) -> list[Word]:
    """The options of a command, and its arguments by position, whose names have no dashes."""
    return [
        Word(name, action.help or "", _values(action), action.nargs != 0, action.nargs in ("*", "+"))
        for action in command._actions
        for name in ([one for one in action.option_strings if one.startswith("--")] or [action.dest])
    ]


def _values(action: argparse.Action) -> tuple[str, ...]:
    """The choices, or the words of a|b|c; those in capitals stand for something else."""
    if action.choices is not None:
        return tuple(map(str, action.choices))
    named = action.metavar if isinstance(action.metavar, str) and "|" in action.metavar else ""
    return tuple(word for word in named.split("|") if word and not word.isupper())


def _is_option(word: Word) -> bool:
    return word.name.startswith("--")


def bash(parser: Parser) -> str:
    """A completion function; after an option with a value of any kind it offers files."""
    commands = subcommands(parser)
    values: list[str] = []
    options: list[str] = []
    for name, (_, command) in commands.items():
        listed = words(command)
        values += [
            f'        "{name} {word.name}") words="{" ".join(word.values)}" ;;'
            for word in listed
            if _is_option(word) and word.takes
        ]
        places = [value for word in listed if not _is_option(word) for value in word.values]
        names = [word.name for word in listed if _is_option(word)]
        # Options are offered once a dash is there, values of places before: otherwise files.
        offered = f'[[ "$cur" == -* ]] && words="{" ".join(names)}" || words="{" ".join(places)}"'
        options.append(f"            {name}) {offered} ;;")
    return BASH.format(commands=" ".join(commands), values="\n".join(values), options="\n".join(options))


def zsh(parser: Parser) -> str:
    """A function for zsh's own system, with the help of each."""
    commands = [f"        {shlex.quote(f'{name}:{text}')}" for name, (text, _) in subcommands(parser).items()]
    options = []
    for name, (_, command) in subcommands(parser).items():
        listed = sorted(words(command), key=_is_option)
        specs = " ".join(shlex.quote(_zsh_spec(word, place)) for place, word in enumerate(listed, start=1))
        options.append(f"    {name}) _arguments {specs} ;;")
    return ZSH.format(commands="\n".join(commands), options="\n".join(options))


def _zsh_spec(word: Word, place: int) -> str:
    text = "".join(c for c in word.help if c not in "[]:\\")
    action = f"({' '.join(word.values)})" if word.values else "_files"
    if not _is_option(word):
        return f"{'*' if word.many else place}:{text}:{action}"
    return f"{word.name}[{text}]" + (f":{word.name.strip('-')}:{action}" if word.takes else "")


def fish(parser: Parser) -> str:
    """One line for each command and option."""
    lines = ["# coombs: coombs completion fish | source"]
    for name, (text, command) in subcommands(parser).items():
        lines.append(f"complete -c coombs -n __fish_use_subcommand -f -a {name} -d {shlex.quote(text)}")
        chosen = f"complete -c coombs -n '__fish_seen_subcommand_from {name}'"
        for word in words(command):
            values = shlex.quote(" ".join(word.values))
            if not _is_option(word):
                lines += [f"{chosen} -f -a {values}"] if word.values else []
                continue
            kind = f" -x -a {values}" if word.values else " -r" if word.takes else ""
            lines.append(f"{chosen} -l {word.name.strip('-')}{kind} -d {shlex.quote(word.help)}")
    return "\n".join(lines) + "\n"


SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}
