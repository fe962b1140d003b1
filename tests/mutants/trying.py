"""Tries a change: runs the tests that reach it until one fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tests.mutants.process import Binary, run
from tests.mutants.recorded import Test

CAUGHT, TIMED_OUT, MISSED = "caught", "timed out", "missed"

#: A batch that takes this many times as long as its tests did, and a little more, does not end.
PATIENCE, GRACE_SECONDS = 5.0, 2.0
#: How many of the tests that noticed other changes of a function are asked first.
REMEMBERED = 3
#: A program that takes longer to start runs its tests in one go.
DEAR_SECONDS = 0.2


@dataclass(frozen=True)
class Answer:
    """What the tests say of a change."""

    outcome: str
    #: The test that noticed.
    by: str
    seconds: float
    #: Tests that were not run, since those before them took all the time that a change may take.
    not_run: int = 0


@dataclass
class Trier:
    """Programs, and what is known of which tests notice much."""

    binaries: Mapping[str, Binary]
    most_seconds: float
    #: Tests that noticed changes of a function, the last first: they are likely to notice the next.
    noticed: dict[tuple[str, str], list[Test]] = field(default_factory=dict)

    def tried(self, function: tuple[str, str], tests: Sequence[Test], environment: Mapping[str, str]) -> Answer:
        """Runs `tests`, which reach a change of `function`, in batches."""
        ordered = self.ordered(function, tests)
        affordable = within(ordered, self.most_seconds)
        spent = 0.0
        for binary, batch in batches(affordable, at_once=self.dear):
            program = self.binaries[binary]
            limit = PATIENCE * (sum(test.seconds for test in batch) + program.start_seconds) + GRACE_SECONDS
            ended = run(program, [test.name for test in batch], environment, limit)
            spent += ended.seconds
            if ended.how != "passed":
                self.remember(function, [test for test in batch if test.name == ended.by])
                outcome = TIMED_OUT if ended.how == "timed out" else CAUGHT
                return Answer(outcome, f"{binary}: {ended.by}", spent)
        return Answer(MISSED, "", spent, len(tests) - len(affordable))

    @property
    def dear(self) -> bool:
        """Whether to start a program costs more than most of its tests."""
        return any(binary.start_seconds > DEAR_SECONDS for binary in self.binaries.values())

    def ordered(self, function: tuple[str, str], tests: Sequence[Test]) -> list[Test]:
        """The cheapest first, but before them those that noticed other changes of the function."""
        first = [test for test in self.noticed.get(function, []) if test in tests]
        return first + [test for test in tests if test not in first]

    def remember(self, function: tuple[str, str], tests: Sequence[Test]) -> None:
        """Notes which test noticed."""
        before = [test for test in self.noticed.get(function, []) if test not in tests]
        self.noticed[function] = [*tests, *before][:REMEMBERED]


def within(tests: Sequence[Test], seconds: float) -> list[Test]:
    """As many tests as fit into `seconds`, and one in any case."""
    taken: list[Test] = []
    for test in tests:
        seconds -= test.seconds
        if seconds < 0 and taken:
            break
        taken.append(test)
    return taken


def batches(tests: Sequence[Test], *, at_once: bool = False) -> Iterator[tuple[str, list[Test]]]:
    """One test, then two, then four: most changes are noticed at once, and for the others processes are few."""
    at, size = 0, max(len(tests), 1) if at_once else 1
    while at < len(tests):
        batch = sorted(tests[at : at + size], key=lambda test: test.binary)
        for binary, some in groupby(batch, key=lambda test: test.binary):
            yield binary, list(some)
        at, size = at + size, 2 * size
