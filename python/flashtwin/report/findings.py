"""The findings of a result folder: the most important verdicts on its runs."""

from __future__ import annotations

from pathlib import Path

from flashtwin.judgement import judging
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict
from flashtwin.results.reading import StudyFolder, load_any


def findings(folder: Path | str | StudyFolder, count: int = 3) -> list[Verdict]:
    """The `count` most important verdicts on the runs of a result folder, the most important first.

    Fewer when the data hold no more; none where nothing was replayed. `Verdict.figures` holds the values behind the
    words.

    Raises:
        ReportError: the folder cannot be read.
    """
    study = folder if isinstance(folder, StudyFolder) else load_any(folder)
    return judging.findings(judging.judge(Evidence.of(study)), count) if isinstance(study, StudyFolder) else []
