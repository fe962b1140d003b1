"""The type of a stage: one question that is measured again as a whole, and the file that keeps its answer."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import flashtwin as ft
from evidence import sources
from evidence.places import DATA, ROOT, SCRATCH
from evidence.store import Say, Store
from flashtwin.results import folder

#: The traces that were recorded with all contents, by the names of their files.
CAPTURED = ("webvm", "mail", "homes", "trans")


class MissingTracesError(Exception):
    """Recorded traces that a stage needs are not here; the message names the cure."""


class Lab:
    """The tools of a stage: traces, kept replays, a place for slow results."""

    def __init__(
        self, captured: Path | None, say: Say, samples: Path | None = None, drives: Path | None = None
    ) -> None:
        self.say = say
        self.store = Store(SCRATCH / "replays", say)
        self.inputs: dict[str, str] = {}
        self._captured = captured
        self._samples = samples
        self._drives = drives
        self._open: dict[str, ft.Trace] = {}

    @property
    def captured(self) -> Path:
        """The folder of recorded traces.

        Raises:
            MissingTracesError: it was not named, or one of the traces is not there.
        """
        if self._captured is None:
            raise MissingTracesError("name the folder of recorded traces: --captured DIR, or FLASHTWIN_CAPTURED=DIR")
        for name in CAPTURED:
            if not (self._captured / f"{name}.fiu.zst").is_file():
                raise MissingTracesError(f"{self._captured} has no {name}.fiu.zst")
        return self._captured

    @property
    def samples(self) -> list[Path]:
        """The files of the folder of public traces.

        Raises:
            MissingTracesError: it was not named, or there is none in it.
        """
        if self._samples is None:
            raise MissingTracesError("name the folder of public traces: --samples DIR, or FLASHTWIN_SAMPLES=DIR")
        files = sorted(path for path in self._samples.glob("*") if path.is_file() and not path.name.startswith("."))
        if not files:
            raise MissingTracesError(f"{self._samples} has no traces")
        return files

    @property
    def measurements(self) -> Path:
        """The folder of measurements of drives.

        Raises:
            MissingTracesError: it was not named.
        """
        if self._drives is None:
            raise MissingTracesError("name the folder of measured drives: --drives DIR, or FLASHTWIN_DRIVES=DIR")
        return self._drives

    def trace(self, name: str) -> ft.Trace:
        """A recorded trace; the one before it is let go."""
        if name not in self._open:
            self._open = {name: ft.open(self.captured / f"{name}.fiu.zst")}
        return self.keep(self._open[name])

    def keep(self, trace: ft.Trace) -> ft.Trace:
        """Notes a trace among the inputs of the stage that is under way."""
        self.inputs[trace.name] = trace.digest
        return trace

    def scratch(self, name: str) -> Path:
        """A folder for results that are made a piece at a time."""
        path = SCRATCH / name
        path.mkdir(parents=True, exist_ok=True)
        return path


@dataclass(frozen=True)
class Stage:
    """A question, how it is measured, and whose code decides the answer."""

    name: str
    title: str
    measure: Callable[[Lab], Mapping[str, Any]]
    #: Files and folders whose code decides the result.
    code: tuple[str, ...] = (*sources.REPLAY, *sources.DRIVES)
    #: Makes a part again and returns its claims, where the replays behind the figures are not the lab's own.
    again: Callable[[Lab], list[dict[str, Any]]] | None = None

    @property
    def path(self) -> Path:
        """Where the answer stands."""
        return DATA / f"{self.name}.json"

    @property
    def digest(self) -> str:
        """The code as it is now: of the core, and of the stage itself."""
        own = inspect.getsourcefile(self.measure)
        return sources.digest((*self.code, *([os.path.relpath(own, ROOT)] if own else [])))

    def record(self) -> dict[str, Any] | None:
        """The answer as it stands, or None."""
        if not self.path.is_file():
            return None
        found: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return found

    def stale(self) -> bool:
        """Whether there is no answer, or one by other code than today's that today's has not confirmed."""
        record = self.record()
        if record is None:
            return True
        return self.digest not in (record["code"], record.get("confirmed", {}).get("code"))

    def run(self, lab: Lab) -> None:
        """Measures, and writes the answer whole or not at all."""
        lab.inputs, begun = {}, time.monotonic()
        lab.store.begin()
        found = self.measure(lab)
        took = time.monotonic() - begun
        record = {
            "stage": self.name,
            "title": self.title,
            "command": f"python -m evidence {self.name}",
            "flashtwin": folder.VERSION,
            "made": datetime.now(UTC).date().isoformat(),
            "code": self.digest,
            "traces": dict(sorted(lab.inputs.items())),
            # The replays that an interrupted run has left count as well: a stage of an hour is not one of 4 s.
            "wall_s": None if lab.store.saved_s is None else round(took + lab.store.saved_s),
            "data": found,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text(self.path, json.dumps(record, indent=1, sort_keys=False) + "\n")
