"""Output: data to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashtwin.results.ground import Difference

if TYPE_CHECKING:
    from flashtwin.judgement.verdict import Verdict


def say(text: str) -> None:
    """One line of talk, to stderr; a failure to write is ignored."""
    with suppress(OSError):
        click.echo(text, err=True)


def error(text: str) -> None:
    """An error, to stderr; colour only on a terminal, and not where `NO_COLOR` asks for none (no-color.org)."""
    word = "error:" if os.environ.get("NO_COLOR") else click.style("error:", fg="red", bold=True)
    say(f"{word} {text}")


def data(text: str) -> None:
    click.echo(text)


def data_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, last_is_text: bool = False) -> str:
    """Aligned columns: text, which the first column is and the last may be, to the left, and numbers to the right."""
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    texts = {0, len(header) - 1} if last_is_text else {0}
    lines = []
    for row in cells:
        aligned = (
            cell.ljust(width) if column in texts else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )  # fmt: skip
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in rows)


#: Units of time in nanoseconds, each with how much of the one before it takes over at.
_UNITS = (
    (1, "ns"),
    (10**3, "µs"),
    (10**6, "ms"),
    (10**9, "s"),
    (60 * 10**9, "min"),
    (3600 * 10**9, "h"),
    (86_400 * 10**9, "d"),
)


def duration(time_ns: int) -> str:
    """A time as people read it: the largest unit of which there are two at least, and the seconds beside long ones."""
    size, unit = next(((size, unit) for size, unit in reversed(_UNITS) if time_ns >= 2 * size), _UNITS[0])
    text = f"{time_ns / size:,.6g} {unit}"
    return text if size <= 10**9 else f"{text} ({time_ns / 10**9:,.3f} s)"


def show_page(page: Path | None, folder: Path) -> None:
    """The report's path, or the command that draws it."""
    if page is not None:
        data(f"report: {page}")
    else:
        data(f"report: left out; `flashtwin report {shlex.quote(str(folder))}` draws it")


def show_report(
    folder: Path,
    page: Path | None,
    findings: Sequence[str],
    unequal: Sequence[Difference] = (),
    limits: Sequence[Mapping[str, Any]] = (),
    choice: Verdict | None = None,
    *,
    as_json: bool,
) -> None:
    if as_json:
        data_json({
            "report": None if page is None else str(page),
            "limits": [dict(one) for one in limits], "findings": list(findings),
            "choice": None if choice is None else choice.as_json(), "ground": [one.as_json() for one in unequal],
        })  # fmt: skip
        return
    if choice is not None:
        from flashtwin.judgement.verdict import joined

        data(joined(choice.claim, choice.reason).replace("`", ""))
        if choice.action:
            data(f"      {choice.action.command}")
    for one in limits:
        data(str(one["claim"]).replace("`", ""))
        data(f"  do: {one['action']['words']}.\n      {one['action']['command']}".replace("`", ""))
    for number, finding in enumerate(findings, start=1):
        data(f"{number}. {finding}")
    show_page(page, folder)
