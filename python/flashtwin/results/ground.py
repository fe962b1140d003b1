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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flashtwin import units
from flashtwin.results.keys import KEYS, Config, K, mattering, table_of, traits
from flashtwin.results.trees import as_number, dig, leaves, literal

#: Names and labels: no result depends on them.
LABELS = frozenset(name for name, key in KEYS.items() if key.label)
#: Ground that moves neither reads nor writes: chance, and the life that wear is a share of.
QUIET = frozenset(name for name, key in KEYS.items() if not (key.label or key.moves or key.design))

#: With fewer zeroes than this among page reads and writes, what is done with them moves nothing.
ZEROES_PERCENT = 0.05
_ZEROES = {
    "stored": "They lie on flash like other pages (ftl.zero_page = stored; try mapped)",
    "mapped": "They take no flash, because the map serves them (ftl.zero_page = mapped; try stored)",
}

#: Systems that are a page allocation: the DS-FTL paper compares them as such.
ALLOCATIONS = ("dynamic", "hipa")
ALLOCATION_REASON = "the page allocation that the system stands for (DS-FTL paper)"
MERGING_REASON = "reads of pages known to hold the same merge while they wait (DS-FTL paper 4.3.2)"


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
        """The effect of the key by itself; empty for none."""
        return KEYS[self.key].moves if self.key in KEYS else ""

    @property
    def warns(self) -> bool:
        """Whether ground is unequal that moves reads or writes."""
        return bool(self.unequal and self.moves)

    @property
    def setting(self) -> str:
        """The option that gives all systems the first one's value, as `--set` takes it."""
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
        """The warning: key, values, effect, and cure."""
        return f"{self.key}: {self.grouped}; moves {self.moves}; equal with --set {self.setting}"

    def as_json(self) -> dict[str, Any]:
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

    Keys that a system does not use are left out: a page map hashes nothing, so its hashing time is no difference.
    Where devices differ, the device stands for its numbers.
    """
    flat = {name: dict(leaves(config)) for name, config in configs.items()}
    keys = dict.fromkeys(key for config in flat.values() for key in config if key not in LABELS)
    same_device = not _arrays_differ(flat) or len({config.get("device") for config in flat.values()}) == 1
    concerned = {name: mattering(config, configs[name]) for name, config in flat.items()}
    found = []
    for key in keys:
        if (key == "device" and not _arrays_differ(flat)) or (key.startswith("nand.") and not same_device):
            continue
        values = {name: config[key] for name, config in flat.items() if key in concerned[name]}
        if len(set(map(literal, values.values()))) > 1:
            found.append(_difference(key, values, configs))
    return found


def ground(configs: Mapping[str, Config]) -> list[Difference]:
    """The differences beyond the mechanisms of the systems."""
    return [one for one in differences(configs) if one.unequal]


def warnings(configs: Mapping[str, Config]) -> list[str]:
    """One line for each key of the ground that differs and moves reads or writes by itself."""
    return [one.line for one in ground(configs) if one.warns]


def zeroes(trace: Mapping[str, Any], configs: Mapping[str, Config]) -> str | None:
    """What all systems do with the zeroes of a trace; None if it is known to have next to none, or if they differ.

    A few zeroes decide much where all share one flash page: their reads queue up at its chip.

    Args:
        trace: the trace's `info`, as a study keeps it.
        configs: resolved configurations by system.
    """
    shares = {word: as_number(trace.get(f"zero_{word}_percent")) or 0.0 for word in ("read", "write")}
    values = {str(dig(config, "ftl.zero_page")) for config in configs.values()}
    if max(shares.values()) < ZEROES_PERCENT or len(values) != 1:
        return None
    value = values.pop()
    told = (
        f"Zeroes are {units.percent(shares['read'])} of page reads and {units.percent(shares['write'])} of page writes."
    )
    return f"{told} {_ZEROES[value]}." if value in _ZEROES else None


def equal(configs: Mapping[str, Config]) -> dict[str, dict[str, Any]]:
    """The keys to set in each system so that all have the ground of the first.

    What a system is about stays as it is. Where the first does not use what a key is for, the first
    system that does is followed.
    """
    flat = {name: dict(leaves(config)) for name, config in configs.items()}
    sets: dict[str, dict[str, Any]] = {name: {} for name in configs}
    references = _references({key for config in flat.values() for key in config}, configs)
    for name, config in flat.items():
        for key, value in config.items():
            reference = references[key]
            if key in LABELS or key not in flat[reference] or value == flat[reference][key]:
                continue
            if not _reason(key, name, reference, configs):
                sets[name][key] = flat[reference][key]
    return sets


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
        # DS-FTL is about merging reads of twins. That reads of one page merge is its paper's simulator: ground as well.
        if not reason or (key == K.engine.merge_reads and not _merges(configs[reference])):
            unequal.append(name)
    return Difference(key, values, defines, tuple(unequal))


def _reason(key: str, name: str, reference: str, configs: Mapping[str, Config]) -> str:
    """Why a key that differs between two systems belongs to the design of one; empty where it is ground."""
    if key in KEYS and KEYS[key].design:
        return KEYS[key].design
    pair = (configs[name], configs[reference])
    if table_of(key) == table_of(K.ftl.allocation.policy) and any(config.get("name") in ALLOCATIONS for config in pair):
        return ALLOCATION_REASON
    if key == K.engine.merge_reads and any(_merges_twins(config) for config in pair):
        # Of the two, only the system that knows of twins can be about merging them.
        plain = next((config for config in pair if not _merges_twins(config)), None)
        if plain is None or _merges_twins(configs[name]) or _merges(plain):
            return MERGING_REASON
    return ""


def _merges(config: Config) -> bool:
    return "merges-page-reads" in traits(config)


def _merges_twins(config: Config) -> bool:
    return {"spreads", "merges-twin-reads"} <= traits(config)


def _references(keys: Iterable[str], configs: Mapping[str, Config]) -> dict[str, str]:
    """The system whose value of each key the others are held against: the first that the key concerns."""
    found = dict.fromkeys(keys, next(iter(configs)))
    for name, config in reversed(list(configs.items())):
        found |= dict.fromkeys(mattering(found, config), name)
    return found


def _arrays_differ(flat: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the flash arrays do, even if their devices have different names."""
    arrays = [
        {key: value for key, value in config.items() if key.startswith("nand.") and key not in LABELS}
        for config in flat.values()
    ]
    return any(array != arrays[0] for array in arrays)
