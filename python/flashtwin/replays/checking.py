"""`check_policy`: whether a policy keeps its contract, on random small drives with the invariant checker on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, ConfigError
from flashtwin.policies import calling
from flashtwin.policies.registry import FAMILIES, Policy
from flashtwin.replays.presets import System, resolve_text
from flashtwin.replays.running import replay
from flashtwin.settings import texts
from flashtwin.traces.trace import Trace


@dataclass(frozen=True)
class PolicyCheck:
    """The outcome of `check_policy`.

    >>> import flashtwin as ft
    >>> ft.PolicyCheck(drives=5, calls=3000, ns_per_call=900.0).drives
    5
    """

    #: Random drives that the policy ran on, each twice.
    drives: int
    #: Calls of one round over the drives; 0 where they cannot be counted, of a compiled function.
    calls: int
    #: Mean time of a call in nanoseconds, the policy's own and that of counting it; None without calls.
    ns_per_call: float | None


@checked
def check_policy(policy: Any, *, drives: int = 5, seed: int = 1) -> PolicyCheck:
    """Runs a policy on random small drives, with a plain model of the data beside them (`verify`), each run twice.

    Args:
        policy: what `flashtwin.policy` made.
        drives: how many drives.
        seed: another one draws other drives and requests.

    Raises:
        ArgumentError: it is no policy.
        ConfigError: an answer was wrong, the policy raised an exception or got stuck, or two equal runs differ.

    >>> import flashtwin as ft
    >>> @ft.policy("victim")
    ... def emptiest(plane, blocks):
    ...     closed = blocks.closed.nonzero()[0]
    ...     return closed[blocks.valid[closed].argmin()]
    >>> ft.check_policy(emptiest).calls > 100
    True
    """
    made = getattr(policy, "__flashtwin_policy__", None)
    if not isinstance(made, Policy):
        raise ArgumentError(f"{policy!r} is no policy; make one with @ft.policy(family)")
    random = np.random.default_rng(seed)
    times: list[int] = []
    for number in range(drives):
        trace, system = _trace(random), _system(random, made.family, policy)
        first, again = (_replayed(trace, system, times if turn == 0 else []) for turn in range(2))
        if first != again:
            raise ConfigError(
                f"the {made.family} policy '{made.name}' answers differently in two equal runs (drive {number + 1}); "
                "let it depend on its arguments, its own state and `rng` alone"
            )
    return PolicyCheck(drives, len(times), sum(times) / len(times) if times else None)


def _replayed(trace: Trace, system: System, times: list[int]) -> str:
    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            begin = time.perf_counter_ns()
            try:
                return call(*arguments)
            finally:
                times.append(time.perf_counter_ns() - begin)

        return counted

    calling.wrapped.append(timed)
    try:
        result = replay(trace, system)
    finally:
        calling.wrapped.pop()
    return result._native.summary_json


def _trace(random: np.random.Generator) -> Trace:
    """Small requests in bursts, most of them on a fifth of the pages, with popular contents."""
    requests = 3000
    pages = random.choice([1, 1, 2, 4], requests)
    page = np.where(
        random.random(requests) < 0.8, random.integers(0, 300, requests), random.integers(0, 1500, requests)
    )
    popular = [[int(300 * random.random() ** 3) for _ in range(count)] for count in pages]
    columns = {
        "time_ns": np.sort(random.integers(0, 600 * 10**9, requests)), "op": random.choice(["R", "W", "W"], requests),
        "offset_bytes": page * 4096, "length_bytes": pages * 4096, "content": popular,
    }  # fmt: skip
    return Trace.from_frame(columns, name="check")


def _system(random: np.random.Generator, family: str, policy: Any) -> System:
    channels, chips, dies, planes = (int(random.choice(sizes)) for sizes in ([2, 4], [1, 2], [1, 2], [1, 2]))
    pages = 8
    blocks = 3000 // (channels * chips * dies * planes * pages) + 10
    contents = family not in ("victim", "allocation", "partition")
    name = "rr-ssd" if contents or random.random() >= 0.5 else "conventional"
    on_line = {"ftl.replication.policy": "on-line"} if name == "rr-ssd" and random.random() < 0.5 else {}
    sets = {
        "nand.channels": channels, "nand.chips_per_channel": chips, "nand.dies_per_chip": dies,
        "nand.planes_per_die": planes, "nand.pages_per_block": pages, "nand.blocks_per_plane": blocks,
        "replay.period_s": 60.0, "replay.preload": "footprint", "verify": True, "replay.speed": 1000.0,
        "seed": int(random.integers(1000)), **on_line, **_NEEDS.get(family, {}), f"ftl.{FAMILIES[family].key}": policy,
    }  # fmt: skip
    return resolve_text(name, texts(sets))


#: Keys without which a policy of the family is never asked.
_NEEDS = {"eviction": {"ftl.dedup.fingerprint_entries": 300}, "partition": {"ftl.partition.partitions": 3}}
