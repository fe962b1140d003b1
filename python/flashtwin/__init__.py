"""Real block traces, contents included, replayed on SSDs that deduplicate, replicate and redirect.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> trace.has_content
    True
    >>> "rr-ssd" in ft.systems()
    True

`open` reads a trace, `scan` leaves one larger than memory in its file, `characterize` measures its properties;
`replay` runs it on one system, `compare` on several, `sweep` over a grid of settings; `replicate` repeats a comparison
and gives intervals, `study` writes the whole report, `explain` finds a trace's bottleneck; `synthesize` makes a trace
from a recipe, `imitate` a recipe from a trace, `record` a trace from a live workload; `fit_drive` makes the twin of a
drive you own, `measure` its errors; `serve` is a drive that keeps real bytes, `Drive` one in virtual time;
`characterize_many` compares traces, `reproduce` re-runs published experiments. Errors are `FlashtwinError`s whose
message gives the fault, its place and the cure.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashtwin._core import __version__
    from flashtwin.causes.explaining import Explanation, Explanations, explain
    from flashtwin.characterization.measuring import Characterization, characterize, options_schema
    from flashtwin.drives.fit import DriveFit, MeasuredTwin, fit_drive, measure
    from flashtwin.errors import (
        ArgumentError,
        ConfigError,
        FlashtwinError,
        IgnoredKeyWarning,
        InternalError,
        LiveError,
        OutputError,
        ReportError,
        SimError,
        TraceError,
    )
    from flashtwin.judgement.verdict import Verdict
    from flashtwin.live.beside import compare_drive, drive_system
    from flashtwin.live.drives import check_drive, drive_info, serve
    from flashtwin.live.recording import Server, import_log, record, recover
    from flashtwin.papers.running import reproduce
    from flashtwin.policies.calling import DriveShape, PolicyTable
    from flashtwin.policies.registry import policy
    from flashtwin.recipes.imitation import Imitation, imitate
    from flashtwin.recipes.workloads import Workload, recipe_schema, synthesize, workload, workloads
    from flashtwin.replays.checking import PolicyCheck, check_policy
    from flashtwin.replays.presets import System, config_schema, device_toml, devices, system, system_toml, systems
    from flashtwin.replays.running import Comparison, Result, compare, replay
    from flashtwin.replays.virtual import Drive
    from flashtwin.studies import Study, study
    from flashtwin.sweeps.batch import Batch, characterize_many
    from flashtwin.sweeps.replicating import Replication, replicate
    from flashtwin.sweeps.sweeping import sweep
    from flashtwin.sweeps.swept import Sweep
    from flashtwin.traces.scan import Scan, scan
    from flashtwin.traces.splitting import split
    from flashtwin.traces.trace import Trace, merge, open  # noqa: A004 - `ft.open` is the name people expect

#: The room that each public name is at home in; no name is that of a room, which it would hide.
_ROOMS = {
    "flashtwin._core": ("__version__",),
    "flashtwin.causes.explaining": ("Explanation", "Explanations", "explain"),
    "flashtwin.characterization.measuring": ("Characterization", "characterize", "options_schema"),
    "flashtwin.drives.fit": ("DriveFit", "MeasuredTwin", "fit_drive", "measure"),
    "flashtwin.errors": (
        "ArgumentError", "ConfigError", "FlashtwinError", "IgnoredKeyWarning", "InternalError", "LiveError",
        "OutputError", "ReportError", "SimError", "TraceError",
    ),
    "flashtwin.judgement.verdict": ("Verdict",),
    "flashtwin.live.beside": ("compare_drive", "drive_system"),
    "flashtwin.live.drives": ("check_drive", "drive_info", "serve"),
    "flashtwin.live.recording": ("Server", "import_log", "record", "recover"),
    "flashtwin.papers.running": ("reproduce",),
    "flashtwin.policies.calling": ("DriveShape", "PolicyTable"),
    "flashtwin.replays.checking": ("PolicyCheck", "check_policy"),
    "flashtwin.policies.registry": ("policy",),
    "flashtwin.recipes.imitation": ("Imitation", "imitate"),
    "flashtwin.recipes.workloads": ("Workload", "recipe_schema", "synthesize", "workload", "workloads"),
    "flashtwin.replays.presets": (
        "System", "config_schema", "device_toml", "devices", "system", "system_toml", "systems",
    ),
    "flashtwin.replays.running": ("Comparison", "Result", "compare", "replay"),
    "flashtwin.replays.virtual": ("Drive",),
    "flashtwin.studies": ("Study", "study"),
    "flashtwin.sweeps.batch": ("Batch", "characterize_many"),
    "flashtwin.sweeps.replicating": ("Replication", "replicate"),
    "flashtwin.sweeps.sweeping": ("sweep",),
    "flashtwin.sweeps.swept": ("Sweep",),
    "flashtwin.traces.scan": ("Scan", "scan"),
    "flashtwin.traces.splitting": ("split",),
    "flashtwin.traces.trace": ("Trace", "merge", "open"),
}  # fmt: skip
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
#: Names of earlier versions, with those that took their place.
_RENAMED = {"fit": "imitate", "Fit": "Imitation"}

__all__ = [
    "ArgumentError",
    "Batch",
    "Characterization",
    "Comparison",
    "ConfigError",
    "Drive",
    "DriveFit",
    "DriveShape",
    "Explanation",
    "Explanations",
    "FlashtwinError",
    "IgnoredKeyWarning",
    "Imitation",
    "InternalError",
    "LiveError",
    "MeasuredTwin",
    "OutputError",
    "PolicyCheck",
    "PolicyTable",
    "Replication",
    "ReportError",
    "Result",
    "Scan",
    "Server",
    "SimError",
    "Study",
    "Sweep",
    "System",
    "Trace",
    "TraceError",
    "Verdict",
    "Workload",
    "__version__",
    "characterize",
    "characterize_many",
    "check_drive",
    "check_policy",
    "compare",
    "compare_drive",
    "config_schema",
    "device_toml",
    "devices",
    "drive_info",
    "drive_system",
    "explain",
    "fit_drive",
    "imitate",
    "import_log",
    "measure",
    "merge",
    "open",
    "options_schema",
    "policy",
    "recipe_schema",
    "record",
    "recover",
    "replay",
    "replicate",
    "reproduce",
    "scan",
    "serve",
    "split",
    "study",
    "sweep",
    "synthesize",
    "system",
    "system_toml",
    "systems",
    "workload",
    "workloads",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name, when it is first asked for."""
        if new := _RENAMED.get(name):
            from warnings import warn

            warn(f"flashtwin.{name} is called flashtwin.{new} now", DeprecationWarning, stacklevel=2)
            name = new
        room = _HOME.get(name)
        if room is None:
            raise AttributeError(f"module 'flashtwin' has no attribute '{name}'")
        from importlib import import_module

        found = getattr(import_module(room), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
