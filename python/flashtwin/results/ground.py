"""What else differs between systems that stand side by side: the ground that they stand on.

A comparison says what a design does only where all else is equal. Pure functions on resolved
configurations, nested as results store them, tell which keys differ from the baseline's, which of
these are what a system is about (its paper's mapping, copies, spreading, ...), and which of the others,
the ground, move reads or writes by themselves: what such a key moves looks like a gain or a loss of the
design.

    configs = {"conventional": {...}, "ds-ftl": {...}}     # the first is the baseline
    differences(configs)     # every key that differs and matters to those that differ
    warnings(configs)        # one line for each that is ground and moves times
    equal(configs)           # the keys to set in each system so that all stand on the baseline's ground
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Config = Mapping[str, Any]
Uses = Callable[[Config], bool]

#: Names and labels: no result depends on them.
LABELS = frozenset({"name", "description", "verify", "nand.source"})

#: What defines a system by its paper: the beginning of the keys, and why.
DEFINES: Mapping[str, str] = {
    "ftl.mapping": "whether pages of equal content share a flash page (CA-SSD)",
    "ftl.dedup.": "how duplicates are found and what is kept of their fingerprints (CA-SSD, CAFTL)",
    "ftl.redirection.": "which copy a read may be served from (RR-SSD)",
    "ftl.replication.": "which contents are copied, when and where to (RR-SSD, PBLRU)",
    "ftl.spread.": "how duplicates come to lie on different channels (DS-FTL)",
    "ftl.partition.": "how hot pages are told from cold ones (SWC; Park and Du)",
}
#: Systems that are a page allocation: the DS-FTL paper compares them as such.
ALLOCATIONS = ("dynamic", "hipa")
ALLOCATION_REASON = "the page allocation that the system stands for (DS-FTL paper)"
MERGING_REASON = "reads of pages known to hold the same merge while they wait (DS-FTL paper 4.3.2)"

_ARRAY = "reads and writes: the flash array is another one"
_COLLECTION = "reads and writes, once blocks are collected"
_SUSPENSION = "reads and writes: what an interruption costs each of them"
_PLACE = "reads and writes: which chips hold what is asked for together"
_TABLES = "reads and writes: they wait for mapping tables on flash"
#: Ground that moves reads or writes by itself, and how.
MOVES: Mapping[str, str] = {
    "device": "reads and writes: geometry and timing are another drive's",
    **dict.fromkeys(("ftl.mapping_cache.bytes", "ftl.mapping_cache.checkpoint_s"), _TABLES),
    **dict.fromkeys((f"ftl.allocation.{key}" for key in ("policy", "order", "stripe_pages")), _PLACE),
    **dict.fromkeys((f"ftl.allocation.hipa_{key}" for key in ("threshold", "weight", "sample_us")), _PLACE),
    **dict.fromkeys(
        (f"ftl.gc.{key}" for key in (
            "victim", "choices", "start", "stop", "urgent", "step_pages", "idle", "idle_reserve",
                "idle_valid",
        )), _COLLECTION,
    ),
    **dict.fromkeys((f"ftl.wear.{key}" for key in ("policy", "threshold", "every")), _COLLECTION),
    "ftl.background.jobs": "reads and writes: which work in idle time is dropped",
    "engine.concurrency": "reads and writes: what works at the same time",
    "engine.load": "reads and writes: where those go that choose a chip",
    "engine.write_completes": "writes: when one is complete",
    "engine.write_buffer_pages": "writes: how many of them are complete before they are programmed",
    "engine.flush": "flushes: whether they wait for writes; reads and writes: whether they empty a volatile cache",
    "engine.reads_before_write": "reads and writes: which of them goes first",
    "engine.merge_reads": "reads: those that wait for one page are served together, or each by itself",
    "engine.buffer_reads": "reads: whether controller RAM serves those of a page being programmed",
    "engine.multi_plane": "reads and writes: what starts together",
    "engine.write_cache_pages": "reads and writes: what the DRAM of the controller takes",
    "engine.write_cache_dirty": "reads and writes: what the DRAM of the controller takes",
    "engine.write_cache_protected": "reads and writes: whether a flush writes the DRAM of the controller out",
    "engine.write_cache_us": "reads and writes: how long the DRAM of the controller takes",
    "engine.suspend": "reads and writes: whether programs and erases make way for reads",
    **dict.fromkeys(
        (f"engine.{key}" for key in ("suspend_us", "resume_us", "suspend_times", "suspend_reads")), _SUSPENSION
    ),
    "engine.idle_us": "reads and writes: when work in idle time meets them",
    "engine.controller_us": "reads and writes: a time added to each",
    "engine.hash_us": "writes: how long each page is hashed, and waits for it",
    "engine.hash_lanes": "writes: how long each page waits to be hashed",
    "replay.speed": "reads and writes: how fast requests arrive",
    "replay.queue_depth": "reads and writes: how many requests are under way",
    "replay.period_s": "reads and writes: how often copies are made",
    "replay.preload": "reads and writes: what the drive holds before the trace",
    "replay.preload_contents": "writes: what of the drive's contents before the trace is duplicate",
    "replay.partial_write": "writes: whether part of a page costs a read",
    "replay.content": "reads and writes: what pages contain",
    **dict.fromkeys(
        (f"nand.{key}" for key in (
            "channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block",
            "page_bytes", "metadata_bytes", "read_us", "program_us", "erase_us", "bus_mt_s", "bus_width_bits",
            "command_ns",
        )), _ARRAY,
    ),
}  # fmt: skip
#: Ground that moves neither: chance, and the life that wear is a share of.
QUIET = frozenset({"seed", "nand.pe_cycles"})


@dataclass(frozen=True)
class Difference:
    """A key whose value is not the same for all systems that it concerns."""

    key: str
    #: Values by system, of those that the key concerns; the first is the one that the others are held against.
    values: Mapping[str, Any]
    #: Systems whose value is their design, or against whose design others are held, with the reason.
    defines: Mapping[str, str] = field(default_factory=dict)
    #: Systems whose value is ground and another one than the first's.
    unequal: tuple[str, ...] = ()

    @property
    def moves(self) -> str:
        """What the key moves by itself, and how; empty for nothing."""
        return MOVES.get(self.key, "")

    @property
    def warns(self) -> bool:
        """Whether ground is unequal that moves reads or writes."""
        return bool(self.unequal and self.moves)

    @property
    def setting(self) -> str:
        """What gives all systems the first one's value, as `--set` takes it."""
        return f"{self.key}={literal(next(iter(self.values.values())))}"

    @property
    def grouped(self) -> str:
        """Each value with the systems that have it: `1000 (conventional), 0 (ds-ftl, caftl)`."""
        groups: dict[str, list[str]] = {}
        for name, value in self.values.items():
            groups.setdefault(literal(value), []).append(name)
        return ", ".join(f"{value} ({', '.join(names)})" for value, names in groups.items())

    @property
    def line(self) -> str:
        """The warning: key, values, what it moves, and what makes it equal."""
        return f"{self.key}: {self.grouped}; moves {self.moves}; equal with --set {self.setting}"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "key": self.key,
            "values": dict(self.values),
            "defines": dict(self.defines),
            "unequal": list(self.unequal),
            "moves": self.moves or None,
            "set": self.setting if self.unequal else None,
        }


def differences(configs: Mapping[str, Config]) -> list[Difference]:
    """Every key that differs and matters to the systems that differ in it, in the order of the configuration.

    What a system does not use is left out: a page map hashes nothing, so its hashing time is no difference.
    Where devices differ, the device stands for its numbers.
    """
    flat = {name: dict(leaves(config)) for name, config in configs.items()}
    keys = dict.fromkeys(key for config in flat.values() for key in config if key not in LABELS)
    same_device = not _arrays_differ(flat) or len({config.get("device") for config in flat.values()}) == 1
    found = []
    for key in keys:
        if (key == "device" and not _arrays_differ(flat)) or (key.startswith("nand.") and not same_device):
            continue
        values = {name: config[key] for name, config in flat.items() if key in config and concerns(key, configs[name])}
        if len(set(map(literal, values.values()))) > 1:
            found.append(_difference(key, values, configs))
    return found


def ground(configs: Mapping[str, Config]) -> list[Difference]:
    """The differences that are more than what defines the systems."""
    return [one for one in differences(configs) if one.unequal]


def warnings(configs: Mapping[str, Config]) -> list[str]:
    """One line for each key of the ground that differs and moves reads or writes by itself."""
    return [one.line for one in ground(configs) if one.warns]


def equal(configs: Mapping[str, Config]) -> dict[str, dict[str, Any]]:
    """The keys to set in each system so that all have the ground of the first.

    What a system is about stays as it is. Where the first does not use what a key is for, the first
    system that does is followed.
    """
    flat = {name: dict(leaves(config)) for name, config in configs.items()}
    sets: dict[str, dict[str, Any]] = {name: {} for name in configs}
    for name, config in flat.items():
        for key, value in config.items():
            reference = _reference(key, configs)
            if key in LABELS or key not in flat[reference] or value == flat[reference][key]:
                continue
            if not _reason(key, name, reference, configs):
                sets[name][key] = flat[reference][key]
    return sets


def looks_at_contents(config: Config) -> bool:
    """Whether what a system does depends on contents: it removes duplicates, or spreads them."""
    return _deduplicates(config) or _spreads(config)


def leaves(tree: Config, prefix: str = "") -> list[tuple[str, Any]]:
    """Every value of a nested configuration with its dotted key."""
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        found += leaves(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return found


def literal(value: Any) -> str:
    """A value as `--set` takes it: 1000 for 1000.0, words without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _difference(key: str, values: dict[str, Any], configs: Mapping[str, Config]) -> Difference:
    reference = next(iter(values))
    defines: dict[str, str] = {}
    unequal = []
    for name, value in values.items():
        if literal(value) == literal(values[reference]):
            continue
        reason = _reason(key, name, reference, configs)
        if reason:
            defines[name] = reason
        if not reason or _more_than_its_design(key, values[reference]):
            unequal.append(name)
    return Difference(key, values, defines, tuple(unequal))


def _reason(key: str, name: str, reference: str, configs: Mapping[str, Config]) -> str:
    """Why a key that differs between two systems is what one of them is about; empty where it is ground."""
    for start, reason in DEFINES.items():
        if key.startswith(start):
            return reason
    pair = (configs[name], configs[reference])
    if key.startswith("ftl.allocation.") and any(config.get("name") in ALLOCATIONS for config in pair):
        return ALLOCATION_REASON
    if key == "engine.merge_reads" and any(_merges_twins(config) for config in pair):
        # Of the two, only the system that knows of twins can be about merging them.
        plain = next((config for config in pair if not _merges_twins(config)), None)
        if plain is None or _merges_twins(configs[name]) or dig(plain, key) == "same-page":
            return MERGING_REASON
    return ""


def _more_than_its_design(key: str, reference: Any) -> bool:
    """Whether a difference is ground as well as design.

    DS-FTL is about merging reads of twins; that reads of one page merge is its paper's simulator.
    """
    return key == "engine.merge_reads" and reference == "none"


def _merges_twins(config: Config) -> bool:
    return _spreads(config) and dig(config, "engine.merge_reads") == "same-content"


def _reference(key: str, configs: Mapping[str, Config]) -> str:
    """The system whose value the others are held against: the first that the key concerns."""
    return next((name for name, config in configs.items() if concerns(key, config)), next(iter(configs)))


def _arrays_differ(flat: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the flash arrays do, whatever their devices are called."""
    arrays = [
        {key: value for key, value in config.items() if key.startswith("nand.") and key not in LABELS}
        for config in flat.values()
    ]
    return any(array != arrays[0] for array in arrays)


def dig(tree: Any, path: str) -> Any:
    """Follows a dotted path through nested mappings; None where it ends early."""
    for key in path.split("."):
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(key)
    return tree


def _is(key: str, *values: Any) -> Uses:
    return lambda config: dig(config, key) in values


def _is_not(key: str, *values: Any) -> Uses:
    return lambda config: dig(config, key) not in (*values, None)


def _spreads(config: Config) -> bool:
    return bool(dig(config, "ftl.spread.policy") == "duplicates")


def _deduplicates(config: Config) -> bool:
    return bool(dig(config, "ftl.mapping") == "content")


def _works_in_idle_time(config: Config) -> bool:
    """Whether the system has background jobs: comparisons, late fingerprints, copies as they are earned."""
    compares = _spreads(config) and bool(dig(config, "ftl.spread.verify"))
    hashes_late = _deduplicates(config) and dig(config, "ftl.dedup.out_of_line") not in (None, "none")
    return compares or hashes_late or dig(config, "ftl.replication.policy") in ("on-line", "priority-lru")


def _chooses_by_load(config: Config) -> bool:
    placed = dig(config, "ftl.allocation.policy") in ("least-loaded", "hipa")
    return placed or dig(config, "ftl.redirection.policy") not in (None, "home")


#: Whom a key concerns, by the key or by what keys begin with; the first that fits counts, all systems where none does.
_CONCERNS: Mapping[str, Uses] = {
    "ftl.dedup.": _deduplicates,
    "ftl.replication.policy": lambda _: True,
    "ftl.replication.": _is_not("ftl.replication.policy", "none"),
    "ftl.spread.policy": lambda _: True,
    "ftl.spread.": _spreads,
    "ftl.partition.policy": lambda _: True,
    "ftl.partition.": _is_not("ftl.partition.policy", "none"),
    "ftl.allocation.order": _is_not("ftl.allocation.policy", "least-loaded"),
    "ftl.allocation.stripe_pages": _is("ftl.allocation.policy", "static", "hipa"),
    "ftl.allocation.hipa_": _is("ftl.allocation.policy", "hipa"),
    "ftl.gc.choices": _is("ftl.gc.victim", "d-choices"),
    "ftl.gc.idle_": _is_not("ftl.gc.idle", "none"),
    "ftl.wear.policy": lambda _: True,
    "ftl.wear.": _is("ftl.wear.policy", "static"),
    "ftl.background.": _works_in_idle_time,
    "engine.load": _chooses_by_load,
    "engine.write_buffer_pages": _is("engine.write_completes", "hashed"),
    **dict.fromkeys(
        (f"engine.write_cache_{key}" for key in ("dirty", "protected", "us")), _is_not("engine.write_cache_pages", 0)
    ),
    **dict.fromkeys(
        ("engine.suspend_", "engine.resume_"), _is_not("engine.suspend", "none")
    ),
    "engine.idle_us": lambda config: _works_in_idle_time(config) or dig(config, "ftl.gc.idle") not in (None, "none"),
    "engine.hash_": _deduplicates,
    "replay.period_s": _is("ftl.replication.policy", "end-of-period", "on-line"),
    "replay.preload_contents": lambda config: (
        dig(config, "replay.preload") == "footprint" and looks_at_contents(config)
    ),
    "replay.content": looks_at_contents,
}  # fmt: skip


def concerns(key: str, config: Config) -> bool:
    """Whether a system uses what the key is for: where not, another value changes nothing that happens."""
    for start, uses in _CONCERNS.items():
        if key == start or (start[-1] in "._" and key.startswith(start)):
            return uses(config)
    return True
