"""Cheap settings: those that any candidate may take without more flash, dies or blocks.

Pure: a configuration in, keys and words out. Replays measure the gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.causes.case import Sets
from flashtwin.replays import caching
from flashtwin.results.keys import K
from flashtwin.results.trees import dig

#: Lanes of a hash unit that are tried.
LANES = (4, 16)
#: Allocations that are tried, the one that mostly is the best last.
PLACEMENTS = ("static", "dynamic", "least-loaded")


@dataclass(frozen=True)
class Level:
    """A setting: keys and values, in words, and the cost that no replay counts."""

    words: str
    sets: Sets
    takes: str = ""
    #: Whether a search tries it from the beginning; settings that rarely matter are tried on the best only.
    begins: bool = True


#: Levels that exclude one another; a system as it is has none of them.
Axis = tuple[Level, ...]


def axes(config: Mapping[str, Any]) -> tuple[Axis, ...]:
    """What may be set otherwise in a system, but for the write cache; of each axis the dearest level last.

    Whether it matters may hang on another: the view of the load does once pages go to the least loaded chip.
    """
    found = (tuple(axis(config)) for axis in (_lanes, _placement, _suspension, _load, _merging))
    return tuple(axis for axis in found if axis)


def write_cache(config: Mapping[str, Any]) -> Level | None:
    """The write cache that is tried; None where the system answers writes early as it is."""
    if caching.answers_early(config["engine"]):
        return None
    size = f"{caching.PAGES * int(config['nand']['page_bytes']) / 2**20:g} MiB"
    sets: Sets = {caching.KEY: caching.PAGES, caching.PROTECTED: True}
    return Level(f"a {size} write cache", sets, f"{size} of protected DRAM")


def _lanes(config: Mapping[str, Any]) -> Iterator[Level]:
    now = int(dig(config, K.engine.hash_lanes))
    # A pipeline (0 lanes) has none to add to.
    if now and dig(config, K.engine.hash_us):
        for lanes in LANES:
            if lanes > now:
                yield Level(f"{lanes} hash lanes", {K.engine.hash_lanes: lanes}, units.plural(lanes - now, "hash lane"))


def _placement(config: Mapping[str, Any]) -> Iterator[Level]:
    for policy in PLACEMENTS:
        if policy != dig(config, K.ftl.allocation.policy):
            yield Level(f"{policy} placement", {K.ftl.allocation.policy: policy})


def _suspension(config: Mapping[str, Any]) -> Iterator[Level]:
    if dig(config, K.engine.suspend) != "program-erase":
        yield Level("suspension", {K.engine.suspend: "program-erase"}, "chips that can suspend")


def _load(config: Mapping[str, Any]) -> Iterator[Level]:
    if dig(config, K.engine.load) != "expected-wait":
        yield Level("load by expected wait", {K.engine.load: "expected-wait"}, begins=False)


def _merging(config: Mapping[str, Any]) -> Iterator[Level]:
    if dig(config, K.engine.merge_reads) == "none":
        yield Level("merged reads", {K.engine.merge_reads: "same-page"}, begins=False)
