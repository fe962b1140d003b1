"""Finished runs as systems, traces and commands that make them again."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flashtwin.errors import ConfigError, FlashtwinError, ReportError, TraceError
from flashtwin.progress import Progress
from flashtwin.replays.presets import System, as_system, devices, system, systems
from flashtwin.replays.running import Result
from flashtwin.results import names
from flashtwin.results.ground import LABELS
from flashtwin.results.keys import matters
from flashtwin.results.reading import load, read_json
from flashtwin.results.shapes import misfit
from flashtwin.results.trees import leaves, literal
from flashtwin.traces.reading import Reading
from flashtwin.traces.scan import Replayable
from flashtwin.traces.trace import Trace
from flashtwin.traces.trace import open as open_trace

#: Keys that have an option of their own.
_OPTIONS = {
    "replay.speed": "--speed", "replay.queue_depth": "--queue-depth", "replay.content": "--content",
    "replay.period_s": "--period",
}  # fmt: skip


def _unlike(config: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """The keys of a configuration that are not as the preset has them, but for labels."""
    usual = dict(leaves(system(preset).config))
    found = {key: value for key, value in leaves(config) if usual.get(key) != value}
    device = found.pop("device", None)
    if device in devices() or Path(str(device)).is_file():
        # A device brings its numbers: keys with the device's own value need not be set.
        of_device = dict(leaves(system(preset, settings={"device": device}).config))
        found = {key: value for key, value in leaves(config) if key == "device" or of_device.get(key) != value}
    return {key: value for key, value in found.items() if key not in LABELS}


def system_of(name: str, config: Mapping[str, Any]) -> System:
    """The system of a run, from the configuration in its result; a ConfigError if this version cannot make it again."""
    preset = str(config.get("name"))
    base = preset if preset in systems() else "conventional"
    try:
        # All of them: with the same configuration, earlier replays are found again.
        made = as_system(base, _unlike(config, base))
    except ConfigError as error:
        raise ConfigError(f"run '{name}': its configuration cannot be made again ({error}); replay it anew") from None
    return replace(made, name=name)


def runs_of(path: Path, wanted: Sequence[str]) -> dict[str, Result]:
    """The runs of a result folder, or those asked for: the candidates, where there are some."""
    if (path / names.SUMMARY).is_file():
        return {path.name: Result.read(path)}
    found = {run.name: run.folder for run in load(path).at_their_best.runs}
    if missing := [name for name in wanted if name not in found]:
        raise ReportError(f"{path}: no run is called '{missing[0]}'; there are: {', '.join(found)}")
    return {name: Result.read(found[name]) for name in wanted or found}


def trace_of(path: Path, digest: str, given: str | Path | None, progress: Progress | None) -> Trace:
    """The trace that runs were made from: the file given, or the one that the folder names."""
    found = read_json(path / names.STUDY).get("source") if (path / names.STUDY).is_file() else None
    source = dict(found) if found and misfit(found, {"path": str}) is None else {}
    where = str(given) if given is not None else source.pop("path", None)
    source.pop("path", None)
    cure = f"name it: `flashtwin explain {path} --trace FILE`"
    if where is None or where == "-":
        raise TraceError(f"{path}: which file the trace was read from is not recorded; {cure}")
    if not Path(where).is_file():
        raise TraceError(f"{path}: its trace '{where}' is not there; {cure}")
    try:
        opened = open_trace(where, progress=progress, **({} if given is not None and not source else source))
    except FlashtwinError as error:
        raise TraceError(f"{path}: its trace cannot be read: {error}") from None
    if opened.digest != digest:
        other = f"another one than the runs were made from (digest {opened.digest}, not {digest})"
        raise TraceError(f"{path}: its trace '{where}' is {other}; {cure}, or study the trace anew")
    return opened


@dataclass(frozen=True)
class Command:
    """How a run is made again by hand: the trace and how it is read, the system, and the keys set otherwise."""

    trace: str
    #: The name of the run.
    name: str
    #: The preset or TOML file.
    system: str
    sets: Mapping[str, Any]

    def replay(self, more: Mapping[str, Any]) -> str:
        return self._line("flashtwin replay", {**self.sets, **more})

    def explain(self, rest: str) -> str:
        return f"{self._line('flashtwin explain', self.sets)} {rest}"

    def _line(self, verb: str, sets: Mapping[str, Any]) -> str:
        words = [verb, self.trace, "--system", shlex.quote(self.system)]
        for key, value in sets.items():
            text = repr(value) if isinstance(value, float) and not value.is_integer() else literal(value)
            text = f"{text}s" if key == "replay.period_s" else text
            option, text = (_OPTIONS[key], text) if key in _OPTIONS else ("--set", f"{key}={text}")
            words.append(f"{option} {shlex.quote(text)}")
        return " ".join(words)


def command_of(trace: Replayable, name: str, made: System) -> Command:
    how = dict(trace.source or {})
    path = str(how.pop("path", "TRACE"))
    preset = made.recipe[0]
    base = preset if preset in systems() or Path(preset).is_file() else str(made.config["name"])
    # A command needs no keys that do not matter.
    sets = {key: value for key, value in _unlike(made.config, base).items() if matters(key, made.config)}
    return Command(shlex.join([path, *Reading(**how).words]), name, base, sets)
