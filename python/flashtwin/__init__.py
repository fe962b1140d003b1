"""Real block traces, contents included, replayed on SSDs that deduplicate, replicate and redirect.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> trace.has_content
    True
    >>> "rr-ssd" in ft.systems()
    True

`open` reads a trace, `replay` runs it on one system, `compare` on several, `study` writes the whole
report. Errors are `FlashtwinError`s whose message says what is wrong, where, and what to do.
"""

from flashtwin._core import ConfigError, FlashtwinError, InternalError, SimError, TraceError, __version__
from flashtwin.presets import System, config_schema, device_toml, devices, system, system_toml, systems
from flashtwin.replays import Comparison, Result, compare, replay
from flashtwin.studies import Study, study
from flashtwin.trace import Trace, open  # noqa: A004 - `ft.open` is the name people expect

__all__ = [
    "Comparison",
    "ConfigError",
    "FlashtwinError",
    "InternalError",
    "Result",
    "SimError",
    "Study",
    "System",
    "Trace",
    "TraceError",
    "__version__",
    "compare",
    "config_schema",
    "device_toml",
    "devices",
    "open",
    "replay",
    "study",
    "system",
    "system_toml",
    "systems",
]
