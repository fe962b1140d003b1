"""Made-up response times for the report's tests: parts, latencies, histograms and wait ledgers that fit together."""

from __future__ import annotations

from typing import Any

import numpy as np

WAITS = ("queueing", "channel_wait", "hash_wait", "other_wait")
SERVICE = ("hash", "transfer", "flash", "controller")
#: Means in µs by part of the response time.
Parts = dict[str, float]

#: What waits are charged to in the ledger, with the share of each.
CHARGES = {
    "queueing": {"host_read": 0.3, "host_program": 0.5, "gc_program": 0.15, "erase": 0.05},
    "channel_wait": {"channel": 1.0},
    "hash_wait": {"hash_queue": 1.0},
    "other_wait": {"tables": 1.0},
}
#: Charges in the core's order, with their parts.
ORDER = (
    *((charge, "unit") for charge in (
        "host_read", "host_program", "gc_read", "gc_program", "erase", "copy", "table_page", "comparison", "order",
        "suspension",
    )),
    ("channel", "channel"), ("hash_queue", "hash unit"), ("tables", "tables"), ("page_program", "page"),
    ("cache_place", "write cache"), ("earlier_writes", "writes"),
    *((charge, "service") for charge in SERVICE),
)  # fmt: skip


#: The slowest that are looked at by themselves.
SLICES = {"slowest_1_percent": 0.01, "slowest_0_1_percent": 0.001}


def us(queueing: float, **others: float) -> Parts:
    """All parts; those that are not given are none."""
    return {**dict.fromkeys((*WAITS, *SERVICE), 0.0), "queueing": queueing, **others}


def reads(queueing: float, **others: float) -> Parts:
    """A read on the RR-SSD device."""
    return us(queueing, **{"channel_wait": 2.0, "transfer": 4.0, "flash": 75.0, "controller": 1.0, **others})


def writes(queueing: float, **others: float) -> Parts:
    """A write that is programmed."""
    return us(queueing, **{"channel_wait": 3.0, "transfer": 5.0, "flash": 400.0, "controller": 1.0, **others})


def deduplicated(queueing: float, **others: float) -> Parts:
    """A write that is hashed, and seldom programmed."""
    return writes(queueing, **{"flash": 160.0, "transfer": 2.0, "hash_wait": 60.0, "hash": 12.0, **others})


def mixed(first: Parts, second: Parts, shares: np.ndarray) -> Parts:
    """The parts of two kinds of requests together."""
    return {key: float(np.dot(shares, (first[key], second[key]))) for key in first}


def _varying(parts: Parts) -> str:
    """The wait that makes slow requests slow."""
    return max(WAITS, key=lambda key: parts[key])


def latencies(parts: Parts, count: int, random: np.random.Generator) -> np.ndarray:
    """Response times in ns with one skewed wait and the other parts fixed."""
    varying = parts[_varying(parts)]
    wait = random.lognormal(0.0, 1.3, count) / np.exp(1.3**2 / 2) * varying if count else np.zeros(0)
    return np.round((wait + sum(parts.values()) - varying) * 1000).astype(np.int64)


def _split(values: np.ndarray, parts: Parts) -> dict[str, float | None]:
    """The parts in ns, so that they sum to the mean of the values."""
    if values.size == 0:
        return dict.fromkeys(parts)
    varying = _varying(parts)
    fixed = {key: value * 1000.0 for key, value in parts.items() if key != varying}
    return {key: fixed.get(key, float(values.mean()) - sum(fixed.values())) for key in parts}


def response(values: np.ndarray, parts: Parts) -> dict[str, Any]:
    """One kind of request as the summary has it."""
    split = {f"{key}_ns": value for key, value in _split(values, parts).items()}
    shares = {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "99_9": 0.999, "99_99": 0.9999}
    if values.size == 0:
        undefined = ("mean_ns", "stddev_ns", "min_ns", "max_ns", *(f"p{label}_ns" for label in shares))
        return {"count": 0, **dict.fromkeys(undefined), "split": split}
    return {
        "count": int(values.size),
        "mean_ns": float(values.mean()),
        "stddev_ns": float(values.std()),
        "min_ns": int(values.min()),
        "max_ns": int(values.max()),
        **{f"p{label}_ns": int(np.quantile(values, share)) for label, share in shares.items()},
        "split": split,
    }


def histogram(latencies: dict[str, np.ndarray]) -> dict[str, Any]:
    """The table `latency_histogram`."""
    kinds: list[str] = []
    upper: list[int] = []
    count: list[int] = []
    for kind, values in latencies.items():
        if values.size == 0:
            continue
        # Buckets about 1 % wide, as an HDR histogram with two digits has them.
        edge = np.ceil(1.01 ** np.ceil(np.log(np.maximum(values, 1)) / np.log(1.01))).astype(np.int64)
        bucket, number = np.unique(edge, return_counts=True)
        kinds += [kind] * bucket.size
        upper += bucket.tolist()
        count += number.tolist()
    return {"kind": kinds, "upper_ns": upper, "count": count}


def wait_ledger(latencies: dict[str, np.ndarray], parts: dict[str, Parts]) -> dict[str, Any]:
    """The table `wait_ledger`: of all requests, and of the slowest."""
    rows = [
        (kind, requests, slowest.size, int(slowest.min()) if slowest.size else 0, part, charge, mean, percent)
        for kind, values in latencies.items()
        for requests, share in (("all", 1.0), ("slowest_1_percent", 0.01), ("slowest_0_1_percent", 0.001))
        for slowest in [np.sort(values)[values.size - int(np.ceil(values.size * share)) :]]
        for charge, part, mean, percent in _charges(_split(slowest, parts[kind]))
    ]
    names = ("kind", "requests", "count", "from_ns", "part", "charge", "mean_ns", "percent")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def over_time(
    latencies: dict[str, np.ndarray], parts: dict[str, Parts], bursts: np.ndarray, width: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tables `response_over_time` and `slowest_over_time`: what is slow comes in bursts."""
    moments, slow = [], []
    for kind in ("read", "write"):
        values = np.sort(latencies[kind])
        # Slower requests fall into busier buckets, but for every other one, which falls anywhere.
        share = np.arange(values.size) / max(values.size, 1)
        busiest = np.argsort(bursts, kind="stable")
        bucket = busiest[(np.where(np.arange(values.size) % 2, share, share[::-1]) * bursts.size).astype(int)]
        slices = {name: values.size - int(np.ceil(values.size * part)) for name, part in SLICES.items()}
        for at in range(bursts.size if values.size else 0):
            mine = values[bucket == at]
            places = np.flatnonzero(bucket == at)
            counts = {name: float((places >= first).sum()) for name, first in slices.items()}
            stats = (mine.mean(), int(np.quantile(mine, 0.99)), int(mine.max())) if mine.size else (None,) * 3
            moments.append((kind, at * width, width, int(mine.size), *stats, *counts.values()))
            for name, first in slices.items():
                slowest = values[places[places >= first]]
                slow += [
                    (kind, name, at * width, counts[name], part, charge, mean * slowest.size)
                    for charge, part, mean, _ in _charges(_split(slowest, parts[kind])) if mean
                ]  # fmt: skip
    of_moments = ("kind", "start_ns", "width_ns", "count", "mean_ns", "p99_ns", "max_ns", *SLICES)
    of_slow = ("kind", "requests", "start_ns", "count", "part", "charge", "sum_ns")
    return _columns(of_moments, moments), _columns(of_slow, slow)


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _charges(split: dict[str, float | None]) -> list[tuple[str, str, float | None, float | None]]:
    if None in split.values():
        return [(charge, part, None, None) for charge, part in ORDER]
    known = {key: value or 0.0 for key, value in split.items()}
    means = {key: known[key] for key in SERVICE}
    for wait, charges in CHARGES.items():
        means |= {charge: known[wait] * share for charge, share in charges.items()}
    total = sum(known.values())
    return [(charge, part, means.get(charge, 0.0), means.get(charge, 0.0) / total * 100.0) for charge, part in ORDER]
