"""Finished runs in a folder as systems and traces that can be replayed again."""

from collections.abc import Mapping
from dataclasses import replace
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
from flashtwin.results.trees import leaves
from flashtwin.traces.trace import Trace
from flashtwin.traces.trace import open as open_trace


def set_otherwise(config: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """The keys that matter and are not as the preset (or the TOML file) has them: a command needs no others."""
    return {key: value for key, value in _unlike(config, preset).items() if matters(key, config)}


def _unlike(config: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """The keys of a configuration that are not as the preset has them, but for labels."""
    usual = dict(leaves(system(preset).config))
    found = {key: value for key, value in leaves(config) if usual.get(key) != value}
    if "device" in found and found["device"] in devices():
        # A device brings its numbers: keys with the device's own value need not be set.
        of_device = dict(leaves(system(preset, settings={"device": found["device"]}).config))
        found = {key: value for key, value in leaves(config) if key == "device" or of_device.get(key) != value}
    elif "device" in found:
        del found["device"]
    return {key: value for key, value in found.items() if key not in LABELS}


def system_of(name: str, config: Mapping[str, Any]) -> System:
    """The system that a run was made on, from the configuration in its result.

    Raises:
        ConfigError: this version of flashtwin cannot make it again.
    """
    preset = str(config.get("name"))
    base = preset if preset in systems() else "conventional"
    try:
        # All of them: with the same configuration, earlier replays are found again.
        made = as_system(base, _unlike(config, base))
    except ConfigError as error:
        raise ConfigError(f"run '{name}': its configuration cannot be made again ({error}); replay it anew") from None
    return replace(made, name=name)


def runs_of(path: Path, wanted: list[str] | None) -> dict[str, Result]:
    """The runs of a result folder, or those asked for: the candidates, where there are some.

    Raises:
        ReportError: there are none, or none of such a name.
    """
    if (path / names.SUMMARY).is_file():
        return {path.name: Result.read(path)}
    found = {run.name: run.folder for run in load(path).at_their_best.runs}
    missing = [name for name in wanted or [] if name not in found]
    if missing:
        raise ReportError(f"{path}: no run is called '{missing[0]}'; there are: {', '.join(found)}")
    return {name: Result.read(found[name]) for name in wanted or found}


def trace_of(path: Path, digest: str, given: str | Path | None, progress: Progress | None) -> Trace:
    """The trace that runs were made from: the file given, or the one that the folder names.

    Raises:
        TraceError: it is not known, not there any more, or another one by now; the message says how to name it.
    """
    source = dict(read_json(path / names.STUDY).get("source") or {}) if (path / names.STUDY).is_file() else {}
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
        raise TraceError(
            f"{path}: its trace '{where}' is another one than the runs were made from (digest {opened.digest}, not "
            f"{digest}); {cure}, or study the trace anew"
        )
    return opened
