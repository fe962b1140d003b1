"""Which points a sweep has: every combination of its values, values side by side, or a sample. Pure."""

import itertools
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from flashtwin.errors import ArgumentError

#: How values of several keys are combined: each with each, or the first with the first.
Mode = Literal["grid", "zip"]
Sets = tuple[tuple[str, str], ...]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}):({_NUMBER})(?::(log|{_NUMBER}))?")
#: Opening and closing signs that commas may stand between without separating values.
_OPENING, _CLOSING = "([{", ")]}"

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`, both included: whole ones where both ends are written so."""

    low: float
    high: float
    step: float | None
    log: bool
    whole: bool

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The values, where there is a step between them; None where any number between the ends will do."""
        if self.step is None:
            return None
        number = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return tuple(self.text(self.low + place * self.step) for place in range(number))

    def at(self, share: float) -> str:
        """The value at a share, 0 up to 1, of the way."""
        if self.log:
            return self.text(self.low * (self.high / self.low) ** share)
        return self.text(self.low + (self.high - self.low) * share)

    def text(self, value: float) -> str:
        """A value as the core takes it; without the last digits, which arithmetic makes up."""
        return str(round(value)) if self.whole else f"{float(f'{value:.12g}')!r}"


Axis = tuple[str, ...] | Range


@dataclass(frozen=True)
class Point:
    """A trace, by its place, on a system with some keys set otherwise."""

    trace: int
    system: str
    sets: Sets


def axis(text: str) -> Axis:
    """Values between commas, or a range: `a,b,c`, `0.1:0.5:0.1`, `1:64:log`, `7:28`.

    Commas in brackets or quotes are a value's own: `zipf(0.8,1000),unique` are two.

    >>> axis("1:5:2").steps
    ('1', '3', '5')
    """
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return _split(text)
    low, high, last = float(found[1]), float(found[2]), found[3]
    log = last == "log"
    step = None if log or last is None else float(last)
    if low >= high or (step is not None and step <= 0) or (log and low <= 0):
        raise ArgumentError(
            f"'{text}' is no range; write it from the smaller to the larger number, with a step above 0: "
            "0.1:0.5:0.1, or 1:64:log from a number above 0"
        )
    parts = [found[1], found[2], *([last] if step is not None else [])]
    return Range(low, high, step, log, all(re.fullmatch(r"[+-]?\d+", part) for part in parts))


def _split(text: str) -> tuple[str, ...]:
    values, depth, quote, begin = [], 0, "", 0
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif sign == "," and depth == 0:
            values.append(text[begin:place].strip())
            begin = place + 1
    values.append(text[begin:].strip())
    if not all(values):
        raise ArgumentError(f"'{text}' has an empty value; write values between commas: 0.1,0.2,0.4")
    return tuple(dict.fromkeys(values))


def points(traces: int, systems: Sequence[str], axes: Mapping[str, Axis], mode: Mode = "grid") -> list[Point]:
    """All points in order: trace by trace, system by system, the last key's values next to one another."""
    values = {key: _steps(key, found) for key, found in axes.items()}
    combinations = _zipped(values) if mode == "zip" else list(itertools.product(*values.values()))
    sets = [tuple(zip(values, combination, strict=True)) for combination in combinations]
    return [Point(trace, system, one) for trace in range(traces) for system in systems for one in sets]


def _steps(key: str, found: Axis) -> tuple[str, ...]:
    steps = found.steps if isinstance(found, Range) else found
    if steps is None:
        raise ArgumentError(
            f"{key}: a range without a step has no end of values; write LOW:HIGH:STEP, take a --sample, "
            "or search with --minimize"
        )
    return steps


def _zipped(values: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Values side by side; a single one stands beside all of the others."""
    longest = max((len(found) for found in values.values()), default=1)
    wrong = [key for key, found in values.items() if len(found) not in (1, longest)]
    if wrong:
        counts = ", ".join(f"{key} has {len(found)}" for key, found in values.items())
        raise ArgumentError(f"--zip takes values side by side, so that all keys need as many of them: {counts}")
    return list(zip(*(found if len(found) == longest else found * longest for found in values.values()), strict=True))


def sample(number: int, seed: int, traces: int, systems: Sequence[str], axes: Mapping[str, Axis]) -> list[Point]:
    """Some of the points, drawn evenly by a seed; of ranges, values spread evenly over them (a Latin hypercube).

    Without ranges, different points of the grid in its order; all of them where there are no more.
    """
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    ranges = {key: found for key, found in axes.items() if isinstance(found, Range) and found.steps is None}
    others = {key: found for key, found in axes.items() if key not in ranges}
    grid = points(traces, systems, others)
    if not ranges:
        return [grid[place] for place in sorted(draw.sample(range(len(grid)), min(number, len(grid))))]
    strata = {key: draw.sample(range(number), number) for key in ranges}
    # Every combination of the listed values as often as any other, but for one.
    rounds = math.ceil(number / len(grid))
    places = [place for _ in range(rounds) for place in draw.sample(range(len(grid)), len(grid))][:number]
    found = []
    for turn, place in enumerate(places):
        drawn = {key: one.at((strata[key][turn] + draw.random()) / number) for key, one in ranges.items()}
        drawn.update(grid[place].sets)
        found.append(Point(grid[place].trace, grid[place].system, tuple((key, drawn[key]) for key in axes)))
    return sorted(found, key=lambda point: (point.trace, systems.index(point.system)))


def shard(text: str) -> tuple[int, int]:
    """`i/n` as numbers, i counted from 1."""
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise ArgumentError(f"'{text}' is no shard; write it like 2/8, the second of eight")
    return int(found[1]), int(found[2])


def shared(work: Sequence[Entry], part: tuple[int, int] | None) -> list[Entry]:
    """The part of the work that falls to a shard: every n-th, so that slow neighbours are spread."""
    return list(work) if part is None else list(work[part[0] - 1 :: part[1]])
