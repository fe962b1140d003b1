"""What no test of Rust notices, digests of whole replays may: the behaviour tests, on a core with all changes in it."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.mutants import recorded, tree
from tests.mutants.build import BuildError, environment
from tests.mutants.process import Binary
from tests.mutants.recorded import Test

TESTS = "tests/test_behaviour.py"
LINE = re.compile(r"^(?P<name>tests/\S+\[.*?\]|tests/\S+) (?P<result>[A-Z]+)?")
PYTEST = (sys.executable, "-m", "pytest", "-x", "-v", "-p", "no:cacheprovider")
#: Libraries of numbers reserve more than they use.
MOST_BYTES = 16 << 30


def prepared(root: Path, workers: int, say: Callable[[str], None]) -> tuple[Binary, list[Test]]:
    """The program that runs them, and what each of them reaches."""
    work = root / tree.WORK
    library = extension(work)
    package = work / "python" / "flashtwin"
    shutil.rmtree(package.parent, ignore_errors=True)
    shutil.copytree(work / "tree" / "python", package.parent)
    shutil.copy(library, package / "_core.abi3.so")
    # Byte code of its own would be a file that the copy of the sources does not have.
    surroundings = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    binary = Binary("behaviour", work / "tree", PYTEST, LINE, MOST_BYTES, surroundings)
    state = recorded.fingerprint([library, work / "tree" / TESTS])
    before = seconds_of_children()
    cases = names(binary)
    binary = replace(binary, start_seconds=seconds_of_children() - before)
    wanted = [(binary, name) for name in cases]
    return binary, recorded.record(wanted, state, work / "behaviour.json", workers, say)


def seconds_of_children() -> float:
    """Of a processor, by the processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def extension(work: Path) -> Path:
    """Builds the extension module from the copy that has the changes."""
    command = ["cargo", "build", "--locked", "--quiet", "--profile", "mutants", "--package", "flashtwin-python"]
    done = subprocess.run(command, cwd=work / "tree", env=environment(work / "build"), check=False)
    if done.returncode:
        raise BuildError("the extension module does not compile")
    built = (work / "build" / "mutants").glob("libflashtwin_python.*")
    return next(path for path in built if path.suffix in {".so", ".dylib"})


def names(binary: Binary) -> list[str]:
    """The cases."""
    command = [*PYTEST[:3], "--collect-only", "-q", "-p", "no:cacheprovider", TESTS]
    surroundings = {**os.environ, **binary.environment}
    done = subprocess.run(command, cwd=binary.folder, env=surroundings, check=True, stdout=subprocess.PIPE)
    return [line for line in done.stdout.decode().splitlines() if "::" in line]
