"""Replays into a result folder: each run is written as it finishes, and one that is there already is not made again."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from flashtwin import _core
from flashtwin.errors import ReportError
from flashtwin.progress import Notify, Progress, numbered
from flashtwin.replays import aged
from flashtwin.replays.presets import System
from flashtwin.replays.running import what_else_differs
from flashtwin.replays.timelines import Timeline
from flashtwin.results import earlier, folder, names
from flashtwin.results.keys import traits
from flashtwin.results.reading import load, read_arrow
from flashtwin.traces.scan import Replayable, Scan, prepare

#: The systems of a study unless others are asked for; the first is the baseline.
SYSTEMS = ("conventional", "ca-ssd", "rr-ssd", "oracle")


class _Contents(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def has_content(self) -> bool: ...


def without_contents(
    trace: _Contents, systems: Mapping[str, System], notify: Notify | None = None
) -> Mapping[str, System]:
    """Of the systems, those that can replay a trace: where it has no contents, those that do not look at them.

    All of them where none would be left: the core's message then says what to do.
    """
    needs = [
        name for name, system in systems.items()
        if system.config["replay"]["content"] == "recorded" and "looks-at-contents" in traits(system.config)
    ]  # fmt: skip
    if trace.has_content or not needs or len(needs) == len(systems):
        return systems
    if notify:
        notify(
            f"{trace.name} has no contents, which {', '.join(needs)} look at: only what does not is replayed "
            "(--content unique, or zipf(A,N), makes contents up)"
        )
    return {name: system for name, system in systems.items() if name not in needs}


def replay_into(
    path: Path,
    trace: Replayable,
    systems: Mapping[str, System],
    threads: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
    *,
    equal_ground: bool = False,
    per_request: bool = False,
    timeline: Timeline | None = None,
) -> None:
    """Makes the runs that the folder does not hold yet, writing each as it finishes, then what makes them a study.

    A timeline is that of the first system, whose run is made again for it.
    """
    prepare(trace, [system._resolved for system in systems.values()], progress)

    @cache
    def key(name: str) -> str:
        # Asked for once there is something to compare it with: until the trace has been cut, its digest takes a while.
        return folder.run_key(trace.digest, systems[name].config)

    if earlier.holds_any(path):
        _bring_back(path, trace, systems, key, notify)
    finished = folder.finished_runs(path)
    missing = [
        name for name in systems
        if timeline is not None
        or name not in finished or finished[name] != key(name) or (per_request and not folder.has_requests(path, name))
        or not _can_be_read(names.run(path, name))
    ]  # fmt: skip
    kept = [name for name in systems if name not in missing]
    if kept and notify:
        notify(f"reusing {', '.join(kept)} from {path}: same trace, same configuration")

    def write(index: int, result: _core.RunResult) -> None:
        name = missing[index]
        is_kept = _can_be_read(names.run(path, name))
        label = earlier.keep(path, name, _summary_of(systems[name], trace)) if is_kept else None
        if label is not None and notify:
            notify(
                f"{name} was there with other settings; kept as {path / names.EARLIER / label} "
                f"(flashtwin compare {path} {path / names.EARLIER})"
            )
        folder.forget_run(path, name)
        folder.write_run(path, name, result)
        folder.record_run(path, name, key(name))

    if missing:
        requests = [folder.requests_part(path, name) for name in missing] if per_request else None
        aged.run(
            trace, [systems[name] for name in missing], threads, numbered(progress, missing), write, requests,
            informed=True, timeline=timeline,
        )  # fmt: skip
    configs = {name: system.config for name, system in systems.items()}
    more = {**what_else_differs(configs, equal_ground=equal_ground), "source": trace.source}
    info = trace.informed(progress) if isinstance(trace, Scan) else trace.info
    folder.write_study(path, info, list(systems), more)


def _can_be_read(run: Path) -> bool:
    """Whether readers take what stands there, because their messages ask to make it again.

    Requests one by one are not looked at: they may be larger than the memory.
    """
    try:
        load(run)
        for name, file in names.tables(run).items():
            if name != names.REQUESTS:
                read_arrow(file)
    except ReportError:
        return False
    return True


def _summary_of(system: System, trace: Replayable) -> dict[str, Any]:
    return {"flashtwin": folder.VERSION, "config": system.config, "trace": {"name": trace.name, "digest": trace.digest}}


def _bring_back(
    path: Path, trace: Replayable, systems: Mapping[str, System], key: Callable[[str], str], notify: Notify | None
) -> None:
    """Moves runs that the folder holds to the earlier ones, under their own names."""
    finished = folder.finished_runs(path)
    for name, system in systems.items():
        if finished.get(name) == key(name):
            continue
        label = earlier.restore(path, name, key(name), _summary_of(system, trace))
        if label is not None and notify:
            notify(f"{path / names.EARLIER / label}: asked for again, is {names.run(path, name)} now")
