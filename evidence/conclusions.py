"""What may be concluded from designs on equal ground: a statement has a range, and what moves it most.

A question holds one figure of one design against that of another in the same row. It is a conclusion where no row
contradicts it. A change below the spread over seeds (or a hundredth) is a tie. Where rows contradict one another, the
choice is named that moves the figure most, and the levels under which the answer is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evidence.stages.ranges import FACTORS, ROWS, SEEDS
from flashtwin.experiments import Effects, Factor, effects

#: Less than this is nothing.
LEAST = 0.01
#: A drive whose writes take longer, on average, shows its queue and not its design: about a hundred programs.
KEEPS_UP_NS = 20_000_000
_COPY = {"rr-ssd", "rr-ssd-online", "pblru"}
_DEDUPLICATE = {"ca-ssd", "caftl", "oracle", *_COPY}
#: The designs that look at a choice, where not all do (a test switches it on the others).
LOOKED_AT_BY: Mapping[str, set[str]] = {
    "background jobs": {"caftl", "ds-ftl", "rr-ssd-online", "pblru"},
    "hash unit": {*_DEDUPLICATE, "ds-ftl"},
    "fingerprints": _DEDUPLICATE - {"caftl"},
    "copies": _COPY,
    "spreading": {"ds-ftl"},
}
#: An answer under one level of a choice is stated where at least this many rows bear it out.
FEWEST_ROWS = 12
#: A row of a trace as the stage `ranges` keeps it.
Ground = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """Whether a design moves a figure of another one, and which way."""

    label: str
    system: str
    baseline: str
    figure: str

    def change(self, ground: Ground) -> float | None:
        """The change as a share of the baseline's figure; None where it has none."""
        systems = ground["systems"]
        return change(systems[self.baseline][self.figure], systems[self.system][self.figure])

    def keeps_up(self, ground: Ground) -> bool:
        """Whether the trace is not too much for either drive."""
        writes = (ground["systems"][name]["write_ns"] for name in (self.baseline, self.system))
        return all(write_ns is None or write_ns <= KEEPS_UP_NS for write_ns in writes)

    @property
    def factors(self) -> list[Factor]:
        """The choices that one of the two looks at."""
        both = {self.system, self.baseline}
        return [one for one in FACTORS if both & LOOKED_AT_BY.get(one.name, both)]


QUESTIONS = (
    Question("`ca-ssd` writes, against `conventional`", "ca-ssd", "conventional", "write_ns"),
    Question("`ca-ssd` p99 of writes, against `conventional`", "ca-ssd", "conventional", "write_p99_ns"),
    Question("`ca-ssd` reads, against `conventional`", "ca-ssd", "conventional", "read_ns"),
    Question("`ca-ssd` programs, against `conventional`", "ca-ssd", "conventional", "programs"),
    Question("`ca-ssd` erases, against `conventional`", "ca-ssd", "conventional", "erases"),
    Question("`oracle` reads, against `ca-ssd`", "oracle", "ca-ssd", "read_ns"),
    Question("`rr-ssd` reads, against `ca-ssd`", "rr-ssd", "ca-ssd", "read_ns"),
    Question("`rr-ssd` p99 of reads, against `ca-ssd`", "rr-ssd", "ca-ssd", "read_p99_ns"),
    Question("`rr-ssd` writes, against `ca-ssd`", "rr-ssd", "ca-ssd", "write_ns"),
    Question("`rr-ssd` reads, against `conventional`", "rr-ssd", "conventional", "read_ns"),
    Question("`rr-ssd` programs, against `ca-ssd`", "rr-ssd", "ca-ssd", "programs"),
    Question("`rr-ssd-online` reads, against `ca-ssd`", "rr-ssd-online", "ca-ssd", "read_ns"),
    Question("`pblru` reads, against `ca-ssd`", "pblru", "ca-ssd", "read_ns"),
    Question("`caftl` (store: ours) programs, against `ca-ssd`", "caftl", "ca-ssd", "programs"),
    Question("`caftl` (store: ours) writes, against `ca-ssd`", "caftl", "ca-ssd", "write_ns"),
    Question("`ds-ftl` reads, against `conventional`", "ds-ftl", "conventional", "read_ns"),
    Question("`ds-ftl` writes, against `conventional`", "ds-ftl", "conventional", "write_ns"),
)


@dataclass(frozen=True)
class Condition:
    """A level of a choice under which all rows agree."""

    choice: str
    level: str
    word: str
    changes: tuple[float, ...]


@dataclass(frozen=True)
class Answer:
    """A question on one trace: the change in every row, and the answer."""

    question: Question
    rows: Sequence[Mapping[str, str]]
    changes: Sequence[float | None]
    #: A change of no more than this is a tie.
    tie: float

    @property
    def known(self) -> list[float]:
        """The changes that are defined."""
        return [value for value in self.changes if value is not None]

    @cached_property
    def word(self) -> str | None:
        """What all rows say: `falls`, `rises`, `the same`, `never rises`, `never falls`; None where they differ."""
        return common(self.known, self.tie)

    @property
    def agreeing(self) -> int:
        """Rows that go the way of most."""
        signs = [sign(value, self.tie) for value in self.known]
        return max(signs.count(one) for one in (-1, 0, 1))

    @cached_property
    def effects(self) -> Effects | None:
        """The effect of each choice on the quotient of the two figures, as a logarithm."""
        wanted = [None if value is None or value <= -1 else math.log1p(value) for value in self.changes]
        return effects(self.question.factors, self.rows, wanted)

    @property
    def moved_by(self) -> str | None:
        """The choice that moves it most."""
        return self.effects.strongest()[0] if self.effects else None

    def conditions(self) -> list[Condition]:
        """Levels of the choices that move it most under which all rows agree on `falls` or `rises`."""
        found = []
        for choice in self.effects.strongest()[:3] if self.effects else []:
            for level in self.effects.of[choice] if self.effects else {}:
                values = [
                    value for row, value in zip(self.rows, self.changes, strict=True)
                    if row[choice] == level and value is not None
                ]  # fmt: skip
                word = common(values, self.tie)
                if word in ("falls", "rises", "never rises", "never falls") and len(values) >= FEWEST_ROWS:
                    found.append(Condition(choice, level, word, tuple(values)))
        return found


def answers(question: Question, data: Mapping[str, Any], *, keeping_up: bool = False) -> dict[str, Answer]:
    """A question on every trace, over the rows of the design, or over those in which both drives keep up."""
    rows = data["rows"][1 : ROWS + 1]
    return {
        name: Answer(
            question, rows,
            [
                question.change(ground) if question.keeps_up(ground) or not keeping_up else None
                for ground in grounds[1 : ROWS + 1]
            ],
            max(LEAST, seed_spread(question, grounds, keeping_up=keeping_up)),
        )
        for name, grounds in data["traces"].items()
    }  # fmt: skip


def default_change(question: Question, grounds: Sequence[Ground]) -> float | None:
    """The change on the ground of the presets."""
    return question.change(grounds[0])


def seed_spread(question: Question, grounds: Sequence[Ground], *, keeping_up: bool = False) -> float:
    """How far apart seeds alone put the change, under either load."""
    alone = [
        question.change(ground) if question.keeps_up(ground) or not keeping_up else None
        for ground in grounds[ROWS + 1 :]
    ]
    loads = (alone[first : first + len(SEEDS)] for first in range(0, len(alone), len(SEEDS)))
    known = ([value for value in load if value is not None] for load in loads)
    return max((max(load) - min(load) for load in known if load), default=0.0)


def sign(value: float, tie: float) -> int:
    """-1, 0 for a tie, or 1."""
    return 0 if abs(value) <= tie else -1 if value < 0 else 1


def common(values: Iterable[float], tie: float) -> str | None:
    """The common sign of all changes; None where some fall and some rise."""
    signs = {sign(value, tie) for value in values}
    words = {
        frozenset({-1}): "falls", frozenset({1}): "rises", frozenset({0}): "the same",
        frozenset({-1, 0}): "never rises", frozenset({1, 0}): "never falls",
    }  # fmt: skip
    return words.get(frozenset(signs))


def change(before: float | None, after: float | None) -> float | None:
    """By how much, as a share of the old value."""
    if before is None or after is None or before == 0:
        return None
    return after / before - 1.0
