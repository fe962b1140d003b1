"""Response times of a run as attributes: `result.response.read.p99_ns`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class ResponseTimes:
    """Response times of the requests of one kind, from arrival to completion, in nanoseconds.

    Means and the standard deviation are floats, all else whole numbers. `p99_9_ns` is the 99.9th percentile. Without a
    request of the kind, and of results of a version that did not measure it, a figure is None.
    """

    count: int | None
    mean_ns: float | None
    stddev_ns: float | None
    min_ns: int | None
    max_ns: int | None
    p50_ns: int | None
    p90_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    p99_9_ns: int | None
    p99_99_ns: int | None

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> ResponseTimes:
        return cls(**{one.name: summary.get(one.name) for one in fields(cls)})


@dataclass(frozen=True)
class Responses:
    """Response times of a run by kind of request; paths are those of the summary, `response.read.p99_ns`."""

    read: ResponseTimes
    write: ResponseTimes
    flush: ResponseTimes
    all: ResponseTimes

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Responses:
        found = summary.get("response") or {}
        return cls(**{one.name: ResponseTimes.of(found.get(one.name) or {}) for one in fields(cls)})
