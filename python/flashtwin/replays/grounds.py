"""Systems on one ground: drive, engine, ageing and way of replaying are resolved first, then compared key by key.

A device brings its numbers, so that a key that was equal before may differ once the device is set. Therefore keys are
set until none differs, and raw pages are counted.
"""

from collections.abc import Mapping

from flashtwin.errors import ConfigError
from flashtwin.replays.presets import System
from flashtwin.results import ground

#: Times that keys are set: the device, its numbers, and what these decide.
_ROUNDS = 3
#: Keys of the drive, and of the load.
_NO_CONTROLLER = ("device", "nand.", "replay.")
#: A name that no system can have.
_OTHER = " "


def on_ground_of(first: Mapping[str, System], other: System) -> System:
    """A system on the ground of others, whose design stays as it is.

    Raises:
        ConfigError: it cannot stand there. For example, a drive that has room for the blocks of one system may have
            none for the partitions of another.
    """
    configs, made = {name: one.config for name, one in first.items()}, other
    for _ in range(_ROUNDS):
        sets = ground.equal({**configs, _OTHER: made.config})[_OTHER]
        if not sets:
            break
        made = made.with_sets(sets)
    baseline = next(iter(first))
    if sets:
        raise ConfigError(f"'{other.name}' cannot stand on the ground of '{baseline}': {', '.join(sets)} would differ")
    _same_flash(baseline, first[baseline], other.name, made)
    return made


def on_one_ground(systems: Mapping[str, System]) -> dict[str, System]:
    """All systems on the ground of the first; a `ConfigError` if one of them cannot stand there."""
    found: dict[str, System] = {}
    for name, one in systems.items():
        found[name] = on_ground_of(found, one) if found else one
    return found


def check_raw_pages(systems: Mapping[str, System]) -> None:
    """Refuses systems of which one has more flash than the first."""
    baseline = next(iter(systems))
    for name, one in systems.items():
        _same_flash(baseline, systems[baseline], name, one)


def moved_ground(before: System, after: System, sets: Mapping[str, object]) -> list[str]:
    """What a change of the controller moves besides its own keys, raw pages included; nothing if both compete."""
    unequal = ground.ground({"before": before.config, "after": after.config})
    found = [one.key for one in unequal if one.key not in sets or one.key.startswith(_NO_CONTROLLER)]
    return [*found, *(["raw pages"] if after.raw_pages != before.raw_pages else [])]


def _same_flash(baseline: str, first: System, name: str, other: System) -> None:
    if other.raw_pages != first.raw_pages:
        raise ConfigError(
            f"'{name}' would have {other.raw_pages:,} raw pages, and '{baseline}' has {first.raw_pages:,}: set the "
            "same drive for both"
        )
