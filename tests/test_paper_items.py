"""Items of the papers on made-up replays: every item, and computations by hand; and the runs that show a cause."""

import hashlib
import itertools
import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import flashtwin as ft
from flashtwin.experiments import sets_of
from flashtwin.papers import bench, choose, origins, papers, running, swc_causes
from flashtwin.papers.ca_ssd import designs as ca_ssd
from flashtwin.papers.ca_ssd import workloads as ca_ssd_workloads
from flashtwin.papers.designs import Experiment
from flashtwin.papers.ds_ftl import designs as ds_ftl
from flashtwin.papers.facts import Fact, as_list, measured
from flashtwin.papers.model import Quantity, claims_of
from flashtwin.papers.rr_ssd import designs as rr_ssd
from flashtwin.papers.running import PaperBench, ReproductionOptions
from flashtwin.replays.presets import System
from flashtwin.results import schema
from flashtwin.results.trees import leaves

from . import tiny
from .test_papers import busy_trace


def drawn(*parts: object) -> float:
    """A number from 1 to 2, always the same of the same parts."""
    return 1.0 + int(hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:8], 16) / 2**32


DEFAULTS = dict(leaves(ft.system("conventional").config))


class FakeRun:
    """A replay whose figures are made up from its configuration; names that results do not have are refused."""

    def __init__(self, system: System) -> None:
        self.summary = {"config": system.config}
        # A key that comes later, and is at its default, changes no figure.
        own = {key: value for key, value in leaves(system.config) if DEFAULTS[key] != value}
        self._of = json.dumps(own, sort_keys=True)

    def get(self, dotted: str) -> float:
        schema.summary_field(dotted)
        return {"completed_ns": 1.0, "duration_ns": 1.0}.get(dotted) or drawn(self._of, dotted)

    @property
    def keeps_up(self) -> bool:
        return True

    def rows(self, table: str) -> list[dict[str, Any]]:
        columns = schema.TABLES[schema.run_table(table)]
        places = {"start_ns": 3, "chip": 1}
        return [
            {name: at // places[name] if name in places else drawn(self._of, table, name, at) for name in columns}
            for at in range(9)
        ]


@pytest.fixture
def fake_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bench.Stand]:
    """Makes stands of workloads: one small trace stands for all, and its replays are made up."""

    def runs(self: bench.Stand, chosen: Mapping[str, System], _: Any = None) -> dict[str, FakeRun]:
        return {name: FakeRun(system) for name, system in chosen.items()}

    monkeypatch.setattr(bench.Stand, "runs", runs)
    trace = busy_trace(tmp_path / "busy.fiu", 600)

    def source(days: int = 7, renewed: int = 0) -> origins.WorkloadSource:
        key = f"{renewed or days}"
        return origins.WorkloadSource("synthetic", "made up", key, 0.5, lambda _: trace, source)

    def stand(paper: str, workload: str) -> bench.Stand:
        one = papers()[paper]
        setup = one.setup.sets if one.setup else None
        return bench.Stand(one.workload(workload), source(), tmp_path / "kept", period_s=0.005, setup=setup)

    return stand


#: Items that replay hundreds of set-ups are measured on one workload, the others on all.
ON_ONE = {"sensitivity": {"rr-ssd": "mail", "ca-ssd": "homes", "ds-ftl": "online"},
          "set-ups": {"rr-ssd": "mail", "ca-ssd": "homes", "ds-ftl": "online"}}  # fmt: skip


def digest(value: Any) -> str:
    """Of an item as the results have it; the last digits of a number may be a library's."""
    text = json.dumps(json.loads(json.dumps(value), parse_float=lambda text: f"{float(text):.9g}"))
    return hashlib.sha256(text.encode()).hexdigest()[:6]


@pytest.mark.parametrize("name", ["rr-ssd", "ca-ssd", "ds-ftl"])
def test_every_item_is_computed_as_before(
    name: str, fake_stands: Callable[..., bench.Stand], golden_digests: Callable[..., None]
) -> None:
    paper = papers()[name]
    benches = {one.name: PaperBench(paper, one, paper.items) for one in paper.workloads}
    stands = {one: fake_stands(name, one) for one in benches}
    for item in paper.items:
        only = ON_ONE.get(item.id, {}).get(name)
        for workload in item.workloads:
            if only in (None, workload):
                benches[workload].facts[item.id] = item.measure(stands[workload])
    found = {item.id: running._item(item, list(benches.values())) for item in paper.items}
    golden_digests(name, {item: digest(of) for item, of in found.items()})


def test_swc_is_computed_as_before(golden_digests: Callable[..., None]) -> None:
    facts = {}
    for seed in range(9):
        one = tiny.characterized(f"{'mail' if seed % 3 else 'db'}{seed}", seed, content=True)
        facts[one.name] = {"row": one.row, "tables": one.tables}
    golden_digests("swc", {item.id: digest(asdict(item.judge(facts))) for item in papers()["swc"].items})


def judged(paper: str, name: str, facts: dict[str, Any]) -> Any:
    return next(item for item in papers()[paper].items if item.id == name).judge(facts)


def test_figure_of_something_undefined_is_undefined() -> None:
    one, two, nothing, none = (Fact((), lambda *_, value=value: value) for value in (1.0, 2.0, 0.0, None))
    found = [one - two, one / two * 100.0, one / nothing, one + none, none / 2.0, as_list(one, none)]
    assert list(measured(found, cast("bench.Stand", StandWithoutRuns())).values()) == [
        -1.0, 50.0, None, None, None, [1.0, None],
    ]  # fmt: skip


class StandWithoutRuns:
    def runs(self, chosen: Mapping[str, System], _: Any = None) -> dict[str, FakeRun]:
        assert not chosen
        return {}


def test_published_values_by_workload_make_its_claims() -> None:
    """Quantities of a tuple alternate in the order of their workloads; without a published value there is no claim."""
    x, y = Fact((), lambda *_: None), Fact((), lambda *_: None)
    facts = {"a": {x: 1.0, y: 2.0}, "b": {x: 3.0, y: 4.0}}

    def claimed(*quantities: Quantity) -> list[tuple[str, str, float | None]]:
        return [(one.subject, one.quantity, one.measured) for one in claims_of([quantities], facts, ["a", "b"])]

    assert claimed(Quantity("x", x, {"b": 1.0, "a": 2.0})) == [("b", "x", 3.0), ("a", "x", 1.0)]
    both = claimed(Quantity("x", x, {"b": 1.0}), Quantity("y", y, 5.0))
    assert both == [("a", "y", 2.0), ("b", "x", 3.0), ("b", "y", 4.0)]
    assert claimed(Quantity("x", x, 1.0), Quantity("y", y, 5.0))[1] == ("a", "y", 2.0)


def test_half_of_the_writes_goes_to_the_values_of_the_law() -> None:
    assert ca_ssd_workloads.by_law(0.0, 1000.0) == 500.0
    assert ca_ssd_workloads.values_for_half(0.0, 100, 1_000_000) == pytest.approx(50, abs=1)
    for exponent in (0.2, 0.4):
        # 0.5 = k^(1-a) / N^(1-a), with sums for integrals.
        found = ca_ssd_workloads.values_for_half(exponent, 1000, 10_000_000)
        assert found == pytest.approx(ca_ssd_workloads.by_law(exponent, 1000.0), rel=0.1)
    # One write a value: half of the writes cannot need more than half as many values as there are writes.
    assert ca_ssd_workloads.values_for_half(0.0, 10_000, 10_000) < 5_000


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> ft.Trace:
    return busy_trace(tmp_path_factory.mktemp("busy") / "busy.fiu", 25_000)


def test_trace_head_is_the_shortest_that_enters_statistics(trace: ft.Trace) -> None:
    short = swc_causes.head(trace)
    assert len(short) >= 10_000
    assert short.info["writes"] >= 5_000
    assert len(short) == 10_000 or short.info["writes"] == 5_000
    assert swc_causes.head(short).digest == short.digest, "no shorter one would do"


def test_requests_twice_as_large_keep_their_pattern(trace: ft.Trace) -> None:
    larger = swc_causes.twice_as_large(trace)
    before, after = trace.info, larger.info
    assert len(larger) == len(trace)
    assert after["read_bytes"] == 2 * before["read_bytes"]
    assert after["footprint_pages"] == 2 * before["footprint_pages"]
    assert after["sequential_percent"] == before["sequential_percent"]


def test_writes_evenly_spaced_are_as_many_for_each_page(trace: ft.Trace) -> None:
    def writes(of: ft.Trace) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        rows = of.to_arrow().select(["op", "offset_bytes"]).to_pylist()
        for at, row in enumerate(row for row in rows if row["op"] == 1):
            found.setdefault(row["offset_bytes"], []).append(at)
        return found

    before, after = writes(trace), writes(swc_causes.evenly(trace))
    assert {page: len(at) for page, at in before.items()} == {page: len(at) for page, at in after.items()}
    often = max(after, key=lambda page: len(after[page]))

    def uneven(at: list[int]) -> float:
        gaps = [later - sooner for sooner, later in itertools.pairwise(at)]
        return statistics.stdev(gaps) / statistics.mean(gaps)

    assert uneven(after[often]) < 0.3 < 0.8 < uneven(before[often])


def test_without_hot_pages_the_footprint_and_the_writes_stay(trace: ft.Trace) -> None:
    before, after = (swc_causes.pages_written(one) for one in (trace, swc_causes.without_hot_pages(trace)))
    assert len(before) == len(after)
    assert set(before) == set(after)

    def hottest(pages: swc_causes.Pages) -> float:
        counts = np.unique(pages, return_counts=True)[1]
        return float(counts.max() / counts.mean())

    assert hottest(after) < 2.0 < hottest(before)


def test_a_cause_stands_beside_what_it_spoils(tmp_path: Path) -> None:
    """Requests of 4 KB cost 0.52 times as much as those of one-sector pages, those of 8 KB less than half."""
    (tmp_path / "in").mkdir()
    busy_trace(tmp_path / "in" / "mail.fiu", 10_500, 3)
    options = ReproductionOptions(traces=tmp_path / "in", period_s=0.1)
    done = running.run(choose("swc", ["fig-1b", "fig-12"]), tmp_path / "out", options)
    by_ratio, reading = done.papers[0]["items"]
    halved = next(row for row in reading["tables"][-1]["rows"] if "halve" in row[1])
    assert halved[3:] == ["0 ✗", "100 ✓"]
    assert [row[1] for row in by_ratio["tables"][-1]["rows"]] == [one["quantity"] for one in by_ratio["claims"]]


@pytest.mark.parametrize(
    ("plan", "systems"),
    [
        (rr_ssd.EXPERIMENT, ("conventional", "ca-ssd", "rr-ssd", "oracle", "oracle-conventional")),
        (ca_ssd.EXPERIMENT, ("conventional", "ca-ssd-inverted")),
        (ds_ftl.EXPERIMENT, ("static", "dynamic", "hipa", "ds-ftl")),
    ],
    ids=["rr-ssd", "ca-ssd", "ds-ftl"],
)
def test_first_levels_of_an_experiment_are_the_presets(plan: Experiment, systems: tuple[str, ...]) -> None:
    for name in systems:
        default = plan.for_system(name, sets_of(plan.factors, {}))
        assert ft.system(name, settings=default).config == ft.system(name).config


def test_keys_of_ds_ftl_alone_leave_the_others_as_they_are() -> None:
    sets = {"ftl.spread.place": "same-place", "ftl.allocation.policy": "static", "ftl.allocation.order": "CWDP"}
    assert ds_ftl.for_system("ds-ftl", sets) == sets
    assert ds_ftl.for_system("hipa", sets) == {"ftl.allocation.order": "CWDP"}, "it is an allocation itself"
