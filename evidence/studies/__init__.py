"""The studies, in the order in which they are made: the quick ones first."""

from evidence.peers import comparing as peers
from evidence.studies import (
    comparison,
    demo,
    findings,
    gains,
    model,
    papers,
    ranges,
    real_drives,
    speed,
    workloads,
)
from evidence.study import Study

STUDIES: tuple[Study, ...] = (
    demo.STUDY, findings.STUDY, workloads.STUDY, model.STUDY, comparison.STUDY, papers.CAPTURED, peers.STUDY,
    ranges.STUDY, papers.RECIPES, real_drives.STUDY, gains.STUDY, speed.STUDY, speed.SWEEPS, speed.LIVE,
)  # fmt: skip


def named(name: str) -> Study:
    """The study of that name.

    Raises:
        KeyError: there is none.
    """
    for study in STUDIES:
        if study.name == name:
            return study
    raise KeyError(f"no study '{name}'; there are {', '.join(study.name for study in STUDIES)}")
