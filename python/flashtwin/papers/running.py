"""Runs papers: measures every item on every workload, judges, writes results and the report."""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flashtwin.arguments import checked
from flashtwin.characterization.measuring import PERIOD_S
from flashtwin.errors import ArgumentError, FlashtwinError
from flashtwin.papers import charts, choose, markdown, sensitivity
from flashtwin.papers.bench import Stand, Stopped
from flashtwin.papers.claims import Agreement, Claim, judge
from flashtwin.papers.facts import measured
from flashtwin.papers.model import Item, Paper, PaperWorkload, Scale
from flashtwin.papers.origins import WorkloadSource, find
from flashtwin.papers.panels import Facts
from flashtwin.progress import Notify, Progress
from flashtwin.results import folder, names
from flashtwin.sweeps import crew, plan, store

WORKLOADS = "workloads"
CACHE = "traces"


@dataclass(frozen=True)
class ReproductionOptions:
    traces: Path | None = None
    scale: Scale = "default"
    seed: int = 0
    period_s: float = PERIOD_S
    workloads: tuple[str, ...] = ()
    workers: int = 0
    #: A Dask cluster to measure on, as in `sweep`.
    on: Any = None
    #: Only this part of the workloads, beside other processes in the same folder; nothing is put together.
    shard: tuple[int, int] | None = None
    report: bool = True


@dataclass
class PaperBench:
    """One paper's workload on the bench: its stand, the measurements of each item, and why some are missing."""

    paper: Paper
    workload: PaperWorkload
    items: Sequence[Item]
    facts: dict[str, Facts] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    statistics: list[dict[str, Any]] = field(default_factory=list)
    source: WorkloadSource | None = None
    replayed: int = 0


@dataclass(frozen=True)
class Reproduction:
    path: Path
    #: The page; None of one part of several, and if it was left out.
    report: Path | None
    papers: list[dict[str, Any]]
    replayed: int


@checked
def reproduce(
    paper: str | None = None,
    items: Sequence[str] = (),
    *,
    out: str | Path = "reproduction",
    traces: str | Path | None = None,
    scale: Scale = "default",
    seed: int = 0,
    period_s: float = PERIOD_S,
    workloads: Sequence[str] = (),
    workers: int = 0,
    on: Any = None,
    shard: str | None = None,
    report: bool = True,
    progress: Progress | None = None,
) -> Reproduction:
    """Re-runs the tables and figures of a paper and compares them with the published numbers (docs/reproduction.md).

    Args:
        paper: `"rr-ssd"`, `"ca-ssd"`, `"ds-ftl"` or `"swc"`; all four where none is named.
        items: the paper's tables and figures, as `flashtwin reproduce --list` names them; all where none is.
        out: folder of the results and the report. Every replay is kept there as it finishes and not done again.
        traces: folder of recorded traces; recipes stand in for those that are not there.
        scale: size of the synthetic workloads, as a share of the published one (above 0, at most 1); `"default"`
            and `"quick"` take an hour and some minutes, for all papers together.
        seed: seed of the synthetic workloads.
        period_s: length of a day of the traces in seconds.
        workloads: only these.
        workers: replays at once; 0: one for each core.
        on: a Dask cluster, a Dask client or an address to measure on, as in `sweep`.
        shard: `"2/8"`: only the second of eight parts of the workloads, beside other processes in the same folder;
            papers and report are left to a call without it.
        report: whether to draw the page; `flashtwin.report.build` draws it later.
        progress: told `"items"`, how many are measured (one a workload) and how many there are (`flashtwin.progress`).

    Returns:
        The report's path (`report`; None of a part), the results (`papers`), and how many
        replays it took (`replayed`).

    Raises:
        ArgumentError: the scale is neither such a share nor one of the two names.
        FlashtwinError: a name is not known, or the folder holds something else.

    >>> import flashtwin as ft
    >>> found = ft.reproduce("ca-ssd", ["fig-8"], out="out/ca-ssd", scale=0.001)
    >>> [item["id"] for paper in found.papers for item in paper["items"]]
    ['fig-8']
    """
    if scale not in ("default", "quick") and not (isinstance(scale, int | float) and 0 < scale <= 1):
        raise ArgumentError(f"scale is {scale!r}: expected 'default', 'quick' or a share above 0, up to 1")
    shared = plan.shard(shard) if shard else None
    how = ReproductionOptions(
        Path(traces) if traces is not None else None, scale, seed, period_s, tuple(workloads), workers, on, shared,
        report,
    )  # fmt: skip
    return run(choose(paper, items), Path(out), how, progress=progress)


def run(
    chosen: Sequence[tuple[Paper, Sequence[Item]]], out: Path, how: ReproductionOptions, *,
    progress: Progress | None = None, notify: Notify | None = None,
) -> Reproduction:  # fmt: skip
    """Measures items and writes their results; done again with the same folder, no replay is made twice.

    Of a part of the workloads the folder keeps the replays, for the last call without one.
    """
    # Several parts write into one folder at once, so that none holds it.
    held = folder.prepared if how.shard is None else folder.unlocked
    with held(out, holding=names.REPRODUCTION) as path:
        if how.shard is not None:
            store.clear_left_over(path)
        store.write_synced(path / names.MADE_FROM, b"{}\n")
        (path / CACHE).mkdir(exist_ok=True)
        found = plan.shared(list(benches(chosen, how)), how.shard)
        if how.on is not None:
            _elsewhere(found, path, how, progress)
        if how.shard is None or how.on is None:
            _measure_all(found, path, how, progress)
        replayed = sum(one.replayed for one in found)
        if how.shard is not None:
            return Reproduction(path, None, [], replayed)
        papers = _written(chosen, found, path, how)
        if notify:
            notify(f"{replayed} replays made" if replayed else "no replay was needed")
        page = charts.page(path, how.workers or crew.cores()) if how.report else None
        if page is None:
            folder.without_report(path)
    return Reproduction(path, page, papers, replayed)


def _written(
    chosen: Sequence[tuple[Paper, Sequence[Item]]], found: Sequence[PaperBench], path: Path, how: ReproductionOptions
) -> list[dict[str, Any]]:
    """The results of all papers, judged and written."""
    if not any(one.facts for one in found):
        reasons = [reason for one in found for reason in one.failures.values()]
        raise FlashtwinError((*reasons, "no workload of that name; see `flashtwin reproduce --list`")[0])
    papers = [_paper(paper, items, [one for one in found if one.paper is paper], how) for paper, items in chosen]
    choices = _sensitivity(chosen, found)
    folder.write_json(
        path / names.REPRODUCTION, {"flashtwin": folder.VERSION, "papers": papers, "sensitivity": choices}
    )
    folder.write_text(path / names.CLAIMS, claims_csv(papers))
    folder.write_text(path / names.REPRODUCTION_PAGE, markdown.page(papers, choices))
    return papers


def _elsewhere(found: Sequence[PaperBench], path: Path, how: ReproductionOptions, progress: Progress | None) -> None:
    """Measures workloads on a cluster; the caller, which puts the papers together, finds the replays in the folder."""
    traces = None if how.traces is None else str(how.traces.resolve())
    shared = (str(path.resolve()), traces, how.scale, how.seed, how.period_s)
    tasks = [PaperTask(one.paper.id, one.workload.name, tuple(item.id for item in one.items), *shared) for one in found]
    for done, _ in enumerate(crew.at_work(tasks, 1, how.on), start=1):
        if progress:
            progress("workloads", done, len(found))


@dataclass(frozen=True)
class PaperTask(crew.Task):
    """One workload of one paper, to be measured into the folder."""

    paper: str
    workload: str
    items: tuple[str, ...]
    out: str
    traces: str | None
    scale: Scale
    seed: int
    period_s: float

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PaperTask:
        return cls(**{**value, "items": tuple(value["items"])})

    @property
    def place(self) -> str:
        return self.workload

    @property
    def too_large(self) -> str:
        return f"{self.paper} {self.workload}: does not fit into memory; try a smaller --scale"

    def do(self) -> None:
        traces = Path(self.traces) if self.traces else None
        how = ReproductionOptions(traces, self.scale, self.seed, self.period_s, (self.workload,))
        for bench in benches(choose(self.paper, self.items), how):
            measure(bench, Path(self.out), how, lambda: 1, threading.Event(), lambda: None)

    def lost(self, why: str) -> str:
        return f"{self.paper} {self.workload}: the process that measured it ended ({why}), out of memory perhaps"


def benches(chosen: Sequence[tuple[Paper, Sequence[Item]]], how: ReproductionOptions) -> Iterator[PaperBench]:
    for paper, items in chosen:
        known = paper.population(how.traces) if paper.population else paper.workloads
        for workload in known:
            wanted = [item for item in items if paper.population or workload.name in item.workloads]
            if wanted and (not how.workloads or workload.name in how.workloads):
                yield PaperBench(paper, workload, wanted)


def _measure_all(
    benches: Sequence[PaperBench], path: Path, how: ReproductionOptions, progress: Progress | None
) -> None:
    """Measures workloads side by side, each in a thread: the core runs without Python's lock."""
    cores = how.workers or crew.cores()
    stop, lock = threading.Event(), threading.Lock()
    done, total, left = 0, sum(len(one.items) + 1 for one in benches), len(benches)

    def threads() -> int:
        """The last workloads make several replays at once, so that no core waits for them."""
        return max(1, cores // max(left, 1))

    def step() -> None:
        nonlocal done
        with lock:
            done += 1
            if progress:
                progress("items", done, total)

    if progress:
        progress("items", 0, total)
    with ThreadPoolExecutor(max(1, min(cores, len(benches)))) as pool:
        # The largest begins first, so that no core waits for it at the end.
        ordered = sorted(benches, key=lambda one: one.workload.size, reverse=True)
        waiting = {pool.submit(measure, one, path, how, threads, stop, step) for one in ordered}
        try:
            while waiting:
                # Wakes now and then, so that Ctrl-C is seen.
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                left = len(waiting)
                for future in finished:
                    future.result()
        except BaseException:
            stop.set()
            for future in waiting:
                future.cancel()
            raise


def measure(
    bench: PaperBench, path: Path, how: ReproductionOptions, threads: Callable[[], int], stop: threading.Event,
    step: Callable[[], None],
) -> None:  # fmt: skip
    """All items of one workload, one after another, on one stand."""
    workload = bench.workload
    try:
        bench.source = find(workload, how.traces, bench.paper.scale(how.scale), how.seed, path / CACHE)
        place = path / WORKLOADS / f"{bench.paper.id}-{re.sub(r'[^A-Za-z0-9_.+-]', '-', workload.name)}"
        stand = Stand(
            workload, bench.source, place, period_s=how.period_s * bench.source.scale, threads=threads, stop=stop,
            options=bench.paper.options, setup=bench.paper.setup.sets if bench.paper.setup else None,
        )  # fmt: skip
        figures = measured([one.fact for one in workload.statistics], stand)
        bench.statistics = [
            {**_claim(replace(one.claim(workload.name, figures[one.fact], ""), subject=one.title)),
             "place": workload.place}
            for one in workload.statistics
        ]  # fmt: skip
    except FlashtwinError as error:
        bench.failures = {item.id: str(error) for item in bench.items}
        return
    step()
    for item in bench.items:
        if stop.is_set():
            raise Stopped
        try:
            bench.facts[item.id] = item.measure(stand)
        except FlashtwinError as error:
            bench.failures[item.id] = str(error)
        step()
    stand.close()
    bench.replayed = stand.replayed


def _paper(
    paper: Paper, items: Sequence[Item], benches: Sequence[PaperBench], how: ReproductionOptions
) -> dict[str, Any]:
    return {
        "id": paper.id, "title": paper.title, "citation": paper.citation, "setting": paper.setting, "seed": how.seed,
        "period_s": how.period_s,
        "workloads": [
            {
                "name": one.workload.name,
                "kind": one.source.kind if one.source else None,
                "label": one.source.label if one.source else next(iter(one.failures.values()), ""),
                "scale": one.source.scale if one.source else None,
                "statistics": one.statistics,
            }
            for one in benches
        ],
        "items": [_item(item, benches) for item in items],
    }  # fmt: skip


def _sensitivity(chosen: Sequence[tuple[Paper, Sequence[Item]]], benches: Sequence[PaperBench]) -> list[dict[str, Any]]:
    """The effects of the engine's choices in several papers, as one table; a single paper's own item has them."""
    plans = [(paper, one) for paper, _ in chosen for one in paper.items if isinstance(one, sensitivity.Sensitivity)]
    measured = [
        (paper.id, plan, facts)
        for paper, plan in plans
        if (facts := _facts(plan.id, [one for one in benches if one.paper is paper]))
    ]
    return sensitivity.together(measured) if len(measured) > 1 else []


def _facts(item: str, benches: Sequence[PaperBench]) -> dict[str, Facts]:
    return {one.workload.name: one.facts[item] for one in benches if item in one.facts}


def _item(item: Item, benches: Sequence[PaperBench]) -> dict[str, Any]:
    failures = {one.workload.name: one.failures[item.id] for one in benches if item.id in one.failures}
    facts = _facts(item.id, benches)
    outcome, first = item.judge(facts), item.first
    claims = [replace(one, why=one.why or failures.get(one.subject, "not part of this run")) for one in outcome.claims]
    found = judge(claims)
    return {
        "id": item.id, "title": item.title, "place": item.place, "verdict": found.verdict.value, "counts": found.counts,
        "orders": list(found.orders), "claims": [_claim(claim) for claim in claims], "chart": outcome.chart,
        "tables": outcome.tables, "notes": outcome.notes,
        "ours": item.ours, "first": first and {
            "verdict": item.judge_first(facts), "changed": first.changed, "words": first.words,
        },
        "explanation": item.why if found.verdict is not Agreement.AGREES else "",
    }  # fmt: skip


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "subject": claim.subject, "quantity": claim.quantity, "published_low": claim.low, "published_high": claim.high,
        "measured": claim.measured, "unit": claim.unit, "verdict": claim.verdict.value,
        "why": claim.why if claim.measured is None else "",
    }  # fmt: skip


def claims_csv(papers: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        {"paper": paper["id"], "item": item["id"], "place": item["place"], **claim}
        for paper in papers for item in paper["items"] for claim in item["claims"]
    ]  # fmt: skip
    out = io.StringIO()
    writer = csv.DictWriter(out, ("paper", "item", "place", *_claim(Claim("", "", 0, 0, 0))), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
