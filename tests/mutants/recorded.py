"""Which test reaches which changes, and how long it takes: found out by running each once, by itself."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.process import Binary, run, together

#: No test takes longer.
MOST_SECONDS = 900.0
#: To write down what is reached takes time of its own: a test that takes longer is timed without.
UNCLEAR_SECONDS = 0.1


@dataclass(frozen=True, eq=False)
class Test:
    """One test."""

    #: The name of its program.
    binary: str
    name: str
    #: Of a processor, without what its program takes to start.
    seconds: float
    reached: frozenset[int]

    __test__ = False


class FailingError(Exception):
    """Many tests fail with no change active."""


def of_rust(binaries: Sequence[Binary], cache: Path, workers: int, say: Callable[[str], None]) -> list[Test]:
    """The tests of Rust's programs that are not ignored."""
    state = fingerprint(Path(binary.command[0]) for binary in binaries)
    return record([(binary, name) for binary in binaries for name in names(binary)], state, cache, workers, say)


def record(
    wanted: Sequence[tuple[Binary, str]], state: str, cache: Path, workers: int, say: Callable[[str], None]
) -> list[Test]:
    """All `wanted` tests, the cheapest first; read from `cache` when that is of the same `state` of the programs."""
    if cache.is_file():
        kept = json.loads(cache.read_text(encoding="utf-8"))
        if kept["of"] == state:
            return [
                Test(one["binary"], one["name"], one["seconds"], frozenset(one["reached"])) for one in kept["tests"]
            ]
    say(f"running {len(wanted)} tests, one at a time, to see what they reach")
    begun = time.monotonic()
    passed = [test for test in together(lambda one: alone(*one), wanted, workers) if isinstance(test, Test)]
    tests = sorted(passed, key=lambda test: test.seconds)
    left_out = sorted({(binary.name, name) for binary, name in wanted} - {(test.binary, test.name) for test in tests})
    for binary, name in left_out:
        say(f"not asked, since it fails with no change active (memory is limited here): {binary}: {name}")
    if 10 * len(left_out) > len(wanted):
        raise FailingError("more than a tenth of the tests fail with no change active; mend them first")
    say(f"{sum(test.seconds for test in tests):.0f} s of tests in {time.monotonic() - begun:.0f} s")
    rows = [{**vars(test), "reached": sorted(test.reached)} for test in tests]
    cache.write_text(json.dumps({"of": state, "tests": rows}), encoding="utf-8")
    return tests


def fingerprint(files: Iterable[Path]) -> str:
    """A hash of programs."""
    state = hashlib.blake2b(digest_size=16)
    for path in sorted(files):
        state.update(path.name.encode() + b"\0" + hashlib.blake2b(path.read_bytes()).digest())
    return state.hexdigest()


def names(binary: Binary) -> list[str]:
    """The tests of a program but the ignored ones."""
    ignored = set(told(binary, "--ignored"))
    return [name for name in told(binary) if name not in ignored]


def told(binary: Binary, *more: str) -> list[str]:
    """What a program says its tests are."""
    command = [binary.command[0], "--list", "--format", "terse", *more]
    lines = subprocess.run(command, cwd=binary.folder, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    return [line.removesuffix(": test") for line in lines if line.endswith(": test")]


def alone(binary: Binary, name: str) -> Test | None:
    """Runs one test in a process of its own; None when it fails."""
    with tempfile.NamedTemporaryFile(prefix="reached-") as file:
        environment = {"FLASHTWIN_MUTANT": "record", "FLASHTWIN_REACHED": file.name}
        ended = run(binary, [name], environment, MOST_SECONDS)
        if ended.how != "passed":
            return None
        seconds = ended.seconds
        if seconds > UNCLEAR_SECONDS:
            seconds = run(binary, [name], {}, MOST_SECONDS).seconds
        reached = frozenset(int(line) for line in Path(file.name).read_text(encoding="ascii").split())
    return Test(binary.name, name, max(seconds - binary.start_seconds, 0.0), reached)


def by_mutant(tests: Sequence[Test]) -> dict[int, list[Test]]:
    """The tests that reach a change, in the order given."""
    reaching: dict[int, list[Test]] = defaultdict(list)
    for test in tests:
        for number in test.reached:
            reaching[number].append(test)
    return reaching
