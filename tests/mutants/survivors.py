"""Changes that no test notices and none need notice: a list with reasons, and what in it is out of date."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.build import OWN_BUILD
from tests.mutants.outcomes import Outcome
from tests.mutants.trying import MISSED

FILE = Path(__file__).with_name("survivors.toml")
FIELDS = {"function", "changes", "places", "reason"}

#: Names changes by what they do, not by where they stand: file, function, change.
Name = tuple[str, str, str]


class ListError(Exception):
    """The list is not in its form."""


@dataclass(frozen=True)
class Entry:
    """One accepted change."""

    name: Name
    #: At how many places of the function the same change survives.
    places: int
    reason: str


@dataclass(frozen=True)
class Judged:
    """Survivors against the list."""

    listed: list[Outcome]
    unlisted: list[Outcome]
    #: What is wrong with entries, in words.
    stale: list[str]


def read(path: Path = FILE) -> list[Entry]:
    """The entries of a list."""
    entries = []
    for file, tables in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for table in tables:
            if not table.keys() <= FIELDS or not table.get("changes") or not str(table.get("reason", "")).strip():
                wanted = "`changes` and `reason`, and may have `function` and `places`"
                raise ListError(f"{path.name}: {file}: an entry has {wanted}; this has {', '.join(table)}")
            for change in table["changes"]:
                name = (file, table.get("function", ""), change)
                entries.append(Entry(name, table.get("places", 1), table["reason"]))
    return entries


def named(outcome: Outcome) -> Name:
    """What the list calls a change."""
    return outcome.file, outcome.function, outcome.change.removesuffix(f" in {outcome.function}")


def judged(outcomes: Sequence[Outcome], entries: Iterable[Entry]) -> Judged:
    """Holds the survivors of `outcomes` against the list, of which only entries for files that are there count."""
    files = {one.file for one in outcomes}
    accepted = {entry.name: entry.places for entry in entries}
    surviving = Counter(named(one) for one in outcomes if one.outcome == MISSED)
    known = {named(one) for one in outcomes}
    # What needs a build of its own is tried on demand only.
    untried = {named(one) for one in outcomes if one.outcome == OWN_BUILD}
    stale = []
    for name, places in accepted.items():
        if name[0] in files and name not in untried and surviving[name] != places:
            stale.append(
                f"{' · '.join(part for part in name if part)}: {fault(name in known, surviving[name], places)}"
            )
    missed = [one for one in outcomes if one.outcome == MISSED]
    # Where more survive than are accepted, nobody knows which of them are.
    listed = [one for one in missed if surviving[named(one)] <= accepted.get(named(one), 0)]
    return Judged(listed, [one for one in missed if one not in listed], stale)


def fault(exists: bool, survives: int, places: int) -> str:
    """What is wrong with an entry."""
    if not exists:
        return "no longer exists"
    if not survives:
        return "no longer survives"
    return f"survives at {survives} places, not {places}"


def form(outcomes: Iterable[Outcome]) -> str:
    """Survivors in the form of the list, the reasons left to be written."""
    by_function: dict[tuple[str, str, int], list[str]] = {}
    for name, places in Counter(named(one) for one in outcomes).items():
        by_function.setdefault((name[0], name[1], places), []).append(name[2])
    blocks = []
    for (file, function, places), changes in by_function.items():
        lines = [f"[[{quoted(file)}]]", f"function = {quoted(function)}", "changes = ["]
        lines += [f"  {quoted(change)}," for change in changes]
        lines += ["]", *([f"places = {places}"] if places > 1 else []), 'reason = ""']
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def quoted(text: str) -> str:
    """Text as TOML has it."""
    return json.dumps(text, ensure_ascii=False)
