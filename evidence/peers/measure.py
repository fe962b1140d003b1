"""Measurements of a run, by any simulator."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: A 99th percentile of fewer requests would hang on less than ten of them.
TAIL_COUNT = 1000


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


def latency_of(count: int, mean_ns: float | None, p99_ns: float | None) -> Latency | None:
    """Figures that were computed elsewhere; `None` of nothing."""
    if mean_ns is None or p99_ns is None:
        return None
    tail = round(p99_ns / 1000, 3) if count >= TAIL_COUNT else None
    return Latency(count, round(mean_ns / 1000, 3), tail)


def latency(times_us: Iterable[float]) -> Latency | None:
    """Mean and 99th percentile (the value of that rank, no interpolation) of response times."""
    ordered = sorted(times_us)
    if not ordered:
        return None
    rank = -(-99 * len(ordered) // 100)
    return latency_of(len(ordered), 1000 * sum(ordered) / len(ordered), 1000 * ordered[rank - 1])


def run(command: list[str], folder: Path, *, answer: str, within_s: float, statuses: tuple[int, ...] = (0,)) -> str:
    """Runs a peer to its end and returns its output."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=answer,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PeerError(f"{command[0]} has not ended after {within_s:.0f} s") from None
    if done.returncode not in statuses:
        raise PeerError(f"{command[0]} ended with status {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    return done.stdout


def commit(folder: Path) -> str | None:
    """The commit that a folder is a clone of, if it is one."""
    if not (folder / ".git").exists():
        return None
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
