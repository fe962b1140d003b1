"""Real block traces, contents included, replayed on SSDs that deduplicate, replicate and redirect.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> trace.has_content
    True
    >>> "rr-ssd" in ft.systems()
    True

`open` reads a trace, `characterize` measures what it is like, `replay` runs it on one system, `compare`
on several, `study` writes the whole report; `synthesize` makes a trace from a recipe;
`characterize_many` compares traces, `reproduce` measures what papers published. Errors are
`FlashtwinError`s whose message says what is wrong, where, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flashtwin._core import ConfigError, FlashtwinError, InternalError, SimError, TraceError, __version__
from flashtwin.advice import Advice
from flashtwin.batch import Batch, characterize_many
from flashtwin.characterization import Characterization, characterize, options_schema
from flashtwin.presets import System, config_schema, device_toml, devices, system, system_toml, systems
from flashtwin.replays import Comparison, Result, compare, replay
from flashtwin.reproduction import reproduce
from flashtwin.studies import Study, study
from flashtwin.trace import Trace, open  # noqa: A004 - `ft.open` is the name people expect
from flashtwin.workloads import Workload, recipe_schema, synthesize, workload, workloads

if TYPE_CHECKING:
    from flashtwin.fitting import Fit, fit

__all__ = [
    "Advice",
    "Batch",
    "Characterization",
    "Comparison",
    "ConfigError",
    "Fit",
    "FlashtwinError",
    "InternalError",
    "Result",
    "SimError",
    "Study",
    "System",
    "Trace",
    "TraceError",
    "Workload",
    "__version__",
    "characterize",
    "characterize_many",
    "compare",
    "config_schema",
    "device_toml",
    "devices",
    "fit",
    "open",
    "options_schema",
    "recipe_schema",
    "replay",
    "reproduce",
    "study",
    "synthesize",
    "system",
    "system_toml",
    "systems",
    "workload",
    "workloads",
]


def __getattr__(name: str) -> Any:
    """`fit` and `Fit`, when they are asked for: they need NumPy, for which nobody else need wait."""
    if name in ("Fit", "fit"):
        from flashtwin import fitting

        return getattr(fitting, name)
    raise AttributeError(f"module 'flashtwin' has no attribute '{name}'")
