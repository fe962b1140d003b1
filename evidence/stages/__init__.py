"""The stages, in the order in which they are measured: the quick ones first."""

from evidence.stage import Stage
from evidence.stages import (
    choices,
    comparison,
    demo,
    findings,
    gains,
    live,
    model,
    papers,
    ranges,
    real_drives,
    speed,
    sweeps,
    workloads,
)

STAGES: tuple[Stage, ...] = (
    demo.STAGE,
    findings.STAGE,
    workloads.STAGE,
    model.STAGE,
    comparison.STAGE,
    choices.STAGE,
    ranges.STAGE,
    papers.RECIPES,
    *papers.CAPTURED,
    real_drives.STAGE,
    gains.STAGE,
    speed.STAGE,
    sweeps.STAGE,
    live.STAGE,
)


def named(name: str) -> Stage:
    """The stage of that name.

    Raises:
        KeyError: there is none.
    """
    for stage in STAGES:
        if stage.name == name:
            return stage
    raise KeyError(f"no stage '{name}'; there are {', '.join(stage.name for stage in STAGES)}")
