"""Policies in Python: defaults written again give the same results, wrong ones are stopped, digests tell them apart."""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flashtwin as ft
from flashtwin.errors import ArgumentError, ConfigError, FlashtwinError
from flashtwin.policies.digest import Uncovered, digest
from flashtwin.policies.registry import FAMILIES

from . import tiny, tools
from .conftest import PATIENCE_S, clean_environment

ON_LINE = {"ftl.replication.policy": "on-line"}


@ft.policy("victim")
def greedy(plane: int, blocks: ft.PolicyTable) -> int:
    return min(np.flatnonzero(blocks.closed), key=lambda at: (blocks.valid[at], blocks.changed[at], at))


@ft.policy("victim")
def fifo(plane: int, blocks: ft.PolicyTable) -> int:
    return min(np.flatnonzero(blocks.closed), key=lambda at: blocks.closed[at])


@ft.policy("victim")
class CostBenefit:
    def __init__(self, drive: ft.DriveShape) -> None:
        self.pages = drive.pages_per_block

    def choose(self, plane: int, blocks: ft.PolicyTable) -> int:
        def rank(at: int) -> tuple[bool, Fraction, int, int]:
            valid, age = int(blocks.valid[at]), int(blocks.age[at])
            benefit = Fraction(age * (self.pages - valid), 2 * valid) if valid else Fraction(0)
            return valid == 0, benefit, age, -at

        return max(np.flatnonzero(blocks.closed), key=rank)


@ft.policy("placement")
def score(home: int, chips: ft.PolicyTable) -> int:
    def of(at: int) -> Fraction:
        free, stored, erases, blocks, popularity, load = (
            int(column[at])
            for column in (
                chips.free_pages, chips.stored_pages, chips.erases, chips.blocks, chips.popularity, chips.load,
            )
        )  # fmt: skip
        return Fraction(free * (stored + 1), (erases + blocks) * (popularity + 65536) * (load + 1))

    return max(np.flatnonzero(chips.may), key=lambda at: (of(at), -at))


@ft.policy("placement")
def successors(home: int, chips: ft.PolicyTable) -> int:
    count = len(chips.may)
    return next((at % count for at in range(home + 1, home + count) if chips.may[at % count]), -1)


@ft.policy("degree")
def proportional(popularity: int, drive: ft.DriveShape) -> int:
    return min(1 + popularity, drive.chips)


@ft.policy("allocation")
class Static:
    def __init__(self, drive: ft.DriveShape) -> None:
        self.planes = [
            (chip * drive.dies_per_chip + die) * drive.planes_per_die + plane
            for plane in range(drive.planes_per_die)
            for die in range(drive.dies_per_chip)
            for chip in range(drive.chips)
        ]

    def choose(self, address: int, chips: ft.PolicyTable) -> int:
        return self.planes[address % len(self.planes)]


@ft.policy("redirection")
def least_loaded_copy(copies: int, table: ft.PolicyTable) -> int:
    return min(range(copies), key=lambda at: (table.load[at], table.second_load[at], at))


@ft.policy("replication.period")
class EndOfPeriod:
    """A copy for each read, on the chips that follow the home chip: end-of-period with the placement `static`."""

    def __init__(self, drive: ft.DriveShape) -> None:
        self.chips = drive.chips

    def choose(self, contents: ft.PolicyTable, chips: ft.PolicyTable, budget: int) -> tuple[list[int], list[int]]:
        pairs = []
        rows = zip(contents.content, contents.popularity, contents.pages, contents.home, strict=True)
        for content, popularity, pages, home in rows:
            copies = min(1 + int(popularity), self.chips)
            pairs += [(content, (home + at) % self.chips) for at in range(int(pages), copies)]
        return [content for content, _ in pairs], [chip for _, chip in pairs]


TWINS: list[tuple[str, str, Any, str]] = [
    ("ftl.gc.victim", "greedy", greedy, "conventional"), ("ftl.gc.victim", "greedy", greedy, "rr-ssd"),
    ("ftl.gc.victim", "fifo", fifo, "conventional"), ("ftl.gc.victim", "cost-benefit", CostBenefit, "conventional"),
    ("ftl.replication.placement", "score", score, "rr-ssd"),
    ("ftl.replication.placement", "static", successors, "rr-ssd"),
    ("ftl.replication.degree", "popularity", proportional, "rr-ssd"),
    ("ftl.allocation.policy", "static", Static, "conventional"), ("ftl.allocation.policy", "static", Static, "rr-ssd"),
    ("ftl.redirection.policy", "replicas", least_loaded_copy, "rr-ssd"),
]  # fmt: skip


def replayed(name: str, sets: dict[str, Any], seed: int = 7, dies: int = 1) -> dict[str, Any]:
    """Everything that a run says, but for its configuration and what follows from the names in it."""
    drive = {**tiny.DRIVE, "nand.dies_per_chip": dies, "nand.planes_per_die": 3 - dies}
    system = ft.system(name, settings={**drive, **sets, "seed": seed})
    result = ft.replay(tiny.trace(seed=seed), tiny_filled(system))
    found = {key: value for key, value in result.summary.items() if key not in ("config", "traits")}
    return {**found, **{table: result.table(table).to_arrow().to_pylist() for table in result.table_names}}


def tiny_filled(system: ft.System) -> ft.System:
    return system.with_sets({"nand.blocks_per_plane": system._resolved.blocks_filled_by(4004, 0.75)})


@pytest.mark.parametrize(("key", "name", "policy", "system"), TWINS, ids=lambda one: getattr(one, "__name__", one))
@pytest.mark.parametrize("seed", [7, 8])
def test_default_in_python_gives_equal_results(key: str, name: str, policy: Any, system: str, seed: int) -> None:
    order = {"ftl.allocation.order": "CWDP", "ftl.allocation.stripe_pages": 1} if "allocation" in key else {}
    copies = {"ftl.replication.copies_per_read": 1.0, "ftl.replication.alpha": 0.3} if system == "rr-ssd" else {}
    on_line = ON_LINE if seed == 8 and system == "rr-ssd" else {}
    more = {**order, **copies, **on_line}
    own, builtin = (replayed(system, {**more, key: one}, seed, dies=seed - 6) for one in (policy, name))
    assert own == builtin
    assert own["erases"]["total"] > 100
    if "replication" in key:
        assert own["replication"]["replicas_made"] > 20 if "replicas_made" in own["replication"] else True


@ft.policy("victim")
class Drawn:
    """A random victim: each run gets an instance and a generator of its own."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.calls = 0

    def choose(self, plane: int, blocks: ft.PolicyTable) -> int:
        self.calls += 1
        return int(self.rng.choice(np.flatnonzero(blocks.closed)))

    def state(self) -> int:
        return self.calls

    def restore(self, state: int) -> None:
        self.calls = state


#: What a careless policy answers, or raises, among better answers.
ODD: list[Any] = [
    None, True, "1", 1.0, float("nan"), 10**30, -(10**30), 2**63 - 1, -(2**63), 2**32, 256, 1, 0, -1, -2, {}, [], [0],
    ([], []), ([0], [0, 1]), ([0], [10**6]), ([10**6], [0]), ([0, 0], [1, 1]), [[0]], ["a"], [None], [2**64 - 1], [-1],
    [0, 0], [0.5], np.int8(-1), np.uint64(2**64 - 1), np.zeros((2, 2), int), np.zeros(10**6, int), np.array(3), object,
    KeyError("x"), RecursionError(), MemoryError(), StopIteration(), SystemError("y"), UnicodeError("\ud800"),
]  # fmt: skip
#: Where a family is asked often, beside its key.
ASKED: dict[str, dict[str, Any]] = {
    "partition": {"ftl.partition.window": 0.1}, "eviction": {"ftl.dedup.fingerprint_entries": 100},
}  # fmt: skip


def plausible(draw: random.Random, of: str, number: int, tables: list[ft.PolicyTable]) -> Any:
    if of in ("victim", "placement"):
        return draw.choice([*np.flatnonzero(tables[0].closed if of == "victim" else tables[0].may), -1])
    if of == "partition":
        return [draw.randrange(number) for _ in tables[0].written]
    if of == "eviction":
        return draw.sample(range(len(tables[0].content)), 1)
    if of == "replication.period":
        alone = np.flatnonzero(tables[0].pages == 1)[: draw.randrange(3)]
        return tables[0].content[alone], (tables[0].home[alone] + draw.randrange(1, 8)) % 8
    return draw.randrange(1, 9) if of == "degree" else draw.randrange(min(number, 8) if of == "redirection" else 8)


def careless(family: str, seed: int) -> Any:
    draw = random.Random(seed)
    odd = draw.choice([0.0, 0.001, 0.02, 0.3])

    def drawn(*given: Any) -> Any:
        if draw.random() >= odd:
            number = next(one for one in given if not isinstance(one, ft.PolicyTable))
            return plausible(draw, family, number, [one for one in given if isinstance(one, ft.PolicyTable)])
        answer = draw.choice(ODD)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ft.policy(family)(drawn)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_answer_breaks_a_run(family: str) -> None:
    first, messages = int(os.environ.get("FLASHTWIN_SEED", "0")), []
    for seed in range(first, first + int(os.environ.get("FLASHTWIN_MUTANTS", "12"))):
        sets = {f"ftl.{FAMILIES[family].key}": careless(family, seed), "verify": True, **ASKED.get(family, {})}
        try:
            replayed("conventional" if family == "partition" else "rr-ssd", sets, seed)
            messages.append("")
        except ConfigError as error:
            messages.append(str(error))
    assert all(f"the {family} policy 'drawn' at the call (" in one for one in messages if one)
    assert any(messages)
    assert not all(messages)


def test_each_run_gets_an_instance_and_a_generator_of_its_seed() -> None:
    one, again = (replayed("conventional", {"ftl.gc.victim": Drawn}) for _ in range(2))
    assert one == again
    assert replayed("conventional", {"ftl.gc.victim": Drawn}, seed=8) != one


def wrong(family: str, answer: Any) -> Any:
    """A policy that gives one answer, or raises it."""

    def mistaken(number: int, *table: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer(number, *table) if callable(answer) else answer

    return ft.policy(family)(mistaken)


WRONG: list[tuple[str, Any, str]] = [
    ("victim", 10**9, "answered 1000000000: expected a block whose `closed` is not 0"),
    ("victim", -2, "answered -2"),
    ("victim", 2.5, "answered 2.5, of type <class 'float'>: expected a whole number"),
    ("victim", True, "answered True, of type <class 'bool'>"),
    ("victim", "first", "answered 'first', of type <class 'str'>"),
    ("victim", 1_000_000 * "x", "xx...xx"),
    ("victim", ZeroDivisionError("of mine"), "raised ZeroDivisionError: of mine"),
    ("victim", lambda _, blocks: int(np.flatnonzero(blocks.closed == 0)[0]), "expected a block whose `closed`"),
    ("victim", lambda _, blocks: blocks.valid.fill(0), "raised ValueError: assignment destination is read-only"),
    ("placement", lambda home, _: home, "expected a chip whose `may` is 1"),
    ("degree", 0, "at the call (popularity=1): it answered 0: expected a number of copies, from 1"),
    ("allocation", 10**6, "expected a plane of the drive"),
    ("redirection", lambda copies, _: copies, "expected the place of a copy"),
]
KEYS = {
    "victim": "ftl.gc.victim", "placement": "ftl.replication.placement", "degree": "ftl.replication.degree",
    "allocation": "ftl.allocation.policy", "redirection": "ftl.redirection.policy",
}  # fmt: skip


@pytest.mark.parametrize(("family", "answer", "message"), WRONG)
def test_wrong_policy_is_named_with_its_call(family: str, answer: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        replayed("rr-ssd", {KEYS[family]: wrong(family, answer)})
    text = str(caught.value)
    assert f"the {family} policy 'mistaken' at the call (" in text
    assert message in text
    assert len(text) < 1_000
    if isinstance(answer, Exception):
        assert caught.value.__cause__ is answer
        assert "mistaken" in {entry.name for entry in caught.traceback} | _frames(answer)


def _frames(error: BaseException) -> set[str]:
    found, trace = set(), error.__traceback__
    while trace is not None:
        found.add(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return found


def test_policy_that_never_frees_a_block_is_stuck() -> None:
    with pytest.raises(ConfigError, match=r"the victim policy 'mistaken': garbage collection is stuck"):
        replayed("conventional", {"ftl.gc.victim": wrong("victim", -1)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ft.policy("victims"), "there is no family of policies 'victims'; give one of degree, placement"),
        (lambda: ft.policy("victim")(3), "of type int, is no policy"),
        (
            lambda: ft.system("conventional", victim=Drawn(np.random.default_rng())),
            "an instance of the policy 'Drawn'",
        ),
        (lambda: ft.system("rr-ssd", placement=fifo), "made for this family"),
        (lambda: ft.policy("victim")(lambda *_: 0), "is no name of a policy"),
    ],
)
def test_refusals_name_the_cure(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(FlashtwinError) as caught:
        make()
    assert message in str(caught.value)


def test_policy_of_another_process_is_not_known() -> None:
    with pytest.raises(ConfigError, match="is not known in this process"):
        ft.replay(tiny.trace(), "conventional", settings={"gc.victim": "python:victim/gone@1"})


MODULE = """
import flashtwin as ft
K = 3
TABLE = {"a": [1, 2]}
class Base:
    SHIFT = 1
    def helper(self, at): return at + self.SHIFT
def add(at, more=2): return at + more + TABLE["a"][0]
@ft.policy("victim")
class Mine(Base):
    def choose(self, plane, blocks): return add(self.helper(K))
"""


def defined(folder: Path, text: str, name: str) -> Any:
    """The policy of a module with this text."""
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    space = {"__name__": name}
    exec(compile(text, str(file), "exec"), space)
    return space["Mine"]


def test_digest_covers_what_the_policy_refers_to(tmp_path: Path) -> None:
    edits = [
        ("K = 3", "K = 4"), ("[1, 2]", "[1, 3]"), ("SHIFT = 1", "SHIFT = 2"), ("more=2", "more=3"),
        ("self.helper(K)", "self.helper(K) + 1"), ("at + self", "at - self"),
    ]  # fmt: skip
    found = digest(defined(tmp_path, MODULE, "first"))
    assert digest(defined(tmp_path, MODULE.replace("def choose", "# why\n    def choose"), "comment")) == found
    changed = [digest(defined(tmp_path, MODULE.replace(*edit), f"edit{at}")) for at, edit in enumerate(edits)]
    assert len({found, *changed}) == len(edits) + 1


def test_edited_global_changes_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ft.system("conventional", victim=shifted)
    monkeypatch.setitem(globals(), "K", 4)
    after = ft.system("conventional", victim=shifted)
    assert before.config["ftl"]["gc"]["victim"] != after.config["ftl"]["gc"]["victim"]
    with pytest.raises(ConfigError, match="was changed since the system was made"):
        ft.replay(tiny.trace(), before)


K = 3


@ft.policy("victim")
def shifted(plane: int, blocks: ft.PolicyTable) -> int:
    return int(np.flatnonzero(blocks.closed)[0]) + 0 * K


def test_uncovered_policy_is_refused_by_stores_alone(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    rule = "max(range(len(blocks.closed)), key=lambda at: (blocks.closed[at] > 0, -blocks.valid[at]))"
    exec(f"def nowhere(plane, blocks): return {rule}", space)
    policy = ft.policy("victim")(space["nowhere"])
    with pytest.raises(Uncovered, match="has no source in Python; define it in a file"):
        digest(policy)
    system = tiny_filled(tiny.system("conventional", ftl__gc__victim=policy))
    assert ft.replay(tiny.trace(), system).summary["erases"]["total"] > 0
    with pytest.raises(ArgumentError, match="cannot be told from others, so that no store can keep its runs: nowhere"):
        ft.sweep(tiny.trace(), tmp_path / "out", system, report=False)


@pytest.mark.parametrize("value", [np.random.default_rng(1), sys.stdout, object(), time])
def test_digest_refuses_values_without_a_stable_text(value: Any) -> None:
    def holder() -> Any:
        return value

    if value is time:
        assert digest(holder)
        return
    with pytest.raises(Uncovered, match="value in"):
        digest(holder)


def of_name_mine(step: int) -> Any:
    """Policies of one name, told apart by a value in their closure alone."""

    @ft.policy("victim")
    def mine(plane: int, blocks: ft.PolicyTable) -> int:
        closed = np.flatnonzero(blocks.closed)
        return int(closed[np.lexsort((closed * step, blocks.valid[closed]))[0]])

    return mine


def test_sweep_in_processes_tells_policies_apart(tmp_path: Path) -> None:
    file = tmp_path / "tiny.parquet"
    tiny.trace().write_parquet(file)
    system = tiny_filled(tiny.system("conventional"))
    policies = [of_name_mine(1), of_name_mine(-1), "greedy"]
    swept = ft.sweep(file, tmp_path / "out", system, settings={"gc.victim": policies}, workers=2, report=False)
    assert swept.complete
    assert len(list((tmp_path / "out" / "store" / "runs").glob("*/*.json"))) == 3
    again = ft.sweep(file, tmp_path / "out", system, settings={"gc.victim": [of_name_mine(1)]}, workers=2, report=False)
    here = ft.replay(file, system.with_sets({"ftl.gc.victim": of_name_mine(1)}))
    assert again.to_arrow().to_pylist()[0]["pages_programmed"] == here.summary["pages_programmed"]


def test_compare_and_study_and_drive(tmp_path: Path) -> None:
    mine = tiny_filled(tiny.system("rr-ssd", ftl__replication__placement=score))
    builtin = tiny_filled(tiny.system("rr-ssd", ftl__replication__placement="score"))
    both = ft.compare(tiny.trace(), {"mine": mine, "builtin": builtin}, threads=2)
    assert both["mine"].response == both["builtin"].response
    assert (
        ft.Comparison.read(both.save(tmp_path / "out"))["mine"]
        .row["config.ftl.replication.placement"]
        .startswith("python:placement/score@")
    )
    ft.study(tiny.trace(), tmp_path / "study", {"builtin": builtin, "mine": mine}, report=False)
    assert {"mine", "builtin"} <= set(ft.Comparison.read(tmp_path / "study"))


def test_wrong_policy_closes_a_drive_in_virtual_time() -> None:
    nand = {key: value for key, value in tiny.DRIVE.items() if key.startswith("nand.")}
    settings = {**nand, "gc.victim": wrong("victim", 10**9)}
    drive = ft.Drive("conventional", size="4M", fill=0.8, settings=settings)
    offsets = np.arange(1024) * 4096
    drive.submit(0, "write", offsets, np.full(1024, 4096))
    with pytest.raises(ConfigError, match="victim policy 'mistaken' at the call"):
        drive.submit(10**12, "write", np.tile(offsets, 4), np.full(4096, 4096))


def test_on_dask(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="flashtwin[dask] is not installed")
    file = tmp_path / "tiny.parquet"
    tiny.trace().write_parquet(file)
    system = tiny_filled(tiny.system("conventional", ftl__gc__victim=greedy))
    with distributed.LocalCluster(n_workers=1, processes=True, dashboard_address=None) as there:
        done = ft.sweep(file, tmp_path / "out", system, speed=[1, 2], on=there, report=False)
    assert done.counts == {"done": 2, "failed": 0, "missing": 0}


LOOP = """
import sys, flashtwin as ft
from tests import tiny
from tests.test_policies import tiny_filled
@ft.policy("victim")
def endless(plane, blocks):
    print("called", flush=True)
    while True: pass
ft.replay(tiny.trace(), tiny_filled(tiny.system("conventional", ftl__gc__victim=endless)))
"""


def test_interrupt_ends_an_endless_policy_within_a_second() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", LOOP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=clean_environment(), cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    assert program.stdout is not None
    assert program.stdout.readline() == "called\n"
    program.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = program.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - began < 10
    assert "KeyboardInterrupt" in err


C_GREEDY = """
#include <stdint.h>
int64_t greedy(int64_t plane, int64_t length, const int64_t *valid, const int64_t *erases, const int64_t *closed,
               const int64_t *changed, const int64_t *age) {
    int64_t best = -1;
    for (int64_t at = 0; at < length; at++)
        if (closed[at] && (best < 0 || valid[at] < valid[best] ||
                           (valid[at] == valid[best] && changed[at] < changed[best])))
            best = at;
    return best;
}
"""


def test_compiled_function_is_called_by_its_address(tmp_path: Path) -> None:
    tools.need("cc")
    (tmp_path / "greedy.c").write_text(C_GREEDY)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", "greedy.so", "greedy.c"], cwd=tmp_path, check=True)
    function = ctypes.CDLL(str(tmp_path / "greedy.so")).greedy
    with pytest.raises(ArgumentError, match="has no types"):
        ft.policy("victim")(function)
    function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_int64] * 2 + [ctypes.c_void_p] * 5
    compiled = ft.policy("victim", name="compiled")(function)
    assert replayed("conventional", {"ftl.gc.victim": compiled}) == replayed(
        "conventional", {"ftl.gc.victim": "greedy"}
    )
    with pytest.raises(ArgumentError, match="has 7 parameters; a compiled policy of this family has 3"):
        ft.policy("allocation")(function)


def test_aged_drives_keep_data_or_say_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from flashtwin.replays import aged

    monkeypatch.setenv(aged.VARIABLE, str(tmp_path))
    monkeypatch.setattr(aged, "LEAST_S", 0.0)
    fresh = replayed("conventional", {"ftl.gc.victim": Drawn})
    assert len(aged.drives()) == 1
    assert replayed("conventional", {"ftl.gc.victim": Drawn}) == fresh
    replayed("conventional", {"ftl.gc.victim": CostBenefit})
    assert len(aged.drives()) == 1
    assert "has no `state()` and `restore(state)`" in caplog.text


def test_check_policy_finds_an_answer_that_differs() -> None:
    assert ft.check_policy(greedy, drives=2).calls > 100
    calls = iter(range(10**9))

    @ft.policy("victim")
    def drifting(plane: int, blocks: ft.PolicyTable) -> int:
        closed = np.flatnonzero(blocks.closed)
        return int(closed[next(calls) * 7919 % len(closed)])

    with pytest.raises(ConfigError, match="answers differently in two equal runs"):
        ft.check_policy(drifting, drives=1)
    for policy in (score, proportional, Static, least_loaded_copy):
        assert ft.check_policy(policy, drives=1).calls > 0


def test_plan_of_copies_equals_the_built_in_one() -> None:
    """In the first period no content has copies, so that the chips after its home chip are those of `static`."""
    sets = {"ftl.replication.alpha": 3.0, "replay.period_s": 700.0}
    static = {"ftl.replication.policy": "end-of-period", "ftl.replication.placement": "static"}
    own, builtin = (replayed("rr-ssd", {**sets, **more}) for more in ({"ftl.replication.policy": EndOfPeriod}, static))
    assert own == builtin
    assert own["replication"]["copies"] > 100
    assert ft.check_policy(one_each, drives=2).calls > 0


@ft.policy("replication.period")
def one_each(contents: ft.PolicyTable, chips: ft.PolicyTable, budget: int) -> tuple[Any, Any]:
    """A copy of each content that has none, on the chip after its home chip if that has room."""
    chip = (contents.home + 1) % len(chips.free_pages)
    may = (contents.pages == 1) & (chips.free_pages[chip] > len(chip))
    return contents.content[may], chip[may]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (3, "it answered 3: expected two arrays of whole numbers of equal length"),
        (([1], [1, 2]), "it answered int64[1], int64[2]: expected two arrays"),
        (([0.5], [1]), "it answered float64[1], int64[1]: expected"),
        (([10**9], [1]), "it answered a copy of content 1000000000 on chip 1: expected contents of the table"),
    ],
)
def test_wrong_plan_is_named(answer: Any, message: str) -> None:
    @ft.policy("replication.period")
    def mistaken(contents: ft.PolicyTable, chips: ft.PolicyTable, budget: int) -> Any:
        return answer

    with pytest.raises(ConfigError) as caught:
        replayed("rr-ssd", {"ftl.replication.policy": mistaken})
    assert "the replication.period policy 'mistaken' at the call (budget=" in str(caught.value)
    assert message in str(caught.value)
