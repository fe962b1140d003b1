"""What shows each rule of `differences.toml`: one figure in a peer and in flashtwin, twice.

Once with the rule at work, and once with it out of play, because a key of ours says the same, a setting of
theirs takes it back, or the scenario leaves it nothing to decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import mqsim, ours, ssdsim
from .device import Device
from .scenarios import (
    AGED,
    AGED_ONE_PLANE,
    DEVICE,
    LOADS,
    RARE_GAP_US,
    RULES,
    Scenario,
    aged_drive,
    example_of_ssdsim,
    overwritten,
    poisson,
    samples,
)

MQ, HUST = mqsim.NAME, ssdsim.NAME


@dataclass(frozen=True)
class MeasurementPair:
    """One measurement of both."""

    scenario: Scenario
    rules: ours.Rules


@dataclass(frozen=True)
class Experiment:
    """A figure with a rule at work and without."""

    letter: str
    peer: str
    figure: str
    before: MeasurementPair
    after: MeasurementPair


def at(load: str, kind: str, device: Device = DEVICE) -> Scenario:
    """Requests of one page at one of the loads."""
    share = {"reads": 0.0, "writes": 1.0, "mixed": 0.5}[kind]
    return poisson(f"{load}-{kind}", f"4 KB, {kind}, load {LOADS[load]:g}", LOADS[load], device, share)


def by_key(
    letter: str, peer: str, figure: str, scenario: Scenario, key: str, before: str | bool, after: str | bool
) -> Experiment:
    """A rule that a key of ours expresses, beside all others that do."""
    sides = (MeasurementPair(scenario, {**RULES[peer], key: value}) for value in (before, after))
    return Experiment(letter, peer, figure, *sides)


def by_scenario(letter: str, peer: str, figure: str, before: Scenario, after: Scenario) -> Experiment:
    """A rule that another scenario, or another setting of the peer, leaves nothing to decide."""
    return Experiment(letter, peer, figure, MeasurementPair(before, RULES[peer]), MeasurementPair(after, RULES[peer]))


def of_keys() -> list[Experiment]:
    """Rules that keys of ours express."""
    few = poisson("few-pages", "4 KB, mixed, load 0.3, on 128 pages", LOADS["medium"], DEVICE, 0.5, footprint_pages=128)
    unit = ("engine.concurrency", "die", "chip")
    end = ("engine.write_completes", "programmed", "transferred")
    in_flight = ("engine.buffer_reads", True, False)
    return [
        by_key("a", MQ, "read.p99_us", at("light", "mixed"), *unit),
        by_key("a", MQ, "write.mean_us", at("heavy", "writes"), *unit),
        by_key("a", HUST, "write.mean_us", at("heavy", "writes"), *unit),
        by_key("b", HUST, "write.mean_us", at("light", "writes"), *end),
        by_key("e", MQ, "read.mean_us", few, *in_flight),
        by_key("e", HUST, "read.mean_us", few, *in_flight),
    ]


def of_devices() -> list[Experiment]:
    """Rules that other devices leave nothing to decide."""
    alone = Device(channels=16, chips_per_channel=1)
    one_die = replace(DEVICE, dies_per_chip=1, blocks_per_plane=2 * DEVICE.blocks_per_plane)
    return [
        *(
            by_scenario("c", peer, "read.mean_us", at(load, "reads"), at(load, "reads", alone))
            for load in ("medium", "heavy")
            for peer in (MQ, HUST)
        ),
        by_scenario("c", MQ, "write.mean_us", at("heavy", "mixed"), at("heavy", "mixed", alone)),
        by_scenario("d", HUST, "write.p99_us", at("heavy", "writes"), at("heavy", "writes", one_die)),
    ]


def of_collection() -> list[Experiment]:
    """Rules of collection."""
    polite = overwritten("gc-writes", "collection: writes, one in 800 us", 800, 1.0)
    plain = replace(polite, mqsim={})
    apart = replace(overwritten("gc-apart", "collection: writes, one in 100 ms", 100_000, 1.0, even=True), mqsim={})
    dense, sparse = (
        overwritten("gc-read-before", f"collection: all read first, one in {gap} us", gap, 0.7, read_before=True)
        for gap in (300, 800)
    )
    mixed = overwritten("gc-mixed", "collection: 70 % writes, one in 800 us", 800, 0.7)
    return [
        by_scenario("f", MQ, "write.mean_us", plain, polite),
        by_scenario("f", HUST, "write.mean_us", plain, apart),
        by_scenario("g", HUST, "blocks_erased", dense, sparse),
        by_scenario("h", HUST, "blocks_erased", mixed, sparse),
    ]


def of_aged_drives() -> list[Experiment]:
    """Rules of collection under load."""
    kinds = ("writes", "mixed")
    rare = {
        where: aged_drive(where, "writes", gap_us=RARE_GAP_US, name=f"aged-{where}-rare")
        for where in ("skewed", "even")
    }
    two, one = (
        {kind: aged_drive("skewed", kind, device=device, name=f"aged-skewed-{kind}") for kind in kinds}
        for device in (AGED, AGED_ONE_PLANE)
    )
    return [
        by_scenario("g", HUST, "blocks_erased", aged_drive("even", "writes"), rare["even"]),
        *(by_scenario("k", MQ, f"write.{figure}", two["writes"], one["writes"]) for figure in ("mean_us", "p99_us")),
        *(by_scenario("k", MQ, f"read.{figure}", two["mixed"], one["mixed"]) for figure in ("mean_us", "p99_us")),
        by_scenario("l", HUST, "pages_programmed", rare["skewed"], rare["even"]),
    ]


def of_samples() -> list[Experiment]:
    """Rules that public samples bring to light."""
    alone = Device(channels=16, chips_per_channel=1)
    one_plane = replace(alone, planes_per_die=1, blocks_per_plane=2 * alone.blocks_per_plane)
    found = {scenario.name: scenario for scenario in samples(None)}
    out = []
    if wsrch := found.get("wsrch"):
        out += [by_scenario("c", peer, "read.p99_us", wsrch, replace(wsrch, device=alone)) for peer in (MQ, HUST)]
    if tpcc := found.get("tpcc"):
        both = replace(tpcc, device=alone), replace(tpcc, device=one_plane)
        out += [by_scenario("j", MQ, f"{kind}.mean_us", *both) for kind in ("read", "write")]
    if (parts := example_of_ssdsim(whole_pages=False)) and (whole := found.get("example")):
        out += [by_scenario("i", peer, "write.mean_us", parts, whole) for peer in (MQ, HUST)]
    return out


def everything() -> list[Experiment]:
    """In the order of the letters."""
    found = [*of_keys(), *of_devices(), *of_collection(), *of_aged_drives(), *of_samples()]
    return sorted(found, key=lambda experiment: experiment.letter)
