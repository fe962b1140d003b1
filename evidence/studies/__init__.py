"""The studies, in the order in which they are made: the quick ones first."""

from evidence.peers import comparing as peers
from evidence.studies import (
    comparison,
    demo,
    findings,
    gains,
    handles,
    model,
    papers,
    placement,
    ranges,
    real_drives,
    reliability,
    speed,
    volumes,
    workloads,
)
from evidence.study import Study

STUDIES: tuple[Study, ...] = (
    demo.STUDY, findings.STUDY, workloads.STUDY, model.STUDY, comparison.STUDY, papers.CAPTURED, peers.STUDY,
    ranges.STUDY, placement.STUDY, placement.OTHERS,
    handles.STUDY, papers.RECIPES_RR_SSD, papers.RECIPES, real_drives.STUDY, gains.STUDY,
    speed.STUDY, speed.SWEEPS, volumes.STUDY, speed.LIVE, reliability.STUDY,
)  # fmt: skip
