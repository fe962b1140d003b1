"""A budget of work is kept and spent on the most telling replays, skipped ones are named; Ctrl-C loses nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import pytest

import flashtwin as ft
from flashtwin import _core, cli
from flashtwin.causes import replaying
from flashtwin.causes.bottlenecks import BY_NAME
from flashtwin.causes.case import key_of
from flashtwin.causes.explaining import InterruptedExplanation, document
from flashtwin.causes.inquiry import Inquiry
from flashtwin.causes.replaying import Budget, KeptFigures, base_replays, replay_all
from flashtwin.causes.stored import Command
from flashtwin.judgement.catalogue import Sets
from flashtwin.judgement.goals import Figures, usual_goal
from flashtwin.replays.presets import system

from .scenarios import hash_lane, nothing, slow_bus


def test_a_budget_takes_what_fits_and_at_least_a_few() -> None:
    budget = Budget(1000, 300)
    assert (budget.fits(100), budget.begin(2), budget.begin(5), budget.begin(1)) == (3, 2, 1, 0)
    assert Budget(None, 10**9).begin(100) == 100
    budget = Budget(10, 1000)
    for more in (4, 2):
        budget.at_least(more)
        assert budget.begin(100) == more
    none = Budget(0, 1000)
    none.at_least(4)
    assert none.begin(100) == 0


@dataclass
class Machine:
    base: Figures
    done: list[Sets] = field(default_factory=list)

    def run(
        self, _: ft.Trace, wishes: Sequence[replaying._Request], kept: KeptFigures, _threads: int, _watch: object
    ) -> None:
        for wish in wishes:
            kept.keep(wish.key, self.base)
            wish.search.known[key_of(wish.sets)] = self.base
            self.done.append(wish.sets)


def steps_left(inquiry: Inquiry) -> int:
    return len(inquiry.missing(one.sets for one in inquiry.treatments()))


def inquiry_of(system: ft.System, base: Figures) -> Inquiry:
    return Inquiry(system, usual_goal(system.config["replay"]["queue_depth"]), {(): base})


@dataclass
class AskedCase:
    trace: ft.Trace
    inquiry: Inquiry

    @classmethod
    def of(cls, name: str = "ca-ssd") -> Self:
        trace, chosen = hash_lane().trace(), system(name)
        figures = base_replays(trace, {name: chosen}, KeptFigures(None))
        return cls(trace, inquiry_of(chosen, figures[name]))


def spend(monkeypatch: pytest.MonkeyPatch, effort: int | None, threads: int = 1) -> tuple[Machine, Inquiry]:
    """Replays of one page operation each."""
    asked = AskedCase.of()
    machine = Machine(asked.inquiry.case.base)
    with monkeypatch.context() as patch:
        patch.setattr(replaying, "_run", machine.run)
        replay_all(asked.trace, [asked.inquiry], KeptFigures(None), Budget(effort, 1), threads=threads)
    return machine, asked.inquiry


@pytest.mark.parametrize("effort", [0, 1, 3, 10, 1000])
def test_a_budget_is_filled_and_kept(monkeypatch: pytest.MonkeyPatch, effort: int) -> None:
    machine, inquiry = spend(monkeypatch, effort)
    assert len(machine.done) == effort or not (inquiry.untried() or steps_left(inquiry))
    assert bool(inquiry.untried()) == (len(machine.done) < len(inquiry.ideals))


def test_what_tells_most_is_replayed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller budget does the first part of a larger one's work; the ledger proposes the hash unit at once."""
    all_of_it, inquiry = spend(monkeypatch, None)
    for effort in (1, 4, 9):
        for threads in (1, 3):
            machine, _ = spend(monkeypatch, effort, threads)
            assert machine.done == all_of_it.done[:effort]
    assert all_of_it.done[0] == BY_NAME["hash"].of(inquiry.case)[0].sets
    assert (inquiry.untried(), steps_left(inquiry)) == ([], 0)


def test_of_two_that_ask_for_one_replay_it_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = AskedCase.of()
    machine = Machine(asked.inquiry.case.base)
    monkeypatch.setattr(replaying, "_run", machine.run)
    both = [asked.inquiry, inquiry_of(asked.inquiry.system, asked.inquiry.case.base)]
    replay_all(asked.trace, both, KeptFigures(None), Budget(None, 1))
    assert len(machine.done) == len({key_of(sets) for sets in machine.done})
    assert both[0].known == both[1].known


def faster(sets: Sets, base: Figures) -> Figures:
    """Told so, hashing at no cost halves the figure, and nothing else does anything."""
    half = {path: ns / 2 if path.startswith("response.") else ns for path, ns in base.summary.items()}
    return replace(base, summary=half) if "engine.hash_us" in sets else base


def test_likely_causes_then_steps_then_all_else() -> None:
    """Causes with a charge in the ledger come first, then lanes against the hash unit, other causes."""
    inquiry = AskedCase.of().inquiry
    base = inquiry.case.base
    asked = []
    while wanted := inquiry.wanted():
        asked.append(wanted)
        inquiry.known |= {key_of(sets): faster(sets, base) for sets in wanted}
    likely, steps, others = asked
    ideals = [key_of(one.sets) for one in inquiry.ideals]
    assert {key_of(sets) for sets in [*likely, *others]} == set(ideals)
    assert key_of(likely[0]) == ideals[0]
    assert {tuple(sets) for sets in steps} == {("engine.hash_lanes",)}
    assert (inquiry.untried(), steps_left(inquiry)) == ([], 0)


def test_what_was_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _, one = spend(monkeypatch, 3)
    found = document(one, Command("TRACE", "ca-ssd", "ca-ssd", {}))
    assert found["replays"] == 3
    assert one.untried()
    said = next(sentence for sentence in found["more"] if sentence.startswith("Beyond the effort: "))
    for untried in one.untried():
        assert BY_NAME[untried.of[0]].words in said
    assert "--effort all` does that." in said


def test_nothing_is_no_answer_before_all_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, chosen = nothing().trace(), system("conventional")
    figures = base_replays(trace, {"conventional": chosen}, KeptFigures(None))
    inquiry = inquiry_of(chosen, figures["conventional"])
    monkeypatch.setattr(replaying, "_run", Machine(inquiry.case.base).run)
    verdicts = {}
    for effort in (2, None):
        replay_all(trace, [inquiry], KeptFigures(None), Budget(effort, 1), threads=1)
        verdicts[effort] = inquiry.answer()
    assert verdicts == {2: "unknown", None: "nothing"}


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = replaying.KeptFigures.keep

    def keep_some(kept: KeptFigures, key: str, figures: Figures) -> None:
        keep(kept, key, figures)
        if len(kept.figures) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(replaying.KeptFigures, "keep", keep_some)


@pytest.mark.usefixtures("interrupted")
def test_an_interrupt_brings_the_answer_so_far() -> None:
    one = slow_bus()
    with pytest.raises(InterruptedExplanation) as stopped:
        ft.explain(one.trace(), one.system, settings=one.settings, effort=None, threads=1)
    found = stopped.value.found[one.system]
    assert found.data["interrupted"]
    assert found.data["causes"]
    assert found.text.splitlines()[0] == "Interrupted after 4 replays; the answer so far:"
    assert any(sentence.startswith("Interrupted before ") for sentence in found.data["more"])


def words(trace: Path, *more: str) -> list[str]:
    return ["explain", str(trace), "--system", "conventional", "--set", "nand.bus_mt_s=20", "--threads", "1", *more]


@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_prints_what_is_known_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow_bus().trace().write_parquet(tmp_path / "bus.parquet")
    assert cli.run(words(tmp_path / "bus.parquet", "--json")) == 130
    (found,) = json.loads(capsys.readouterr().out)
    assert found["interrupted"]


def test_with_a_folder_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    slow_bus().trace().write_parquet(tmp_path / "bus.parquet")
    line = words(tmp_path / "bus.parquet", "--out", str(tmp_path / "out"), "--effort", "all")
    with monkeypatch.context():
        request.getfixturevalue("interrupted")
        assert cli.run(line) == 130
    out, err = capsys.readouterr()
    assert out.startswith("Interrupted after 4 replays; the answer so far:\n")
    assert err.splitlines()[-1] == "interrupted; no incomplete file was left"
    assert f"the replays are kept in {tmp_path / 'out'}" in err
    kept = json.loads((tmp_path / "out" / "causes" / "replays.json").read_text(encoding="utf-8"))
    assert len(kept) == 5
    monkeypatch.undo()
    made: list[int] = []
    run = _core.run

    def counted(trace: object, systems: list[object], *rest: object) -> object:
        made.append(len(systems))
        return run(trace, systems, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(_core, "run", counted)
    assert cli.run(line) == 0
    after = json.loads((tmp_path / "out" / "causes" / "replays.json").read_text(encoding="utf-8"))
    assert sum(made) == len(after) - len(kept)
    assert not capsys.readouterr().out.startswith("Interrupted")
