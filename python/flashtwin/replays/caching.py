"""The systems of a study with a write-back cache: what stands beside their answer.

A drive that answers a write from protected DRAM hides what a design does to writes. So a study makes each of its runs
once more with such a cache, beside the others, and keeps the figures in its folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashtwin.replays.presets import System
from flashtwin.replays.running import Result
from flashtwin.results import folder, names
from flashtwin.results.keys import K
from flashtwin.traces.scan import Replayable

#: The cache: 16 MiB of pages of 4 KiB. Ours.
PAGES = 4096
KEY = K.engine.write_cache_pages
#: Whether it survives a power cut: then a flush need not write it out.
PROTECTED = K.engine.write_cache_protected
#: Rules of `engine.write_completes` under which a write is answered before its page is programmed: the core has no
#: drive with a cache besides.
EARLY = ("hashed", "buffered")


def with_cache(systems: Mapping[str, System]) -> tuple[dict[str, System], dict[str, str]]:
    """The systems with the cache, by name; and of those that are left as they are, the reasons in a few words."""
    skipped = {name: reason for name, system in systems.items() if (reason := _answers_early(system.config["engine"]))}
    return {
        name: one.with_sets({KEY: PAGES, PROTECTED: True}) for name, one in systems.items() if name not in skipped
    }, skipped


def _answers_early(engine: Mapping[str, Any]) -> str:
    if engine["write_cache_pages"]:
        return f"has one of {engine['write_cache_pages']:,} pages already"
    if engine["write_completes"] in EARLY:
        return f"answers writes before they are programmed, `engine.write_completes = {engine['write_completes']}`"
    return ""


class CachedRuns:
    """The runs of a study with the cache: which of them are yet to be made, and what those that were made say."""

    def __init__(self, path: Path, trace: Replayable, systems: Mapping[str, System]) -> None:
        """What the folder holds of them is not made again: `explain` keeps the same replays there."""
        from flashtwin.causes.replaying import KeptFigures

        self._path, self._trace = path, trace
        self._systems, self._skipped = with_cache(systems)
        self._kept = KeptFigures.of(path)

    @property
    def missing(self) -> dict[str, System]:
        """Those that are yet to be made, by name."""
        # The trace's digest is asked for once there is something to compare it with: it may take a while.
        known = self._kept.figures
        return {name: one for name, one in self._systems.items() if not known or self._key(name) not in known}

    def keep(self, name: str, result: Result) -> None:
        """Adds a run that has ended."""
        from flashtwin.causes.replaying import base_figures

        self._kept.keep(self._key(name), base_figures(result))

    def leave_out(self, name: str, reason: str) -> None:
        """Gives up a run that cannot be made."""
        del self._systems[name]
        self._skipped[name] = reason

    def write(self) -> None:
        """Writes what the report tells: response times in ns by run, kind and statistic; bytes and reasons by run."""
        folder.write_json(
            self._path / names.WRITE_CACHE,
            {
                "pages": PAGES,
                "bytes": {name: PAGES * int(one.config["nand"]["page_bytes"]) for name, one in self._systems.items()},
                "response": {name: self._kept.figures[self._key(name)].response for name in self._systems},
                "skipped": self._skipped,
            },
        )

    def _key(self, name: str) -> str:
        return folder.run_key(self._trace.digest, self._systems[name].config)
