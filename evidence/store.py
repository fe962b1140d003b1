"""Replays that are kept: each is made once for a core, a trace and a configuration, whoever asks for it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flashtwin as ft
from evidence import sources
from flashtwin import _core, folder
from flashtwin.presets import System

#: Replays given to the core at one time: what they leave behind is in memory until the last is done.
BATCH = 24

#: Is told what is being done.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Kept:
    """A finished replay: its summary, the tables that were asked for, and what it took."""

    summary: Mapping[str, Any]
    tables: Mapping[str, list[dict[str, Any]]]
    cpu_s: float

    def get(self, dotted: str) -> float | None:
        """A number of the summary by its dotted path; None where it is undefined."""
        value: Any = self.summary
        for key in dotted.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, int | float) else None


class Store:
    """A folder of replays, named by all that they depend on. A replay stands there whole or not at all."""

    def __init__(self, path: Path, say: Say = lambda _: None) -> None:
        self.path = path
        self.made = 0
        #: Processor time of what was asked for, whether it was made now or before.
        self.cpu_s = 0.0
        self._say = say

    def replays(
        self, trace: ft.Trace, systems: Mapping[str, System], tables: Sequence[str] = ()
    ) -> dict[str, Kept]:  # fmt: skip
        """Replays of a trace by the names of the systems; what is not there yet is made on all cores."""
        keys = {name: _key(trace.digest, system.config) for name, system in systems.items()}
        found = {key: kept for key in set(keys.values()) if (kept := self._read(key, tables)) is not None}
        missing = {key: systems[name] for name, key in keys.items() if key not in found}
        for batch in _batches(list(missing.items())):
            self._say(f"{trace.name}: {len(missing)} replays to make")
            self._make(trace, dict(batch), tables)
            missing = {key: one for key, one in missing.items() if key not in dict(batch)}
        every = {key: found.get(key) or self._read(key, tables) for key in set(keys.values())}
        self.cpu_s += sum(kept.cpu_s for kept in every.values() if kept)
        return {name: kept for name, key in keys.items() if (kept := every[key]) is not None}

    def value(self, parts: Sequence[Any], make: Callable[[], Any]) -> Any:
        """Anything else that takes long and can be written as JSON, kept under what it depends on."""
        path = self._place(_key("value", *parts))
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            begun = _cpu_s()
            record = {"value": make(), "cpu_s": _cpu_s() - begun}
            self._write(path, record)
            self.made += 1
        self.cpu_s += record["cpu_s"]
        return record["value"]

    def _make(self, trace: ft.Trace, systems: Mapping[str, System], tables: Sequence[str]) -> None:
        keys, begun, wall = list(systems), _cpu_s(), time.monotonic()

        def keep(index: int, result: _core.RunResult) -> None:
            import pyarrow

            record = {
                "summary": json.loads(result.summary_json),
                "tables": {name: pyarrow.table(result.table(name)).to_pylist() for name in tables},
                # Runs side by side cannot be told apart; a batch's time is shared out when it is over.
                "cpu_s": None,
            }
            self._write(self._place(keys[index]), record)
            self.made += 1

        _core.run(trace.native, [system._resolved for system in systems.values()], 0, _listen, keep)
        each_s = (_cpu_s() - begun) / len(keys)
        for key in keys:
            record = json.loads(self._place(key).read_text(encoding="utf-8"))
            self._write(self._place(key), {**record, "cpu_s": each_s})
        self._say(f"{trace.name}: {len(keys)} replays made, {time.monotonic() - wall:.0f} s")

    def _read(self, key: str, tables: Sequence[str]) -> Kept | None:
        try:
            record = json.loads(self._place(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not set(tables) <= record["tables"].keys():
            return None
        return Kept(record["summary"], record["tables"], record["cpu_s"] or 0.0)

    def _place(self, key: str) -> Path:
        return self.path / key[:2] / f"{key[2:34]}.json"

    def _write(self, path: Path, record: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text(path, json.dumps(record) + "\n")


def _key(*parts: Any) -> str:
    """Names what a replay's result depends on: the code that replays, the trace, the configuration.

    The code and not the library that was built of it, which is another one after each build.
    """
    text = json.dumps([sources.digest(sources.REPLAY), *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _listen(*_: int) -> None:
    """The core looks for Ctrl-C when it reports its progress."""


def _batches(work: list[tuple[str, System]]) -> Iterator[list[tuple[str, System]]]:
    for first in range(0, len(work), BATCH):
        yield work[first : first + BATCH]


def _cpu_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
