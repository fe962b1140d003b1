"""Measurements of a run by any simulator, and how a peer is run."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: A 99th percentile of fewer requests would hang on less than ten of them.
TAIL_COUNT = 1000
WITHIN_S = 300.0

Options = Mapping[str, str | int | float | bool]


class PeerError(RuntimeError):
    """A peer did not do its work."""


@dataclass(frozen=True)
class Latency:
    """Response times of one kind of request, in microseconds."""

    count: int
    mean_us: float
    p99_us: float | None


@dataclass(frozen=True)
class Outcome:
    """One run. A figure that a simulator cannot give is `None`, never 0."""

    read: Latency | None
    write: Latency | None
    pages_programmed: int | None
    blocks_erased: int | None


@dataclass(frozen=True)
class Peer:
    """Another simulator, and the variable that names the folder in which it was built."""

    name: str
    variable: str
    repository: str
    binary: str

    def program(self) -> Path | None:
        """The built program. None if the variable is not set."""
        home = os.environ.get(self.variable)
        if not home:
            return None
        path = Path(home).resolve() / self.binary
        if not path.is_file():
            raise PeerError(f"{path}: no such program; build {self.name} in {home} first")
        return path

    def run(self, arguments: str, folder: Path, *, answer: str, status: int = 0) -> str:
        program = self.program()
        assert program is not None, f"set {self.variable} first"
        try:
            done = subprocess.run(
                [program, *arguments.split()], cwd=folder, input=answer, capture_output=True, text=True,
                errors="replace", timeout=WITHIN_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise PeerError(f"{program} has not ended after {WITHIN_S:.0f} s") from None
        if done.returncode != status:
            raise PeerError(f"{program} ended with status {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
        return done.stdout


def latency(times_us: Iterable[float]) -> Latency | None:
    """Mean and 99th percentile (the value of that rank, no interpolation) of response times."""
    ordered = sorted(times_us)
    if not ordered:
        return None
    tail = round(ordered[-(-99 * len(ordered) // 100) - 1], 3) if len(ordered) >= TAIL_COUNT else None
    return Latency(len(ordered), round(sum(ordered) / len(ordered), 3), tail)


def commit(folder: Path) -> str | None:
    """The commit that a folder is a clone of, if it is one."""
    if not (folder / ".git").exists():
        return None
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
