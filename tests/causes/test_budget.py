"""A budget of time is kept, spent on what tells most, and what it did not reach is said; Ctrl-C loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin import _core, cli
from flashtwin.causes import replaying
from flashtwin.causes.budget import ROUNDS, Budget
from flashtwin.causes.candidates import BY_NAME
from flashtwin.causes.case import Sets, key_of
from flashtwin.causes.explaining import InterruptedExplanation, _told
from flashtwin.causes.figures import Figures, usual_goal
from flashtwin.causes.inquiry import Inquiry
from flashtwin.causes.replaying import KeptFigures, base_replays, replay_all
from flashtwin.replays.presets import system

from .scenarios import hash_lane, nothing, slow_bus


@dataclass
class Clock:
    """Seconds that pass only when told to."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_only_what_fits_is_begun() -> None:
    clock = Clock(100.0)
    budget = Budget(10.0, 2, 3.0, clock)
    assert budget.fits(100) == 6
    assert budget.fits(5) == 5
    assert budget.next(100) == ROUNDS * 2
    clock.now += 5.0
    assert budget.fits(100) == 2
    clock.now += 5.0
    assert (budget.fits(100), budget.left_s) == (0, 0.0)
    clock.now += 0.1
    assert budget.left_s < 0


def test_what_a_replay_takes_is_learned() -> None:
    budget = Budget(100.0, 2, 1.0, Clock())
    budget.ended(4, 20.0)
    assert budget.replay_s == 10.0
    budget.ended(1, 4.0)
    assert budget.replay_s == 8.0
    assert budget.fits(100) == 24


def test_without_a_budget_all_fits() -> None:
    budget = Budget(None, 2, 1e9, Clock())
    assert budget.fits(100) == 100
    assert budget.left_s > 0


@dataclass
class Machine:
    """Replays that take a known time; every one says what the base does, unless it is told otherwise."""

    cost_s: Callable[[Sets], float]
    base: Figures
    clock: Clock = field(default_factory=Clock)
    done: list[Sets] = field(default_factory=list)

    def run(
        self, _: ft.Trace, wishes: Sequence[replaying._Wish], kept: KeptFigures, threads: int,
        watch: Callable[[int, int, int], None],
    ) -> None:  # fmt: skip
        """As `replaying._run`: so many at a time, looking at the time every 50 ms."""
        for first in range(0, len(wishes), threads):
            together = wishes[first : first + threads]
            ends = self.clock.now + max(self.cost_s(wish.sets) for wish in together)
            while self.clock.now < ends:
                self.clock.now = min(self.clock.now + 0.05, ends)
                watch(0, 0, 0)
            for wish in together:
                kept.keep(wish.key, self.base)
                wish.grant(self.base)
                self.done.append(wish.sets)


@dataclass
class Asked:
    """One inquiry, with real figures to begin with."""

    trace: ft.Trace
    inquiry: Inquiry

    @classmethod
    def of(cls, name: str = "ca-ssd") -> Asked:
        """Bursts of duplicates on a hash unit."""
        trace, chosen = hash_lane().trace(), system(name)
        figures, took_s = base_replays(trace, {name: chosen}, KeptFigures(None))
        assert took_s is not None
        return cls(trace, Inquiry(chosen, figures[name], usual_goal(chosen.config)))


def spend(monkeypatch: pytest.MonkeyPatch, cost_s: Callable[[Sets], float], **how: float) -> tuple[Machine, Inquiry]:
    asked = Asked.of()
    machine = Machine(cost_s, asked.inquiry.base)
    monkeypatch.setattr(replaying, "_run", machine.run)
    replay_all(asked.trace, [asked.inquiry], KeptFigures(None), clock=machine.clock, **how)  # type: ignore[arg-type]
    return machine, asked.inquiry


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("effort_s", [0.0, 0.9, 3.5, 10.0])
def test_a_budget_is_filled_and_kept(monkeypatch: pytest.MonkeyPatch, threads: int, effort_s: float) -> None:
    machine, inquiry = spend(monkeypatch, lambda _: 1.0, effort_s=effort_s, replay_s=1.0, threads=threads)
    assert machine.clock.now <= effort_s
    left = inquiry.left_out()
    assert len(machine.done) == int(effort_s) * threads or not any(left.values())
    assert (left["causes"] > 0) == (len(machine.done) < len(inquiry.ideals))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cost_s", [2.0, 7.0, 30.0])
def test_replays_that_take_longer_than_thought_are_given_up(
    monkeypatch: pytest.MonkeyPatch, threads: int, cost_s: float
) -> None:
    """The guess is a thousand times too small: the time that may pass is the same, and far from one replay more."""
    machine, inquiry = spend(monkeypatch, lambda _: cost_s, effort_s=10.0, replay_s=0.001, threads=threads)
    assert machine.clock.now <= 10.0 + 0.1
    assert len(machine.done) <= int(10.0 / cost_s) * threads
    assert any(inquiry.left_out().values()) or len(machine.done) >= len(inquiry.ideals)


def test_one_dear_replay_does_not_break_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    dear = iter([1.0, 1.0, 50.0])
    machine, _ = spend(monkeypatch, lambda _: next(dear, 1.0), effort_s=10.0, replay_s=1.0, threads=1)
    assert machine.clock.now <= 10.0 + 0.1
    assert len(machine.done) == 2


def test_what_tells_most_is_replayed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller budget does the first of what a larger one does; the ledger proposes the hash unit at once."""
    all_of_it, inquiry = spend(monkeypatch, lambda _: 1.0, effort_s=None, threads=1)  # type: ignore[arg-type]
    for effort_s in (1.0, 4.0, 9.0):
        machine, _ = spend(monkeypatch, lambda _: 1.0, effort_s=effort_s, replay_s=1.0, threads=1)
        assert machine.done == all_of_it.done[: int(effort_s)]
    assert all_of_it.done[0] == BY_NAME["hash"].off(inquiry.case).sets
    assert list(inquiry.left_out().values()) == [0, 0, 0, 0]


def faster(sets: Sets, base: Figures) -> Figures:
    """Told so, hashing at no cost halves the figure, and nothing else does anything."""
    half = {kind: {name: ns / 2 for name, ns in of.items()} for kind, of in base.response.items()}
    return replace(base, response=half) if "engine.hash_us" in sets else base


def test_likely_causes_then_steps_then_all_else() -> None:
    """What the ledger speaks for comes first, then lanes against the hash unit, then other causes, the knee last."""
    inquiry = Asked.of().inquiry
    base = inquiry.base
    asked = []
    while wanted := inquiry.wanted():
        asked.append(wanted)
        inquiry.known |= {key_of(sets): faster(sets, base) for sets in wanted}
    likely, steps, others, *_, knee = asked
    ideals = [one.key for one in inquiry.ideals]
    assert {key_of(sets) for sets in [*likely, *others]} == set(ideals)
    assert key_of(likely[0]) == ideals[0]
    assert {tuple(sets) for sets in steps} == {("engine.hash_lanes",)}
    assert all(set(sets) <= {"replay.speed", "engine.hash_lanes"} for sets in knee)
    assert inquiry.left_out() == {"causes": 0, "steps": 0, "pairs": 0, "knee": 0}


def test_what_is_missing_is_counted() -> None:
    inquiry = Asked.of().inquiry
    inquiry.known |= {one.key: faster(dict(one.sets), inquiry.base) for one in inquiry.ideals}
    steps = inquiry.wanted()
    assert inquiry.left_out()["steps"] == len({key_of(sets) for sets in steps}) > 0
    inquiry.known |= {key_of(sets): inquiry.base for sets in steps}
    assert inquiry.left_out()["steps"] == 0
    # Some points of the knee are steps that were taken.
    assert 0 < inquiry.left_out()["knee"] < len(inquiry._knee())
    inquiry.known |= {one.key: inquiry.base for one in inquiry._knee()}
    assert inquiry.left_out()["knee"] == 0


def test_what_was_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked.of()
    machine = Machine(lambda _: 1.0, asked.inquiry.base)
    monkeypatch.setattr(replaying, "_run", machine.run)
    one = asked.inquiry
    replay_all(asked.trace, [one], KeptFigures(None), effort_s=3.0, replay_s=1.0, threads=1, clock=machine.clock)
    found = _told(asked.trace, {"ca-ssd": one})["ca-ssd"]
    assert found.data["replays"] == 3
    assert one.left_out()["causes"] == len(one.untried()) > 0
    said = next(sentence for sentence in found.data["more"] if sentence.startswith("The time did not allow for"))
    for untried in one.untried():
        assert BY_NAME[untried.of[0]].words in said
    assert "--effort 1h` does that." in said


def test_nothing_is_no_answer_before_all_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, chosen = nothing().trace(), system("conventional")
    figures, _ = base_replays(trace, {"conventional": chosen}, KeptFigures(None))
    inquiry = Inquiry(chosen, figures["conventional"], usual_goal(chosen.config))
    machine = Machine(lambda _: 1.0, inquiry.base)
    monkeypatch.setattr(replaying, "_run", machine.run)
    verdicts = {}
    for effort_s in (2.0, None):
        replay_all(
            trace,
            [inquiry],
            KeptFigures(None),
            effort_s=effort_s,
            replay_s=1.0,
            threads=1,
            clock=machine.clock,
        )
        verdicts[effort_s] = _told(trace, {"conventional": inquiry})["conventional"].answer
    assert verdicts == {2.0: "unknown", None: "nothing"}


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C once five replays are kept."""
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
        ft.explain(one.trace(), one.system, settings=one.settings, effort_s=None, threads=1)
    found = stopped.value.found[one.system]
    assert found.data["interrupted"]
    assert found.data["causes"]
    assert found.text.splitlines()[0] == "Interrupted after 5 replays; the answer so far:"
    assert any(sentence.startswith("Interrupted before ") for sentence in found.data["more"])


def words(trace: Path, *more: str) -> list[str]:
    return ["explain", str(trace), "--system", "conventional", "--set", "nand.bus_mt_s=20", "--threads", "1", *more]


@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_prints_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow_bus().trace().write_parquet(tmp_path / "bus.parquet")
    assert cli.run(words(tmp_path / "bus.parquet")) == 130
    out, err = capsys.readouterr()
    assert out.startswith("Interrupted after 5 replays; the answer so far:\n")
    assert err.splitlines() == ["interrupted; no incomplete file was left"]
    assert cli.run(words(tmp_path / "bus.parquet", "--json")) == 130
    (found,) = json.loads(capsys.readouterr().out)
    assert found["interrupted"]


def test_with_a_folder_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    slow_bus().trace().write_parquet(tmp_path / "bus.parquet")
    line = words(tmp_path / "bus.parquet", "--out", str(tmp_path / "out"), "--effort", "1h")
    with monkeypatch.context():
        request.getfixturevalue("interrupted")
        assert cli.run(line) == 130
    assert f"the replays are kept in {tmp_path / 'out'}" in capsys.readouterr().err
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
