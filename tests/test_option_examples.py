"""Every option that takes a value shows one in its help, and the verb takes it."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise

import click

from .test_docs import verbs


def test_options_with_a_value_have_an_example() -> None:
    missing = {(path, option.opts[0]) for path, command, option in valued_options() if not examples(command, option)}
    assert missing == set()


def test_examples_of_options_are_valid() -> None:
    for path, command, option in valued_options():
        context = click.Context(command, info_name=path)
        for value in examples(command, option):
            if not isinstance(option.type, click.Path):
                # Raises for a value that the option does not take; files need not exist.
                option.type.convert(value, option, context)


def test_same_option_has_the_same_help() -> None:
    texts: dict[str, set[str]] = {}
    for path, command in verbs():
        for option in command.params:
            if isinstance(option, click.Option) and option.opts[0] in SAME_EVERYWHERE and "sweep" not in path:
                texts.setdefault(option.opts[0], set()).add(" ".join((option.help or "").split()))
    assert {name for name, found in texts.items() if len(found) > 1} == set()


#: Options that mean the same with all verbs; those of a sweep take several values.
SAME_EVERYWHERE = {
    "--on-bad-line", "--sort-window", "--blkparse-action", "--volume", "--from", "--to", "--speed",
    "--queue-depth", "--content", "--systems", "--equal-ground", "--goal", "--effort", "--json", "--per-request",
    "--workers", "--on", "--shard", "--across-traces", "--aged", "--threads", "--socket", "--listen",
    "--metrics", "--read-only", "--for", "--tls-certificates",
}  # fmt: skip


def valued_options() -> list[tuple[str, click.Command, click.Option]]:
    """Options of all verbs that take a value."""
    return [
        (path, command, option)
        for path, command in verbs()
        for option in command.params
        if isinstance(option, click.Option) and not option.is_flag
    ]


def examples(command: click.Command, option: click.Option) -> list[str]:
    """Values that an option has in its own help, or in the commands below the verb's."""
    words = shlex.split((command.help or "").rpartition("\b")[2])
    in_commands = [value for name, value in pairwise(words) if name in option.opts]
    found = re.search(rf"Example: (?:{'|'.join(option.opts)}) ('[^']*'|\S+)", option.help or "")
    return [*in_commands, *(shlex.split(found[1]) if found else [])]
