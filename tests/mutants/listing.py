"""Which changes there are: what cargo-mutants lists, as records that survive an edit elsewhere in the file."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

#: The crates that are changed on purpose.
PACKAGES = ("flashtwin-ftl", "flashtwin-sim")
#: Whose tests are asked: a drive of real bytes uses what of the controller a simulation does not.
TESTED = (*PACKAGES, "flashtwin-live")


@dataclass(frozen=True)
class Span:
    """Bytes of a file, the end excluded."""

    start: int
    end: int


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    #: Its place in the list of this run, from 1; what the switch is set to.
    number: int
    #: As cargo-mutants prints it: file:line:column: what, in which function.
    name: str
    file: str
    line: int
    #: Empty for what stands outside functions.
    function: str
    genre: str
    replacement: str
    span: Span
    returns: str
    #: Names it as long as the text of its function stays as it is, wherever that moves.
    key: str

    @property
    def change(self) -> str:
        """What is changed, without the place: `replace + with - in Ftl::write`."""
        return self.name.split(": ", 1)[1]


def listed(root: Path) -> list[Mutant]:
    """Asks cargo-mutants for all changes of the tree at `root`; `.cargo/mutants.toml` says what is left out."""
    command = ["cargo", "mutants", "--list", "--json"]
    for package in PACKAGES:
        command += ["--package", package]
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE)
    return read(json.loads(done.stdout), root)


def read(entries: Iterable[dict[str, Any]], root: Path) -> list[Mutant]:
    """The changes that a list names, with their bytes in the files below `root`."""
    texts: dict[str, Text] = {}
    mutants = []
    for number, entry in enumerate(entries, 1):
        file = entry["file"]
        text = texts.get(file) or texts.setdefault(file, Text(root / file))
        mutants.append(text.mutant(number, entry))
    return mutants


def chosen(mutants: Iterable[Mutant], globs: Iterable[str]) -> list[Mutant]:
    """Those in files that match one of `globs`, or all of them if there is none."""
    globs = list(globs)
    return [mutant for mutant in mutants if not globs or any(fnmatch(mutant.file, glob) for glob in globs)]


class Text:
    """A source file, and where its lines begin."""

    def __init__(self, path: Path) -> None:
        self.bytes = path.read_bytes()
        self.lines = self.bytes.splitlines(keepends=True)
        self.begins = [0]
        for line in self.lines:
            self.begins.append(self.begins[-1] + len(line))

    def span(self, of: dict[str, dict[str, int]]) -> Span:
        """From lines and columns, which count characters from 1."""
        return Span(self.offset(of["start"]), self.offset(of["end"]))

    def offset(self, place: dict[str, int]) -> int:
        """The byte at a line and column."""
        line = self.lines[place["line"] - 1].decode()
        return self.begins[place["line"] - 1] + len(line[: place["column"] - 1].encode())

    def mutant(self, number: int, entry: dict[str, Any]) -> Mutant:
        """The record of one entry of the list."""
        span, function = self.span(entry["span"]), entry["function"]
        around = self.span(function["span"]) if function else Span(0, len(self.bytes))
        named = function["function_name"] if function else ""
        within = self.bytes[around.start : around.end]
        parts = (entry["file"], named, entry["genre"], entry["replacement"], str(span.start - around.start))
        key = hashlib.blake2b("\0".join(parts).encode() + b"\0" + within, digest_size=12).hexdigest()
        return Mutant(
            number,
            entry["name"],
            entry["file"],
            entry["span"]["start"]["line"],
            named,
            entry["genre"],
            entry["replacement"],
            span,
            function["return_type"] if function else "",
            key,
        )
