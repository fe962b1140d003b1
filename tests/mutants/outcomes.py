"""What became of every change: kept on disk as it is found out, so that a run that was stopped goes on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants.build import NOT_VIABLE, OWN_BUILD
from tests.mutants.listing import Mutant
from tests.mutants.trying import CAUGHT, MISSED, TIMED_OUT, Answer

FOLDER = Path("mutants.out")
FILE = "outcomes.jsonl"
#: What tests that are added since cannot change, so that it is not found out again.
LASTING = {CAUGHT, TIMED_OUT}
COLUMNS = (CAUGHT, TIMED_OUT, NOT_VIABLE, OWN_BUILD, MISSED)


@dataclass(frozen=True)
class Outcome:
    """One line of the file."""

    key: str
    name: str
    file: str
    line: int
    function: str
    change: str
    genre: str
    replacement: str
    outcome: str
    #: The test that noticed, or why there is no answer, or a limit of the answer.
    by: str
    seconds: float
    #: How many tests reach it.
    tests: int


def of(mutant: Mutant, outcome: str, by: str, seconds: float = 0.0, tests: int = 0) -> Outcome:
    """The outcome of a change."""
    return Outcome(
        mutant.key,
        mutant.name,
        mutant.file,
        mutant.line,
        mutant.function,
        mutant.change,
        mutant.genre,
        mutant.replacement,
        outcome,
        by,
        round(seconds, 3),
        tests,
    )


class Outcomes:
    """The file, and what it says of the changes of today's sources."""

    def __init__(self, root: Path, mutants: Sequence[Mutant], *, again: bool) -> None:
        self.path = root / FOLDER / FILE
        self.path.parent.mkdir(exist_ok=True)
        by_key = {mutant.key: mutant for mutant in mutants}
        self.known: dict[str, Outcome] = {}
        for old in [] if again or not self.path.is_file() else read(self.path):
            if old.key in by_key:
                # Its function is as it was, but may have moved.
                self.known[old.key] = of(by_key[old.key], old.outcome, old.by, old.seconds, old.tests)
        self.path.write_text("".join(line(one) for one in self.known.values()), encoding="utf-8")

    def lasts(self, mutant: Mutant) -> bool:
        """Whether a change need not be tried again."""
        known = self.known.get(mutant.key)
        return known is not None and known.outcome in LASTING

    def add(self, outcome: Outcome) -> None:
        """Keeps an outcome."""
        self.known[outcome.key] = outcome
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line(outcome))


def read(path: Path) -> list[Outcome]:
    """The lines of a file; one that was cut off when the run was stopped is none."""
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(Outcome(**json.loads(text)))
        except (json.JSONDecodeError, TypeError):
            continue
    return found


def line(outcome: Outcome) -> str:
    """One outcome as a line."""
    return json.dumps(asdict(outcome), ensure_ascii=False) + "\n"


def table(outcomes: Iterable[Outcome]) -> str:
    """How many of each kind there are, by file."""
    counts: dict[str, Counter[str]] = {}
    for one in outcomes:
        counts.setdefault(one.file, Counter())[one.outcome] += 1
    total = sum(counts.values(), Counter())
    width = max((len(name) for name in counts), default=5)
    lines = [" " * width + "".join(f"  {column:>10}" for column in COLUMNS)]
    for name, those in [*sorted(counts.items()), ("all", total)]:
        lines.append(f"{name:<{width}}" + "".join(f"  {those[column] or '':>10}" for column in COLUMNS))
    return "\n".join(lines)


def answered(mutant: Mutant, answer: Answer, tests: int) -> Outcome:
    """The outcome of a change that was tried."""
    by = answer.by
    if answer.not_run:
        by = f"{tests - answer.not_run} of {tests} tests were run: `--most-seconds` for more"
    elif not tests:
        by = "no test reaches it"
    return of(mutant, answer.outcome, by, answer.seconds, tests)
