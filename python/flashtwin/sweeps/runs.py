"""One run of a sweep, and its execution into the store, in this process or in a worker's."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flashtwin.errors import OutputError, SimError, TraceError
from flashtwin.policies import registry
from flashtwin.replays.presets import resolve_text
from flashtwin.replays.running import replay
from flashtwin.results import folder
from flashtwin.sweeps.crew import Task
from flashtwin.sweeps.store import Store
from flashtwin.traces import sources
from flashtwin.traces.reading import Source
from flashtwin.traces.scan import Replayable


@dataclass(frozen=True)
class RunTask(Task):
    """A trace on a system, to be replayed into a store unless it is there."""

    key: str
    store: str
    source: Source
    #: The system's name, its preset or file, and the keys set otherwise.
    name: str
    system: str
    sets: tuple[tuple[str, str], ...]
    keep_tables: bool

    #: A process that was killed took an innocent run with it, mostly.
    ATTEMPTS: ClassVar[int] = 3

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "policies": registry.shipped([text for _, text in self.sets])}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RunTask:
        registry.received(value.pop("policies"))
        source, sets = Source.from_json(value.pop("source")), tuple((key, text) for key, text in value.pop("sets"))
        return cls(**value, source=source, sets=sets)

    @property
    def place(self) -> str:
        return self.name

    @property
    def too_large(self) -> str:
        return f"{self.source.path}: does not fit into memory; use fewer --workers, or --stream"

    def lost(self, why: str) -> str:
        return (
            f"{self.name} on {self.source.path}: {self.ATTEMPTS} processes that replayed it ended ({why}), "
            "out of memory perhaps; use fewer --workers, or --stream"
        )

    def do(self) -> None:
        """Replays it into the store; a refusal is kept, too."""
        store = Store(self.store)
        # Somebody else, on another machine perhaps, may have made it by now.
        if store.has(self.key, tables=self.keep_tables):
            return
        trace = _traces.get(self.source)
        system = replace(resolve_text(self.system, self.sets), name=self.name)
        if folder.run_key(trace.digest, system.config) != self.key:
            raise OutputError(
                f"{self.source.path}: the trace, the system or flashtwin itself is not what it was when the sweep "
                "began; run the sweep again, with the same flashtwin on all machines"
            )
        try:
            # A step of progress is when a process hears that it is to end.
            result = replay(trace, system, progress=lambda *_: None)
        except (SimError, TraceError) as error:
            store.put_refusal(self.key, str(error))
            return
        store.put(self.key, result.summary, result._native if self.keep_tables else None)


class _Traces:
    """The traces read last, one copy for all threads of a process."""

    #: Runs come trace by trace; two, for where one ends and the next begins.
    LIMIT = 2

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._read: OrderedDict[tuple[Any, ...], Replayable] = OrderedDict()

    def get(self, source: Source) -> Replayable:
        """A trace, read at most once as long as its file stays the same."""
        key = (source, *sources.stamp(source.path))
        with self._guard:
            if key not in self._read:
                while len(self._read) >= self.LIMIT:
                    self._read.popitem(last=False)
                self._read[key] = source.replayable()
            self._read.move_to_end(key)
            return self._read[key]


_traces = _Traces()
