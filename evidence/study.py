"""A study: one question, the command that answers it, and the record that keeps the figures of the pages."""

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import flashtwin as ft
from evidence import code
from evidence.code import ROOT
from flashtwin import _core
from flashtwin.progress import Notify
from flashtwin.replays import aged
from flashtwin.replays.presets import System
from flashtwin.results import folder, schema
from flashtwin.results.trees import dig
from flashtwin.sweeps.store import Store

RECORDS = ROOT / "docs" / "evidence"
#: The full data of the studies. A release carries them, the repository does not.
DATA = ROOT / "evidence" / "data"
#: Every replay, so that an interrupted study goes on. You may delete it at any time.
SCRATCH = ROOT / "out" / "evidence"
#: The traces that were recorded with all contents, by the names of their files.
CAPTURED = ("webvm", "mail", "homes", "trans")
#: A day of a server of FIU, as far as a public sample goes. No statement of ours was made by looking at it.
FIU_DAY = "fiu_mail-01_day1_first10007.blkparse.zst"
#: Folders that a study may need, each an option of the command.
INPUTS = {"captured": "the recorded traces", "samples": "public traces", "drives": "measurements of drives"}
#: Replays given to the core at one time. Their results are in memory until the last is done.
BATCH = 48

KEPT = ("flashtwin", "made", "code", "traces", "wall_s", "note")

Data = Mapping[str, Any]


class MissingInputError(Exception):
    """A study needs something that is not here. The message names the cure."""


@dataclass(frozen=True)
class Replay:
    summary: Mapping[str, Any]

    def get(self, dotted: str) -> float | None:
        """A number of the summary by its dotted path. None if it is undefined."""
        value = dig(self.summary, schema.summary_field(dotted))
        return value if isinstance(value, int | float) else None


class Lab:
    """The tools of a study: input folders, replays, a place for slow results."""

    def __init__(self, folders: Mapping[str, Path | None], say: Notify) -> None:
        self.say = say
        self.traces: dict[str, str] = {}
        #: Whether a replay of an earlier, interrupted run was used again.
        self.reused = False
        #: Keys of the replays of this run.
        self._made: set[str] = set()
        self._folders = folders
        self._store = Store(SCRATCH / "replays")

    def folder(self, kind: str) -> Path:
        found = self._folders.get(kind)
        if found is None:
            raise MissingInputError(f"name the folder of {INPUTS[kind]}: --{kind} DIR, or FLASHTWIN_{kind.upper()}=DIR")
        return found

    def trace(self, name: str, to_s: float | None = None) -> ft.Trace:
        """A recorded trace, or its first seconds."""
        path = self.folder("captured") / f"{name}.fiu.zst"
        if not path.is_file():
            raise MissingInputError(f"{path.parent} has no {path.name}")
        return self.note(ft.open(path, to_s=to_s))

    def others(self, scale: float, names: Sequence[str] = ()) -> Iterator[tuple[str, ft.Trace]]:
        """Traces that no statement was made by: a public day, and all or some workloads that the papers describe."""
        if not names:
            path = self.folder("samples") / FIU_DAY
            if not path.is_file():
                raise MissingInputError(f"{path.parent} has no {path.name}")
            yield "FIU mail, a day", self.note(ft.open(path))
        for name in names or ft.workloads():
            yield name, self.note(ft.synthesize(name, scale))

    def note(self, trace: ft.Trace) -> ft.Trace:
        self.traces[trace.name] = trace.digest
        return trace

    def scratch(self, name: str) -> Path:
        path = SCRATCH / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def linked(self, name: str, files: Mapping[str, Path]) -> Path:
        """A folder with links to these files and nothing else."""
        place = self.scratch(name)
        for link in place.iterdir():
            link.unlink()
        for file, target in files.items():
            (place / file).symlink_to(target.resolve())
        return place

    def replays(self, trace: ft.Trace, systems: Mapping[str, System]) -> dict[str, Replay]:
        """Replays of a trace by the names of the systems. Missing ones are made on all cores."""
        keys = {name: _key(trace, system) for name, system in systems.items()}
        missing = {key: systems[name] for name, key in keys.items() if not self._store.has(key)}
        self.reused |= not set(keys.values()) - missing.keys() <= self._made
        keyed = list(missing.items())
        for first in range(0, len(keyed), BATCH):
            self.say(f"{trace.name}: {len(keyed) - first} replays to make")
            self._make(trace, dict(keyed[first : first + BATCH]))
        entries = {name: self._store.get(key) for name, key in keys.items()}
        return {name: Replay(entry.summary or {}) for name, entry in entries.items() if entry is not None}

    def _make(self, trace: ft.Trace, systems: Mapping[str, System]) -> None:
        keys = list(systems)

        def keep(at: int, result: _core.RunResult) -> None:
            self._store.put(keys[at], json.loads(result.summary_json))
            self._made.add(keys[at])

        aged.run(trace, list(systems.values()), 0, lambda *_: None, keep)


def _key(trace: ft.Trace, system: System) -> str:
    """Names the input of a replay: the code that replays (not the library built of it), trace, configuration."""
    text = json.dumps([code.digest(code.REPLAY), trace.digest, system.config], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Study:
    """A question, its measurement, and the code that decides the answer."""

    name: str
    title: str
    measure: Callable[[Lab], Data]
    #: The figures of the pages, from the full data.
    figures: Callable[[Data], Data] = dict
    #: Files and folders whose code decides the result, beside the study's own file.
    code: tuple[str, ...] = code.REPLAY
    #: Other files by their place, such as drawings, from the full data.
    files: Callable[[Data], Mapping[Path, str]] = lambda _: {}
    #: Folders and programs that it needs, in words.
    needs: str = "`--captured DIR`"

    @property
    def command(self) -> str:
        return f"python -m evidence {self.name}"

    @property
    def path(self) -> Path:
        return RECORDS / f"{self.name}.json"

    @property
    def digest(self) -> str:
        own = inspect.getsourcefile(self.measure)
        return code.digest((*self.code, *([os.path.relpath(own, ROOT)] if own else [])))

    def record(self) -> dict[str, Any] | None:
        """The record, or None if the study was never made."""
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.is_file() else None

    def is_stale(self) -> bool:
        """Whether there is no record, or one by other code than today's."""
        record = self.record()
        return record is None or record["code"] != self.digest

    def run(self, lab: Lab) -> None:
        lab.traces, lab.reused, begun = {}, False, time.monotonic()
        # The code that is there now measures, whatever is edited meanwhile.
        digest = self.digest
        data = self.measure(lab)
        took = None if lab.reused else round(time.monotonic() - begun)
        self.keep(data, {
            "flashtwin": folder.VERSION, "made": datetime.now(UTC).date().isoformat(), "code": digest,
            "traces": dict(sorted(lab.traces.items())), "wall_s": took,
        })  # fmt: skip

    def keep(self, data: Data, made: Data) -> None:
        """Writes data, other files and record, each whole or not at all."""
        text = json.dumps(data)
        DATA.mkdir(parents=True, exist_ok=True)
        folder.write_text(DATA / f"{self.name}.json", text)
        for path, other in self.files(data).items():
            folder.write_text(path, other)
        record = {
            "study": self.name, "title": self.title, "command": self.command, **made,
            "data": hashlib.sha256(text.encode()).hexdigest()[:16], "figures": self.figures(data),
        }  # fmt: skip
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text(self.path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")

    def summarize(self) -> bool:
        """Makes the record and other files again after a change of `figures`; False if the data are not here."""
        record, data = self.record(), DATA / f"{self.name}.json"
        if record is None or not data.is_file():
            return False
        made = {key: value for key, value in record.items() if key in KEPT}
        self.keep(json.loads(data.read_text(encoding="utf-8")), made)
        return True
