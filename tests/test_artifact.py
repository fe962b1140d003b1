"""What ARTIFACT.md promises a reviewer comes out."""

from __future__ import annotations

import re
import shlex

import pytest
from evidence import artifact
from evidence.stage import Stage
from evidence.stages import STAGES

from .conftest import ROOT, Cli

PAGE = (ROOT / "ARTIFACT.md").read_text(encoding="utf-8")


def command(verb: str, part: str) -> list[str]:
    """The command of the page with this verb that has this part, for the trace where it lies."""
    (line,) = [one for one in re.findall(r"^\.venv/bin/flashtwin (.*)$", PAGE, re.MULTILINE)
               if one.startswith(verb) and one.endswith(part)]  # fmt: skip
    return [str(ROOT / word) if word.startswith("traces/") else word for word in shlex.split(line)]


def test_first_command_prints_the_figures_of_the_table(cli: Cli) -> None:
    done = cli(*command("compare", "hash_lanes=16"))
    assert done.status == 0, done.err
    table = {cells[0]: cells[1:] for row in re.findall(r"^\| (.*) \|$", PAGE, re.MULTILINE)
             if len(cells := row.split(" | ")) == 5}  # fmt: skip
    for name in ("mean response, us", "pages programmed"):
        (printed,) = [line.split() for line in done.out.splitlines() if line.startswith(name)]
        assert printed[-4:] == table[name], f"{name}: make the stage demo again"


def test_second_command_prints_what_one_lane_costs(cli: Cli) -> None:
    done = cli(*command("compare", "hash_lanes=1"))
    (claimed,) = re.findall(r"the second the mean response (\S+) us", PAGE)
    assert claimed in done.out


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_stage_is_on_the_page(stage: Stage) -> None:
    record = stage.record()
    assert record is not None
    assert f"| `{record['command']}` |" in PAGE


def test_stage_without_foreign_traces_needs_only_the_repo() -> None:
    assert artifact.needs("demo", ["webvm-small"]) == artifact.NOTHING
    assert "--captured" in artifact.needs("comparison", ["mail", "trans"])
    assert artifact.needs("real-drives", []) == "measured drives, `--drives DIR`"


def test_sweep_prints_the_mean_writes_of_the_claim(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    done = cli(*command("sweep", "--out lanes"))
    assert done.status == 0, done.err
    ((first, last),) = re.findall(r"mean write falls\s+from (\S+) us with one lane to (\S+) us", PAGE)
    assert first in done.out
    assert last in done.out
    assert "the same at every point: pages programmed" in done.out
