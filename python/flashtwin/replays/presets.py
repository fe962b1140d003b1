"""Systems and devices: the presets, and systems with some keys changed."""

from __future__ import annotations

import inspect
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, ConfigError, IgnoredKeyWarning
from flashtwin.results.documents import json_object
from flashtwin.results.keys import K, ignored_because, whole_key
from flashtwin.settings import Value, merged, texts

#: When a drive answers a write: its page is programmed, hashed (RR-SSD paper, III.A), or in RAM.
ACKNOWLEDGEMENTS = ("programmed", "hashed", "buffered")


def systems() -> list[str]:
    """Names of the systems that come with flashtwin.

    >>> import flashtwin as ft
    >>> "conventional" in ft.systems()
    True
    """
    return _core.systems()


def devices() -> list[str]:
    """Names of the NAND devices that come with flashtwin.

    >>> import flashtwin as ft
    >>> "rr-ssd" in ft.devices()
    True
    """
    return _core.devices()


@checked
def system_toml(name: str) -> str:
    """The preset of a system: the policies it is made of, as TOML.

    >>> import flashtwin as ft
    >>> "[ftl" in ft.system_toml("rr-ssd")
    True
    """
    return _core.system_toml(name)


@checked
def device_toml(name: str) -> str:
    """A NAND device, by name or TOML file: geometry, timing and where the numbers come from, as TOML.

    >>> import flashtwin as ft
    >>> "read_us" in ft.device_toml("rr-ssd")
    True
    """
    return _core.device_toml(name)


def config_schema() -> dict[str, Any]:
    """The JSON schema of the whole configuration; descriptions carry units and sources.

    >>> import flashtwin as ft
    >>> "nand" in ft.config_schema()["properties"]
    True
    """
    return json_object(_core.config_schema())


@checked
@dataclass(frozen=True)
class System:
    """A complete SSD design under test, with every key decided and checked. Made by `system`.

    You can change any key, for example the capacity:

    >>> import flashtwin as ft
    >>> system = ft.system("rr-ssd", settings={"nand.blocks_per_plane": 64})
    >>> system.config["nand"]["blocks_per_plane"]
    64
    """

    EXPECTED = "what `ft.system` returned"

    #: As its results are called: the preset's, or what `name` is in its file; of a file without one, the file's.
    name: str
    _resolved: _core.Resolved = field(repr=False)
    #: Its origin: a preset or a file, and the keys set otherwise, as text.
    _made_from: tuple[str, tuple[tuple[str, str], ...]] = field(repr=False)

    @cached_property
    def config(self) -> dict[str, Any]:
        """Every key with its value, nested as in TOML."""
        return json_object(self._resolved.json)

    @property
    def period_s(self) -> float:
        """Length of a period in seconds of the trace's own clock."""
        return float(self.config["replay"]["period_s"])

    @property
    def planes(self) -> int:
        """Planes of the drive."""
        levels = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
        return math.prod(int(self.config["nand"][level]) for level in levels)

    @property
    def raw_pages(self) -> int:
        """Pages of the whole flash array, with those that the controller keeps back."""
        nand = self.config["nand"]
        return self.planes * int(nand["blocks_per_plane"]) * int(nand["pages_per_block"])

    @property
    def capacity_pages(self) -> int:
        """Logical pages that the drive holds: those of all blocks but the ones that the controller keeps back."""
        return self._resolved.capacity_pages

    @property
    def toml(self) -> str:
        """Every key with its value, unit, description and source, as TOML that can be edited and read back."""
        return self._resolved.toml

    def __reduce__(self) -> tuple[Any, ...]:
        # The core's object stays in its process: the same preset or file and keys make it again.
        return _again, (self.name, *self._made_from)

    def with_sets(self, sets: Mapping[str, Value]) -> System:
        """The same system under the same name with more keys set otherwise; keys are whole dotted ones."""
        return self.with_texts(texts(sets))

    def with_texts(self, sets: Sequence[tuple[str, str]]) -> System:
        """The same with values as text, as `resolve_text` takes them."""
        if not sets:
            return self
        name, before = self._made_from
        return replace(resolve_text(name, [*before, *sets]), name=self.name)

    @property
    def recipe(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What makes it again in another process: its preset or file, and the keys set otherwise, as text."""
        return self._made_from


@checked
def system(name: str | Path, /, *, settings: Mapping[str, Value] | None = None, **sets: Value) -> System:
    """A system, by the name of a preset or the path of a TOML file, with some keys set otherwise.

    A key is any dotted ending that names one key of the configuration.

    Args:
        name: a name of `systems()`, or a path ending in `.toml`.
        settings: keys and values, dotted ones as they are: `{"replication.alpha": 0.2}`.
        **sets: the same as keywords.

    Raises:
        ConfigError: the system or a key is not known (the message names the nearest), or a value is wrong.

    >>> import flashtwin as ft
    >>> ft.system("rr-ssd", settings={"replication.alpha": 0.2}).name
    'rr-ssd'
    """
    keys = merged(settings, sets)
    made = as_system(name, keys)
    warn_of_ignored([(made.name, made)], keys)
    return made


#: One system or several, as arguments name or hold them.
Systems = str | Path | System | Sequence[str | Path | System] | Mapping[str, str | Path | System]


def warn_of_ignored(systems: Iterable[tuple[str, System]], keys: Iterable[str], *, by_all: bool = False) -> None:
    """Warns of each key that was set and that a system (`by_all`: all of them) does not look at, with the reason.

    Of a system that comes several times, with other settings, none of them looks at it. Contents are the trace's, so
    that setting them for systems that ignore contents is no mistake.
    """
    systems = list(systems)
    for key in dict.fromkeys(key for key in map(whole_key, keys) if key != K.replay.content):
        causes: dict[str, str | None] = {}
        for name, system in systems:
            cause = ignored_because(key, system.config)
            causes[name] = cause and causes.get(name, cause)
        by_cause = defaultdict(list)
        for name, cause in causes.items():
            by_cause[cause].append(name)
        parts = [f"by {', '.join(names)}, because {cause}" for cause, names in by_cause.items() if cause]
        if parts and not (by_all and None in by_cause):
            frames = enumerate(inspect.stack(0), start=1)
            outside = (at for at, one in frames if not one.frame.f_globals["__name__"].startswith("flashtwin"))
            text = f"{key} is not looked at {'; '.join(parts)}"
            warnings.warn(text, IgnoredKeyWarning, stacklevel=next(outside, 1))


def checked_name(name: str | Path) -> str:
    """The name of a preset or the path of a TOML file, as the core takes it."""
    if not isinstance(name, str | Path):
        raise ArgumentError(
            f"a system is the name of a preset or the path of a TOML file, not of type {type(name).__name__}"
        )
    return str(name)


def resolve_text(name: str, sets: Sequence[tuple[str, str]]) -> System:
    """Like `system`, with values as text: TOML literals or bare words, as `--set` takes them."""
    resolved = _core.resolve(name, list(sets))
    return System(str(json_object(resolved.json)["name"]), resolved, (name, tuple(sets)))


def refusal(system: System, sets: Mapping[str, Value]) -> str:
    """Why a system cannot have these keys, in the core's words; empty where it can. Keys are whole dotted ones.

    For example `programmed` on a drive that programs 48 pages at once, or a write cache over `buffered`.
    """
    try:
        system.with_sets(sets)
    except ConfigError as error:
        return str(error)
    return ""


def acknowledgements(system: System) -> list[str]:
    """The values of `engine.write_completes` that the drive of a system may have, of `ACKNOWLEDGEMENTS`."""
    return [one for one in ACKNOWLEDGEMENTS if not refusal(system, {K.engine.write_completes: one})]


def as_system(chosen: str | Path | System, sets: Mapping[str, Value]) -> System:
    """A system from an argument that names or holds one."""
    if not isinstance(chosen, System):
        return resolve_text(checked_name(chosen), texts(sets))
    if sets:
        raise finished(chosen)
    return chosen


def finished(system: System) -> ConfigError:
    return ConfigError(f"keys cannot be set on the finished system '{system.name}'; set them in `ft.system`")


def _again(label: str, name: str, sets: tuple[tuple[str, str], ...]) -> System:
    return replace(resolve_text(name, sets), name=label)
