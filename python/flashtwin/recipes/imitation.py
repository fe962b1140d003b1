"""From a trace to the recipe that imitates it. The base of each estimate: docs/workloads.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flashtwin.arguments import checked
from flashtwin.characterization import statistics
from flashtwin.characterization.measuring import Characterization, characterize
from flashtwin.errors import TraceError
from flashtwin.progress import Progress
from flashtwin.recipes import trains
from flashtwin.recipes.workloads import Achieved, Workload, compared
from flashtwin.replays import periods
from flashtwin.replays.running import compare
from flashtwin.settings import literal
from flashtwin.traces.trace import Trace, as_trace

#: Shares of the accesses, in percent, at which popularity is taken from the trace.
POINTS = (5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0)

#: Halvings of an hour over which burstiness is measured.
HALVINGS = 10

FLUSH = 3

#: Requests of the trace that the imitation is checked with, at most.
CHECK_REQUESTS = 3_000_000

#: Statistics that are compared; those a recipe has no key for show how well the others carry them.
COMPARED = (
    "requests", "write_percent", "mean_request_kib", "sequential_percent", "footprint_pages", "unique_write_percent",
    "unique_read_percent", "values_for_half_of_writes_percent", "values_for_half_of_reads_percent",
    "duplicate_write_percent", "held_duplicate_write_percent", "duplicate_read_percent", "space_percent",
    "same_content_write_percent", "write_entries_for_90_percent", "read_entries_for_90_percent",
    "popular_write_miss_percent", "first_read_percent", "read_before_percent", "index_of_dispersion",
    "index_of_dispersion_10_ms", "within_1_ms_percent", "train_median_requests", "train_p90_requests",
    "requests_in_long_trains_percent", "mixed_trains_percent", "joined_trains_percent",
)  # fmt: skip


#: Both traces are replayed on these: one that takes no notice of contents, one that deduplicates, one that replicates.
REPLAYED_ON = ("conventional", "ca-ssd", "rr-ssd")


@dataclass(frozen=True)
class Replayed:
    """A figure of the original beside that of its imitation, on one system."""

    system: str
    figure: str
    #: None where the trace has no such request.
    original: float | None
    imitation: float | None

    @property
    def error(self) -> float | None:
        """How far the imitation is from the original, as a share of it; None where that is undefined."""
        if self.original is None or self.imitation is None or self.original == 0:
            return None
        return self.imitation / self.original - 1


@dataclass(frozen=True)
class Imitation:
    """A recipe that imitates a trace, and how well it does. Made by `imitate`.

    >>> import flashtwin as ft
    >>> found = ft.imitate("traces/webvm-small.fiu.zst", replay=False)
    >>> sorted({one.verdict for one in found.achieved})
    ['met', 'missed']
    """

    #: The recipe; its targets are the trace's statistics.
    workload: Workload
    #: The trace's statistics beside those of a trace made from the recipe.
    achieved: list[Achieved]
    scale: float
    #: Figures of both traces, replayed; empty where that was not asked for.
    replays: list[Replayed]


@dataclass(frozen=True)
class _Pages:
    """Every page access of a trace that carries a content."""

    value: np.ndarray[Any, Any]
    write: np.ndarray[Any, Any]
    day: np.ndarray[Any, Any]

    def of(self, *, write: bool) -> _Pages:
        kept = self.write == write
        return _Pages(self.value[kept], self.write[kept], self.day[kept])


@dataclass(frozen=True)
class _Firsts:
    """By value: the first place in the order of page accesses at which it is read and written; `never` if it is not."""

    read: np.ndarray[Any, Any]
    write: np.ndarray[Any, Any]
    never: int

    @classmethod
    def of(cls, pages: _Pages) -> _Firsts:
        never = len(pages.value)
        first = {}
        for write in (False, True):
            at = np.flatnonzero(pages.write == write)[::-1]
            first[write] = np.full(int(pages.value.max()) + 1, never)
            first[write][pages.value[at]] = at
        return cls(first[False], first[True], never)

    @property
    def read_before(self) -> Any:
        return (self.read < self.write) & (self.write < self.never)

    @property
    def written_before(self) -> Any:
        return (self.write < self.read) & (self.read < self.never)


@checked
def imitate(
    trace: Trace | str | Path,
    *,
    period_s: float = 86_400.0,
    name: str | None = None,
    replay: bool = True,
    progress: Progress | None = None,
) -> Imitation:
    """The recipe that imitates a trace, and how well it does.

    Args:
        trace: with contents; what `open` returned, or a path. It is looked at as a whole, in memory.
        period_s: length of its days in seconds.
        name: of the workload; by default the trace's.
        replay: whether the trace and its imitation are replayed as well, on `conventional`, `ca-ssd` and `rr-ssd`.
        progress: told how far reading, measuring and making the imitation are (`flashtwin.progress`).

    Raises:
        ArgumentError: the trace stays in its file, as `scan` leaves it.
        TraceError: the trace has no contents, or too few requests to imitate.

    >>> import flashtwin as ft
    >>> found = ft.imitate("traces/webvm-small.fiu.zst", replay=False)
    >>> found.workload.recipe["requests"]["count"]
    229508
    """
    trace = as_trace(trace, progress)
    if not trace.has_content:
        raise TraceError(
            f"{trace.name}: has no contents, which a recipe is about; give it some with "
            "`replay --content 'zipf(...)'`, or write a recipe by hand (docs/workloads.md)"
        )
    duration_s = trace.duration_ns / 1e9
    days = max(1, round(duration_s / period_s))
    day_s = max(duration_s / days, 1e-3)
    found = characterize(trace, period_s=day_s, progress=progress)
    recipe = _recipe(trace, found, days, day_s, name or trace.name)
    text = _toml(recipe)
    made = Workload(f"{name or trace.name}.toml", text)
    scale = min(1.0, CHECK_REQUESTS / len(trace))
    imitation = made.synthesize(scale=scale, progress=progress)
    measured = characterize(imitation, period_s=made.period_s(scale), progress=progress)
    # Within a single day copies would be made at its very end; its periods are those of any short trace.
    of_replay_s = day_s if days > 1 else periods.length_s(trace.duration_ns)
    replays = _replayed(trace, imitation, (of_replay_s, of_replay_s * scale), progress) if replay else []
    return Imitation(made, compared(made.targets, measured, scale), scale, replays)


def _recipe(trace: Trace, found: Characterization, days: int, day_s: float, name: str) -> dict[str, Any]:
    columns = trace.to_arrow()
    column = {key: np.asarray(columns[key]) for key in ("time_ns", "volume", "op", "offset_bytes", "length_bytes")}
    flushes = int((column["op"] == FLUSH).sum())
    asked = column["op"] < 2
    column = {key: values[asked] for key, values in column.items()}
    write = column["op"] == 1
    if not write.any() or len(write) < 100:
        raise TraceError(f"{trace.name}: has too few requests to imitate; a hundred with a write are needed")
    lists = columns["content_digest"].combine_chunks()
    pages = _pages(lists, np.asarray(columns["op"]), np.asarray(columns["time_ns"]), days, day_s)
    firsts = _Firsts.of(pages)
    end = column["offset_bytes"] + column["length_bytes"]
    follows = np.zeros(len(write), dtype=bool)
    follows[1:] = (column["offset_bytes"][1:] == end[:-1]) & (column["volume"][1:] == column["volume"][:-1])
    requests = {
        "count": len(write),
        "write_percent": _percent(write.mean()),
        "sequential_percent": _percent(follows.mean()),
        "pages": _sizes(column["length_bytes"][write]),
    }
    if flushes:
        requests["writes_per_flush"] = max(1, round(int(write.sum()) / flushes))
    reads: dict[str, Any] = {}
    if not write.all():
        requests["read_sequential_percent"] = _sequential_reads(requests, float(follows[~write].mean()))
        requests["read_pages"] = _sizes(column["length_bytes"][~write])
        reads = _reads(pages, firsts, found, days)
    arrivals = _arrivals(column["time_ns"], write, follows, days, day_s)
    writes = _writes(pages, firsts, found, days)
    footprint, notes = _footprint(found, requests, writes, reads)
    targets = [
        {"metric": metric, "value": value, "source": f"measured on {trace.name}"}
        for metric in COMPARED
        if (value := statistics.METRICS[metric].measure(found, 1.0)) is not None
    ]
    description = f"Imitates the trace {trace.name}: made by `flashtwin trace imitate`. {notes}".strip()
    sections = {"requests": requests, "arrivals": arrivals, "addresses": {"footprint_pages": footprint}}
    return {"name": name, "description": description, **sections, "writes": writes, "reads": reads, "targets": targets}


def _pages(lists: Any, op: Any, time_ns: Any, days: int, day_s: float) -> _Pages:
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    value = lists.flatten().dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    request = np.repeat(np.arange(len(lengths)), lengths)
    kept = (op[request] < 2) & (value >= 0)
    request = request[kept]
    day = np.minimum(time_ns[request] // int(day_s * 1e9), days - 1)
    return _Pages(value[kept], op[request] == 1, day)


def _writes(pages: _Pages, firsts: _Firsts, found: Characterization, days: int) -> dict[str, Any]:
    written = pages.of(write=True)
    summary = found.summary
    read_before = int(firsts.read_before.sum())
    section: dict[str, Any] = {
        "unique_percent": _percent(summary["info"]["unique_values_write_percent"] / 100),
        "popularity": _popularity(written),
        "same_content_percent": round(summary["space"]["rewrite_percent"] or 0.0, 4),
        "reborn_percent": _reborn_percent(summary, 100 * read_before / len(written.value)),
        "read_before_percent": _percent(read_before / (firsts.write < firsts.never).sum()),
        "of_the_day_percent": _of_the_day(written, days),
    }
    return section | _locality(summary["value_locality"]["write"]["content"])


def _reborn_percent(summary: dict[str, Any], read_before_percent: float) -> float:
    """Page writes of a value that was written before and lies nowhere any more.

    Duplicates of earlier writes are reborn or held. Of those held, the first writes of values that were read before
    have no earlier write.
    """
    repeated = summary["duplication"]["duplicate_percent"] or 0.0
    held = summary["space"]["duplicate_write_percent"] or 0.0
    return round(max(0.0, repeated - (held - read_before_percent)), 4)


def _reads(pages: _Pages, firsts: _Firsts, found: Characterization, days: int) -> dict[str, Any]:
    read, written = pages.of(write=False), pages.of(write=True)
    summary = found.summary
    of_address = summary["value_locality"]["read"]["address"]
    unique = summary["info"]["unique_values_read_percent"] / 100
    unique_pages = max(unique, of_address["items"] / of_address["accesses"])
    before, is_read = firsts.written_before, firsts.read < firsts.never
    writes = np.bincount(written.value, minlength=len(is_read))
    of_shared = writes[before].mean() if before.any() else 0.0
    even = writes[writes > 0].mean()
    by_popularity = (writes**2).sum() / writes.sum()
    agreement = (of_shared - even) / (by_popularity - even) if by_popularity > even else 0.0
    section: dict[str, Any] = {
        "unique_percent": _percent(unique),
        "unique_pages_percent": _percent(unique_pages),
        "popularity": _popularity(read),
        "written_percent": _percent(before.sum() / is_read.sum()),
        "agreement_percent": _percent(min(max(agreement, 0.0), 1.0)),
        "of_the_day_percent": _of_the_day(read, days),
    }
    return section | _locality(summary["value_locality"]["read"]["content"])


def _popularity(pages: _Pages) -> list[list[float]]:
    """Points of the curve of popularity; none where all values occur equally often."""
    counts = np.sort(np.bincount(pages.value))[::-1]
    counts = counts[counts > 0]
    if counts[0] == counts[-1]:
        return []
    shares = np.cumsum(counts) / counts.sum()
    points: list[list[float]] = []
    for wanted in POINTS:
        values = int(np.searchsorted(shares, wanted / 100)) + 1
        point = [round(100 * float(shares[values - 1]), 5), round(100 * values / len(counts), 5)]
        if values < len(counts) and (not points or point[1] > points[-1][1]):
            points.append(point)
    return points


def _of_the_day(pages: _Pages, days: int) -> float:
    """Share of values that belong to one day, in percent, beyond those that lie on one by chance.

    A value that lasts has each repeat on the day of the one before with some probability, which values seen
    on several days tell; with `m` occurrences all of them are on one day with its power of `m - 1`.
    """
    if days < 2:
        return 0.0
    counts = np.bincount(pages.value)
    pairs = np.unique(pages.value * days + pages.day) // days
    on_days = np.bincount(pairs, minlength=len(counts))
    several = counts >= 2
    lasting = (on_days >= 2) & (counts >= 4)
    if not several.any():
        return 0.0
    order = np.argsort(pages.value, kind="stable")
    value, day = pages.value[order], pages.day[order]
    repeats = (value[1:] == value[:-1]) & lasting[value[1:]]
    stays = float(np.mean(day[1:][repeats] == day[:-1][repeats])) if repeats.any() else 1 / days
    by_chance = np.mean(stays ** (counts[several] - 1.0))
    observed = np.mean(on_days[several] == 1)
    return round(100 * float(np.clip((observed - by_chance) / (1 - by_chance), 0.0, 0.95)), 2)


def _locality(reuse: dict[str, Any] | None) -> dict[str, Any]:
    entries = (reuse or {}).get("entries_for_90_percent_of_reaccesses")
    return {} if not entries else {"locality": {"percent": 90.0, "within_values": int(entries)}}


def _sizes(length_bytes: Any) -> list[list[float]]:
    """Sizes in pages with their shares; beyond the 24 commonest the mean of the others, once."""
    pages, counts = np.unique(-(-length_bytes.astype(np.int64) // 4096), return_counts=True)
    order = np.argsort(counts)[::-1]
    common, others = order[:24], order[24:]
    sizes = {int(pages[at]): int(counts[at]) for at in common}
    if len(others):
        # Two neighbouring sizes carry the others' mean exactly.
        number = int(counts[others].sum())
        total = int((counts[others] * pages[others]).sum())
        low, more = divmod(total, number)
        sizes[low] = sizes.get(low, 0) + number - more
        sizes[low + 1] = sizes.get(low + 1, 0) + more
    return [[size, 100 * count / len(length_bytes)] for size, count in sorted(sizes.items()) if count]


def _arrivals(time_ns: Any, write: Any, follows: Any, days: int, day_s: float) -> dict[str, Any]:
    """The daily rhythm, the bias of the b-model from counts of requests (or trains, where there are some), trains."""
    hour_ns = day_s * 1e9 / 24
    swing, busiest = _rhythm(time_ns, hour_ns, days)
    found = trains.measure(time_ns, write, follows, 1 + swing)
    burst = _burst(time_ns if found is None else found.starts_ns, hour_ns, days, swing)
    rhythm = {"days": days, "day_s": day_s, "daily_swing": swing, "busiest_hour": busiest, "burst": burst}
    return rhythm if found is None else rhythm | {"trains": found.recipe}


def _rhythm(time_ns: Any, hour_ns: float, days: int) -> tuple[float, float]:
    hours = np.bincount((time_ns / hour_ns).astype(np.int64) % 24, minlength=24)
    wave = np.exp(2j * np.pi * (np.arange(24) + 0.5) / 24)
    first = (hours * wave).sum() / hours.sum()
    swing = min(1.0, 2 * abs(first)) if days > 1 else 0.0
    return round(swing, 4), round(float(np.angle(first) / (2 * np.pi) * 24 % 24), 2)


def _burst(time_ns: Any, hour_ns: float, days: int, swing: float) -> float:
    """The bias of the b-model, from counts in parts of an hour."""
    parts = np.bincount((time_ns / (hour_ns / 2**HALVINGS)).astype(np.int64), minlength=24 * days << HALVINGS)
    mean = parts.mean()
    # Counts of independent arrivals vary too: their variance, the mean, is taken off.
    square = ((parts.astype(float) ** 2).mean() - mean) / mean**2 / (1 + swing**2 / 2)
    spread = max(square, 1.0) ** (1 / HALVINGS) - 1
    return round(min(0.5 + math.sqrt(spread) / 2, 0.95), 4)


def _footprint(
    found: Characterization, requests: dict[str, Any], writes: dict[str, Any], reads: dict[str, Any]
) -> tuple[int, str]:
    """The footprint, and a note on changes made for it: in a recipe pages that are read are not overwritten."""
    info = found.summary["info"]
    wanted = int(info["footprint_pages"])
    of = found.summary["value_locality"]
    pages_written = int(of["write"]["address"]["accesses"])
    pages_read = 0.0
    kept = 0.0
    if reads:
        accesses = int(of["read"]["address"]["accesses"])
        pages_read = accesses * reads["unique_pages_percent"] / 100
        values = accesses * reads["unique_percent"] / 100
        # Values that are kept must not be of one day only.
        lasting = pages_written * writes["unique_percent"] / 100 * (1 - writes["of_the_day_percent"] / 100)
        reads["written_percent"] = min(reads["written_percent"], round(95 * lasting / values, 4), 90.0)
        kept = values * reads["written_percent"] / 100
        # As above, so that no rounding at another scale asks for more than there are.
        written = pages_written * writes["unique_percent"] / 100
        writes["read_before_percent"] = min(writes["read_before_percent"], round(95 * (values - kept) / written, 4))
    largest = max(size for size, _ in requests["pages"])
    least = math.ceil(pages_read + max(largest, 0.02 * pages_written)) + 1
    most = math.floor(pages_read + pages_written - kept) - 1
    footprint = min(max(wanted, least), most)
    note = "" if footprint == wanted else f"Its footprint is {wanted} pages; the recipe's pages make {footprint}."
    return footprint, note


def _sequential_reads(requests: dict[str, Any], share: float) -> float:
    """Sequential reads in percent, rounded down: the rounded shares must leave the writes no less than nothing."""
    count = requests["count"]
    reads = count - round(count * requests["write_percent"] / 100)
    most = count * requests["sequential_percent"] / 100 / reads if reads > 0 else 1.0
    return math.floor(1e6 * min(share, most)) / 1e4


def _percent(share: float) -> float:
    return round(100 * float(share), 4)


def _toml(recipe: dict[str, Any]) -> str:
    # Not `tomli-w`: it writes every number of a list on a line of its own, 369 lines where these are 152.
    lines = [f"name = {literal(recipe['name'])}", f"description = {literal(recipe['description'])}"]
    for section in ("requests", "arrivals", "addresses", "writes", "reads"):
        if recipe[section]:
            lines += ["", f"[{section}]", *(f"{key} = {literal(value)}" for key, value in recipe[section].items())]
    for target in recipe["targets"]:
        lines += ["", "[[targets]]", *(f"{key} = {literal(value)}" for key, value in target.items())]
    return "\n".join(lines) + "\n"


def _replayed(
    original: Trace, imitation: Trace, periods_s: tuple[float, float], progress: Progress | None = None
) -> list[Replayed]:
    """Replays both on `REPLAYED_ON`; `periods_s` are the lengths of their days."""
    figures = []
    for trace, day_s in zip((original, imitation), periods_s, strict=True):
        results = compare(trace, REPLAYED_ON, settings={"replay.period_s": day_s}, progress=progress)
        figures.append([_figures(result.summary) for result in results.values()])
    return [
        Replayed(system, figure, first[figure], second[figure])
        for system, first, second in zip(REPLAYED_ON, *figures, strict=True)
        for figure in first
    ]


def _figures(summary: dict[str, Any]) -> dict[str, float | None]:
    read, write = summary["response"]["read"], summary["response"]["write"]
    programs = summary["write_amplification"]
    return {
        "mean read, us": _us(read["mean_ns"]),
        "p99 of reads, us": _us(read["p99_ns"]),
        "mean write, us": _us(write["mean_ns"]),
        "flash programs, % of the pages written": None if programs is None else 100 * programs,
    }


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / 1e3
