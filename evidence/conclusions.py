"""What may be concluded from the matrix: a question is answered in every column, and its answer survives or depends.

A question holds one figure of one design against that of another on the same ground. Its answer survives where the
figure moves the same way, by a hundredth at least, in every column that it can be asked in; where not, the choice is
named that decides it, if one alone does.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from evidence.places import DATA

Figures = Mapping[str, Any]
#: By ground (`aged/static/no`), then by system.
Grounds = Mapping[str, Mapping[str, Figures]]

#: Less than this is nothing.
LEAST = 0.01
#: The choices of a ground, in the order of its name.
CHOICES = ("age", "placement", "suspension")


@dataclass(frozen=True)
class Question:
    """Whether a design moves a figure of another one, and which way."""

    label: str
    system: str
    baseline: str
    figure: str
    #: Only where the drive collects.
    aged: bool = False

    def changes(self, grounds: Grounds) -> dict[str, float | None]:
        """The change by ground as a share of the baseline's figure; None where it has none."""
        return {
            name: change(systems[self.baseline][self.figure], systems[self.system][self.figure])
            for name, systems in grounds.items()
            if not self.aged or name.startswith("aged/")
        }


QUESTIONS = (
    Question("`ca-ssd` writes, against `conventional`", "ca-ssd", "conventional", "write_ns"),
    Question("`ca-ssd` p99 of writes, against `conventional`", "ca-ssd", "conventional", "write_p99_ns"),
    Question("`ca-ssd` reads, against `conventional`", "ca-ssd", "conventional", "read_ns"),
    Question("`ca-ssd` programs, against `conventional`", "ca-ssd", "conventional", "programs"),
    Question("`ca-ssd` erases, against `conventional`", "ca-ssd", "conventional", "erases", aged=True),
    Question("`caftl` (store: ours) writes, against `conventional`", "caftl", "conventional", "write_ns"),
    Question("`caftl` (store: ours) writes, against `ca-ssd`", "caftl", "ca-ssd", "write_ns"),
    Question("`caftl` (store: ours) programs, against `ca-ssd`", "caftl", "ca-ssd", "programs"),
    Question("`oracle` reads, against `ca-ssd`", "oracle", "ca-ssd", "read_ns"),
    Question("`rr-ssd` reads, against `ca-ssd`", "rr-ssd", "ca-ssd", "read_ns"),
    Question("`rr-ssd` p99 of reads, against `ca-ssd`", "rr-ssd", "ca-ssd", "read_p99_ns"),
    Question("`rr-ssd` reads, against `conventional`", "rr-ssd", "conventional", "read_ns"),
    Question("`rr-ssd` programs, against `ca-ssd`", "rr-ssd", "ca-ssd", "programs"),
    Question("`rr-ssd-online` reads, against `ca-ssd`", "rr-ssd-online", "ca-ssd", "read_ns"),
    Question("`pblru` reads, against `ca-ssd`", "pblru", "ca-ssd", "read_ns"),
    Question("`ds-ftl` reads, against `conventional`", "ds-ftl", "conventional", "read_ns"),
    Question("`ds-ftl` writes, against `conventional`", "ds-ftl", "conventional", "write_ns"),
)


@dataclass(frozen=True)
class Answer:
    """A question on one trace: the change in every column, and what that comes to."""

    question: Question
    changes: Mapping[str, float | None]

    @property
    def known(self) -> list[float]:
        """The changes that are defined."""
        return [value for value in self.changes.values() if value is not None]

    @property
    def low(self) -> float | None:
        """The lowest change of all columns."""
        return min(self.known, default=None)

    @property
    def high(self) -> float | None:
        """The highest."""
        return max(self.known, default=None)

    @property
    def verdict(self) -> str:
        """`falls`, `rises` or `the same` in every column; otherwise what it never does, and what decides."""
        return common(self.known) or f"{self._never}depends on {self.decided_by}"

    @property
    def _never(self) -> str:
        """What happens in no column, of what can be told by a hundredth."""
        if all(value < LEAST for value in self.known):
            return "never rises; "
        return "never falls; " if all(value > -LEAST for value in self.known) else ""

    @property
    def survives(self) -> bool:
        """Whether the answer is the same in every column."""
        return common(self.known) is not None

    @property
    def decided_by(self) -> str:
        """The choices that leave one answer once fixed; `several choices together` where none does alone."""
        deciding = [
            name for place, name in enumerate(CHOICES)
            if all(common(values) is not None for values in self._by_choice(place).values())
        ]  # fmt: skip
        return " or ".join(deciding) if deciding else "several choices together"

    def _by_choice(self, place: int) -> dict[str, list[float]]:
        groups: dict[str, list[float]] = {}
        for name, value in self.changes.items():
            if value is not None:
                groups.setdefault(name.split("/")[place], []).append(value)
        return groups


def answers(question: Question, traces: Mapping[str, Grounds]) -> dict[str, Answer]:
    """A question on every trace."""
    return {name: Answer(question, question.changes(grounds)) for name, grounds in traces.items()}


def changed(
    traces: Mapping[str, Grounds], names: Iterable[str], system: str, baseline: str, figure: str, ground: str = "*"
) -> list[float]:  # fmt: skip
    """The changes of a figure on some traces in all columns that fit: `aged/*`, `*/static/*`."""
    question = Question("", system, baseline, figure)
    found = [(column, value) for name in names for column, value in question.changes(traces[name]).items()]
    return [value for column, value in found if value is not None and fnmatch(column, ground)]


def everywhere(found: Mapping[str, Answer]) -> str | None:
    """The answer that is one and the same in every column of every trace, if there is one."""
    verdicts = {answer.verdict for answer in found.values()}
    return verdicts.pop() if len(verdicts) == 1 and all(answer.survives for answer in found.values()) else None


def overall(found: Mapping[str, Answer]) -> str:
    """One word on all traces: what survives all columns of all of them, or on which traces."""
    if word := everywhere(found):
        return f"**{word}** everywhere"
    groups: dict[str, list[str]] = {}
    for name, answer in found.items():
        groups.setdefault(answer.verdict, []).append(f"`{name}`")
    if len(groups) == 1:
        return next(iter(groups))
    return ". ".join(f"{', '.join(names)}: {verdict}" for verdict, names in groups.items())


def common(values: Iterable[float]) -> str | None:
    """What all changes are: `falls`, `rises`, `the same`; None where they differ."""
    signs = {"the same" if abs(value) < LEAST else "falls" if value < 0 else "rises" for value in values}
    return signs.pop() if len(signs) == 1 else None


def change(before: float | None, after: float | None) -> float | None:
    """By how much, as a share of what it was."""
    if before is None or after is None or before == 0:
        return None
    return after / before - 1.0


@functools.cache
def before() -> dict[str, Any]:
    """The tables of the pages as they were before the engine was mended."""
    found: dict[str, Any] = json.loads((DATA / "before.json").read_text(encoding="utf-8"))["data"]
    return found
