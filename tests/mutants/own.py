"""Changes that cannot be switched: each is written into a copy that is otherwise plain, and built by itself."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.mutants import outcomes, tree
from tests.mutants.build import NOT_VIABLE, compiled
from tests.mutants.listing import Mutant
from tests.mutants.outcomes import Outcome
from tests.mutants.process import Binary
from tests.mutants.recorded import Test
from tests.mutants.trying import TIMED_OUT, Trier

#: A change of what is computed by the compiler may keep it busy.
MOST_SECONDS = 120.0


def tried(
    root: Path,
    mutants: Sequence[Mutant],
    near: Mapping[tuple[str, str], list[Test]],
    tests: Sequence[Test],
    most: float,
) -> Iterator[Outcome]:
    """The outcome of each of `mutants`, by tests that are known to reach its function or, if none is, by all."""
    for mutant in mutants:
        chosen = near.get((mutant.file, mutant.function)) or tests
        to = root / tree.WORK / "own-tree"
        tree.copy(root, to, {mutant.file: changed(root, mutant)}, switched=False)
        try:
            done = compiled(to, root / tree.WORK / "own-build", MOST_SECONDS)
        except subprocess.TimeoutExpired:
            yield outcomes.of(mutant, TIMED_OUT, "the compiler", MOST_SECONDS)
            continue
        if not done.binaries:
            yield outcomes.of(mutant, NOT_VIABLE, next(iter(done.texts), "").split("\n")[0])
            continue
        trier = Trier(named(done.binaries), most)
        answer = trier.tried((mutant.file, mutant.function), chosen, {})
        yield outcomes.answered(mutant, answer, len(chosen))


def named(binaries: Sequence[Binary]) -> dict[str, Binary]:
    """Programs by their names."""
    return {binary.name: binary for binary in binaries}


def changed(root: Path, mutant: Mutant) -> bytes:
    """The file with the change in it."""
    text = (root / mutant.file).read_bytes()
    return text[: mutant.span.start] + mutant.replacement.encode() + text[mutant.span.end :]
