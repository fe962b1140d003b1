"""Cost of policies in Python: CPU of whole processes with a policy of one's own, beside the same with the built-in one.

    python -m benches.policies [--cases victim] [--pairs 7] [--trace traces/webvm-small.fiu.zst]

Each pair is run one after the other, because other work of the machine comes and goes; the median of the ratios counts.
Both have NumPy loaded, which a policy's author has. The built-in victim in C needs `cc`. `degree` is asked before the
run alone: it shows what a process pays once for any policy, and the others cost this much less by the run.
"""

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import flashtwin as ft

C_GREEDY = """
#include <stdint.h>
int64_t choose(int64_t plane, int64_t n, const int64_t *valid, const int64_t *erases, const int64_t *closed,
               const int64_t *changed, const int64_t *age) {
    int64_t best = -1;
    for (int64_t at = 0; at < n; at++)
        if (closed[at] && (best < 0 || valid[at] < valid[best] ||
                           (valid[at] == valid[best] && changed[at] < changed[best])))
            best = at;
    return best;
}
"""


@ft.policy("victim")
def victim(_: int, blocks: Any) -> Any:
    closed = np.flatnonzero(blocks.closed)
    least = closed[blocks.valid[closed] == blocks.valid[closed].min()]
    return least[blocks.changed[least].argmin()]


@ft.policy("placement")
def placement(home: int, chips: Any) -> Any:
    may = chips.may.tolist()
    count = len(may)
    for at in range(home + 1, home + count):
        if may[at % count]:
            return at % count
    return -1


@ft.policy("degree")
def degree(popularity: int, drive: Any) -> Any:
    return min(1 + popularity, drive.chips)


@ft.policy("replication.period")
def plan(contents: Any, chips: Any, _: int) -> tuple[Any, Any]:
    """The chips after the home chip, a copy for each read: what `static` places, in the plan's order."""
    count = len(chips.free_pages)
    more = np.maximum(np.minimum(1 + contents.popularity, count) - contents.pages, 0)
    row = np.repeat(np.arange(len(more)), more)
    at = np.arange(len(row)) - np.repeat(np.cumsum(more) - more, more)
    return contents.content[row], (contents.home[row] + contents.pages[row] + at) % count


@ft.policy("partition")
def partition(_: int, pages: Any) -> Any:
    return np.where(pages.writes < 1 << 40, 0, 1)


@ft.policy("eviction")
def eviction(victims: int, entries: Any) -> Any:
    first = np.argpartition(entries.written, victims - 1)[:victims]
    return first[np.argsort(entries.written[first])]


@ft.policy("redirection")
def redirection(copies: int, table: Any) -> Any:
    loads = table.load[:copies].tolist()
    return loads.index(min(loads))


@ft.policy("allocation")
class Allocation:
    def __init__(self, drive: Any) -> None:
        self.chips, self.planes = drive.chips, drive.planes
        self.per_chip = drive.planes // drive.chips

    def choose(self, address: int, _: Any) -> Any:
        turn = address % self.planes
        return turn % self.chips * self.per_chip + turn // self.chips


STATIC = {"ftl.replication.placement": "static"}
#: By name: the key, the built-in policy, the policy of one's own, and other keys.
CASES: dict[str, tuple[Any, ...]] = {
    "degree": ("ftl.replication.degree", "popularity", degree),
    "placement": ("ftl.replication.placement", "static", placement),
    "replication.period": ("ftl.replication.policy", "end-of-period", plan, STATIC),
    "victim": ("ftl.gc.victim", "greedy", victim),
    "victim in C": ("ftl.gc.victim", "greedy", None),
    "redirection": ("ftl.redirection.policy", "replicas", redirection),
    "allocation": ("ftl.allocation.policy", "static", Allocation),
    "partition": ("ftl.partition.policy", "ranges", partition, {"ftl.partition.ranges": "100T"}),
    "eviction": ("ftl.dedup.eviction", "lru-writes", eviction, {"ftl.dedup.fingerprint_entries": 8192}),
}


def compile_greedy(folder: str) -> None:
    (Path(folder) / "greedy.c").write_text(C_GREEDY)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", "greedy.so", "greedy.c"], cwd=folder, check=True)


def greedy_in_c(folder: str) -> Any:
    function = ctypes.CDLL(f"{folder}/greedy.so").choose
    function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_int64] * 2 + [ctypes.c_void_p] * 5
    return ft.policy("victim", name="greedy-in-c")(function)


def one(case: str, own: bool, trace: str, folder: str) -> None:
    warnings.simplefilter("ignore", ft.IgnoredKeyWarning)  # Some keys are of the built-in policy alone.
    key, builtin, policy, *more = CASES[case]
    sets = {key: (policy or greedy_in_c(folder)) if own else builtin, **(more[0] if more else {})}
    # A drive that is filled and collects for what the writes of the host decide; as it is for the others.
    if any(word in key for word in ("victim", "partition", "eviction")):
        ft.replay(trace, "rr-ssd", settings={"replay.preload": "footprint", **sets}, fill=0.9)
    else:
        ft.replay(trace, "rr-ssd", settings=sets)


def cpu_s(case: str, own: bool, trace: str, folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, __file__, "--one", case, "--trace", trace, "--folder", folder, *(["--own"] if own else [])]
    subprocess.run(words, check=True, env={**os.environ, "FLASHTWIN_CACHE": "off"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--trace", default="traces/webvm-small.fiu.zst")
    parser.add_argument("--one")
    parser.add_argument("--folder", default="")
    parser.add_argument("--own", action="store_true")
    asked = parser.parse_args()
    if asked.one:
        one(asked.one, asked.own, asked.trace, asked.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        compile_greedy(folder)
        for case in asked.cases:
            pairs = [[cpu_s(case, own, asked.trace, folder) for own in (True, False)] for _ in range(asked.pairs)]
            ratio = statistics.median(own / builtin for own, builtin in pairs)
            builtin = statistics.median(two for _, two in pairs)
            print(f"{case}: {100 * (ratio - 1):+.1f} % CPU ({builtin:.2f} s built in)")


if __name__ == "__main__":
    main()
