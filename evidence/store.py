"""Replays that are kept: each is made once for a core, a trace and a configuration, for all stages."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flashtwin as ft
from evidence import sources
from flashtwin import _core
from flashtwin.replays import aged
from flashtwin.replays.presets import System
from flashtwin.results import folder, schema
from flashtwin.results.trees import dig

#: Replays given to the core at one time: their results are in memory until the last is done.
BATCH = 24

#: Called with each step.
Say = Callable[[str], None]


@dataclass(frozen=True)
class KeptReplay:
    """A finished replay."""

    summary: Mapping[str, Any]

    def get(self, dotted: str) -> float | None:
        """A number of the summary by its dotted path; None where it is undefined."""
        value = dig(self.summary, schema.summary_field(dotted))
        return value if isinstance(value, int | float) else None


class Store:
    """A folder of replays, named by all that they depend on. A replay stands there whole or not at all."""

    def __init__(self, path: Path, say: Say = lambda _: None) -> None:
        self.path = path
        self.made = 0
        self._say = say
        self.begin()

    def begin(self) -> None:
        """A stage begins: replays left here by an earlier run of it are counted anew."""
        #: Seconds that the kept replays had taken; None once a kept replay does not say how long it took.
        self.saved_s: float | None = 0.0
        self._counted: set[str] = set()

    def replays(self, trace: ft.Trace, systems: Mapping[str, System]) -> dict[str, KeptReplay]:
        """Replays of a trace by the names of the systems; missing ones are made on all cores."""
        keys = {name: _key(trace.digest, system.config) for name, system in systems.items()}
        missing = {key: systems[name] for name, key in keys.items() if not self._place(key).is_file()}
        for first in range(0, len(missing), BATCH):
            self._say(f"{trace.name}: {len(missing) - first} replays to make")
            self._make(trace, dict(list(missing.items())[first : first + BATCH]))
        kept = {key: json.loads(self._place(key).read_text(encoding="utf-8")) for key in dict.fromkeys(keys.values())}
        for key in kept.keys() - missing.keys() - self._counted:
            seconds = kept[key].get("seconds")
            self.saved_s = None if seconds is None or self.saved_s is None else self.saved_s + seconds
        self._counted.update(kept)
        return {name: KeptReplay(kept[key]["summary"]) for name, key in keys.items()}

    def _make(self, trace: ft.Trace, systems: Mapping[str, System]) -> None:
        keys = list(systems)
        begun = last = time.monotonic()

        def keep(index: int, result: _core.RunResult) -> None:
            nonlocal last
            path = self._place(keys[index])
            path.parent.mkdir(parents=True, exist_ok=True)
            # Replays run side by side: what counts is the time since the one that ended before this one.
            before, last = last, time.monotonic()
            kept = {"seconds": round(last - before, 3), "summary": json.loads(result.summary_json)}
            folder.write_text(path, json.dumps(kept) + "\n")
            self.made += 1

        aged.run(trace, list(systems.values()), 0, _listen, keep)
        self._say(f"{trace.name}: {len(keys)} replays made, {time.monotonic() - begun:.0f} s")

    def _place(self, key: str) -> Path:
        return self.path / key[:2] / f"{key[2:34]}.json"


def _key(*parts: Any) -> str:
    """Names the input of a replay: the code that replays, the trace, the configuration.

    The code and not the library that was built of it, which is another one after each build.
    """
    text = json.dumps([sources.digest(sources.REPLAY), *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _listen(*_: int) -> None:
    """The core looks for Ctrl-C when it reports its progress."""
