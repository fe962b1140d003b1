"""Every chart draws from good results, and names missing data of poor ones."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from tests import tiny

from flashtwin import report, units
from flashtwin.judgement import facts, ledger
from flashtwin.report import fitting, saving, style, timelines
from flashtwin.report.charts import CHARTS, WORKLOAD_CHARTS
from flashtwin.report.charts.base import Drawing
from flashtwin.results.reading import StudyFolder, load

NAMES = [*WORKLOAD_CHARTS, *CHARTS]


def draw(name: str, folder: Path) -> Drawing:
    with style.styled():
        return {**WORKLOAD_CHARTS, **CHARTS}[name].draw(load(folder))


@cache
def drawn(name: str, folder: Path) -> Drawing:
    """A chart of a study that all tests share, drawn once; for those that only look."""
    return draw(name, folder)


def rows(drawing: Drawing) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(drawing.data.csv())))


@pytest.mark.parametrize("name", NAMES)
def test_draws_says_and_gives_data(name: str, four: Path) -> None:
    drawing = drawn(name, four)
    assert isinstance(drawing.figure, Figure)
    assert drawing.sees
    assert len(set(drawing.sees)) == len(drawing.sees)
    assert rows(drawing)
    for sentence in [*drawing.sees, *drawing.absent]:
        assert sentence.endswith("."), sentence
        assert "nan" not in sentence.lower().split(), sentence
        assert "None" not in sentence, sentence
    assert not re.search(r"\bnan\b", drawing.data.csv())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_seen_is_computed_from_the_data(name: str, four: Path, other: Path) -> None:
    """Other data, other sentences."""
    first, second = drawn(name, four), drawn(name, other)
    assert first.data.csv() != second.data.csv()
    assert first.sees != second.sees


def test_each_study_is_told_its_own_sentences(four: Path, other: Path, golden: Callable[[str, str], None]) -> None:
    """Sentence by sentence as they were read when they were written down: none stands below another chart or study."""
    told = [
        f"{study}, {name}: {sentence}"
        for study, folder in (("four", four), ("other", other))
        for name in NAMES
        for sentence in drawn(name, folder).sees
    ]
    golden("chart-sentences.txt", "\n".join(told) + "\n")


def test_chart_gives_a_figure_that_needs_no_pyplot(four: Path) -> None:
    fig = report.chart("response", four)
    assert isinstance(fig, Figure)
    assert fig.axes


def test_unknown_chart_names_the_known_ones(four: Path) -> None:
    with pytest.raises(report.ReportError, match=r"'nope'.*response"):
        report.chart("nope", four)


def test_chart_without_data_is_a_figure_with_the_reason(made: Callable[..., Path]) -> None:
    folder = made(["conventional"])
    fig = report.chart("copies", folder)
    assert any("copies" in text.get_text() for text in fig.texts)


def test_one_colour_a_system_on_every_chart(four: Path) -> None:
    colours = style.colours(load(four))
    assert len(set(colours.values())) == 4
    document = saving.svg(report.chart("latency", four))
    assert all(colour in document for colour in colours.values())


def test_a_system_has_one_colour_on_every_page(made: Callable[..., Path]) -> None:
    """In a study with any baseline and any other systems, in a sweep and in a reproduction."""
    plain = style.colours(load(made(["conventional", "ca-ssd"])))
    swept = {name: light for name, (light, _) in style.of_systems((n, n) for n in ("rr-ssd", "mine", "ca-ssd")).items()}
    papers = style.series_colours(["RR-SSD", "day 1", "ca-ssd", "conventional"])
    assert plain["ca-ssd"] == swept["ca-ssd"] == papers["ca-ssd"]
    assert swept["rr-ssd"] == papers["RR-SSD"]
    assert plain["conventional"] == papers["conventional"] == style.GREY[0]
    # A name of one's own keeps its colour, too, and never has that of another.
    alone = style.of_systems([("mine", "rr-ssd-online"), ("conventional", "conventional")])
    assert style.of_systems([("mine", "mine")])["mine"][0] == swept["mine"]
    assert alone["mine"] != style.GREY
    every = style.of_systems((name, name) for name in [*style.KNOWN][:8])
    assert len(set(every.values())) == 8


def test_split_in_the_data_sums_to_the_mean(four: Path) -> None:
    for row in rows(draw("response", four)):
        parts = sum(float(row[f"{key}_ns"]) for key, _ in facts.PARTS)
        assert parts == pytest.approx(float(row["mean_ns"]), rel=1e-6)


def test_a_split_without_all_its_parts_is_no_split(study: Path) -> None:
    """Results of before waiting and service were told apart: their "controller" was mostly waiting."""
    old = ("queueing_ns", "transfer_ns", "flash_ns", "controller_ns")
    for run in ("conventional", "ca-ssd", "rr-ssd", "oracle"):
        tiny.edit_summary(
            study, run, lambda s: s["response"]["write"].update(split=dict.fromkeys(old, 5.0))
        )  # fmt: skip
    assert all(facts.split(run, "write") is None for run in load(study).runs)
    assert draw("response", study).figure is not None


def test_charges_of_the_ledger_sum_to_the_mean(four: Path) -> None:
    sums: dict[tuple[str, str], float] = {}
    for row in rows(draw("waits", four)):
        if row["requests"] == "all":
            sums[row["system"], row["kind"]] = sums.get((row["system"], row["kind"]), 0.0) + float(row["mean_ns"])
    assert len(sums) == 12
    for (system, kind), total in sums.items():
        run = next(run for run in load(four).runs if run.name == system)
        assert total == pytest.approx(facts.mean(run, kind), rel=1e-6)


def test_slowest_in_the_ledger_match_the_percentiles(four: Path) -> None:
    for run in load(four).runs:
        for requests, percentile in (("slowest_1_percent", "p99_ns"), ("slowest_0_1_percent", "p99_9_ns")):
            found = ledger.ledger(run, "read", requests)
            assert found is not None
            assert found.from_ns == pytest.approx(run.number(f"response.read.{percentile}"), rel=0.03)
            assert found.total_ns > found.from_ns


def test_waits_have_colours_and_small_waits_share_one(study: Path) -> None:
    fig = report.chart("waits", study)
    [legend] = fig.legends
    named = [text.get_text() for text in legend.get_texts()]
    assert named[0] == "chip: host reads"
    assert named[-1] == "service"
    assert "hash unit" in named
    assert "chip: copies" not in named, "there were none"
    colours = [pair[0] for pair in style.WAIT_COLOURS.values()]
    systems = [light for light, _ in (*style.HUES, style.GREY)]
    assert len(set(colours)) == len(colours)
    assert not set(colours) & set(systems), "a system's colour is the system's alone"


def test_a_wait_that_is_not_known_yet_is_drawn_and_named(study: Path) -> None:
    """A later version of the core may charge more."""
    path = study / "runs" / "rr-ssd" / "wait_ledger.parquet"
    table = pq.read_table(path)
    charges = ["tea_break" if charge == "host_read" else charge for charge in table["charge"].to_pylist()]
    pq.write_table(table.set_column(table.column_names.index("charge"), "charge", [charges]), path)
    drawing = draw("waits", study)
    assert any(row["charge"] == "tea_break" for row in rows(drawing))
    assert drawing.figure is not None
    [legend] = drawing.figure.legends
    assert "other waiting" in [text.get_text() for text in legend.get_texts()]


def test_the_hash_unit_stands_where_the_chips_do(four: Path) -> None:
    queues = draw("queues", four)
    assert queues.figure is not None
    assert [axes.get_ylabel() for axes in queues.figure.axes].count("hash unit") == 3
    unit = json.loads((four / "runs" / "ca-ssd" / "summary.json").read_text())["hash_unit"]
    assert all(f"and {unit['queue_max']} at most" in sentence for sentence in queues.sees)
    assert any(row["hash_unit_mean"] for row in rows(queues) if row["system"] == "rr-ssd")
    busy = draw("utilisation", four)
    share = units.percent(unit["utilisation"] * 100)
    assert f"The hash unit of `ca-ssd`, with 1 lane, works {share} of the time." in busy.sees
    assert {row["system"] for row in rows(busy) if row["level"] == "hash_unit"} == {"ca-ssd", "rr-ssd", "oracle"}


def test_without_hashing_there_is_no_hash_unit(made: Callable[..., Path]) -> None:
    folder = made({"conventional": "conventional", "other": "conventional"})
    queues = draw("queues", folder)
    assert queues.figure is not None
    assert "hash unit" not in [axes.get_ylabel() for axes in queues.figure.axes]
    titles = [axes.get_title(loc="left") for axes in report.chart("utilisation", folder).axes]
    assert titles == ["Chips", "Channels"]


def test_causes_in_the_data_sum_to_pages_programmed(four: Path) -> None:
    for row in rows(draw("writes", four)):
        assert sum(int(row[key]) for key, _ in facts.CAUSES) == int(row["pages_programmed"])


def test_distribution_ends_at_one(four: Path) -> None:
    last: dict[tuple[str, str], float] = {}
    for row in rows(draw("latency", four)):
        key = row["system"], row["kind"]
        assert float(row["share_at_most"]) >= last.get(key, 0.0)
        last[key] = float(row["share_at_most"])
    assert len(last) == 8
    assert all(value == pytest.approx(1.0) for value in last.values())


def test_improvement_is_against_ca_ssd_and_matches_the_table(four: Path) -> None:
    rr, ca = (
        pq.read_table(four / "runs" / name / "periods.parquet")["read_mean_ns"].to_numpy()
        for name in ("rr-ssd", "ca-ssd")
    )
    found = [
        float(row["percent"])
        for row in rows(draw("periods", four))
        if row["series"] == "reads, shorter by" and row["system"] == "rr-ssd"
    ]
    assert found == pytest.approx(list((1 - rr / ca) * 100), rel=1e-6)


def test_new_is_of_a_system_that_looks_at_contents(made: Callable[..., Path]) -> None:
    """A page map counts none: shown as 0 %, every content would seem to have been read before."""
    plain = {"conventional": "conventional", "other": "conventional"}
    assert not [row for row in rows(draw("periods", made(plain))) if row["series"] == "New"]
    looking = {**plain, "rr-ssd": "rr-ssd"}
    new = [float(row["percent"]) for row in rows(draw("periods", made(looking))) if row["series"] == "New"]
    assert new
    assert min(new) > 0


def test_a_few_requests_of_no_time_leave_no_empty_decades(study: Path) -> None:
    for path in study.glob("runs/*/latency_histogram.parquet"):
        # No read was served from controller RAM; then one of a million is.
        rows_of = [row for row in pq.read_table(path).to_pylist() if row["upper_ns"] > 1000]
        many = [{**row, "count": row["count"] * 1000} for row in rows_of]
        many.insert(0, {**many[0], "kind": "read", "upper_ns": 1, "count": 1})
        pq.write_table(pa.Table.from_pylist(many, schema=pq.read_schema(path)), path)
    drawing = draw("latency", study)
    assert any(float(row["upper_ns"]) == 1 for row in rows(drawing)), "the data have all"
    for axes in drawing.figure.axes:
        assert axes.get_xlim()[0] > 1e3


def test_queues_show_with_and_without_redirection_on_one_scale(four: Path) -> None:
    fig = report.chart("queues", four)
    titles = [axes.get_title(loc="left") for axes in fig.axes if axes.get_title(loc="left")]
    assert titles == ["ca-ssd", "rr-ssd", "oracle"]
    limits = {mesh.get_clim() for axes in fig.axes[:6] for mesh in axes.collections if mesh.get_array() is not None}
    assert len(limits) == 1


def test_queue_matrix_places_rows_by_chip_and_time(four: Path) -> None:
    run = load(four).runs[2]
    queue = timelines.queues(run)
    table = pq.read_table(four / "runs" / "rr-ssd" / "queue_over_time.parquet").to_pylist()
    assert queue is not None
    for row in table[:: len(table) // 20]:
        column = int(np.searchsorted(queue.start_ns, row["start_ns"]))
        assert queue.mean[row["chip"], column] == row["queue_mean"]


# A field that a result may lack, the chart that misses it, and words of its sentence.
MISSING = [
    ("latency", "latency_histogram", "latency_histogram"),
    ("periods", "periods", "periods"),
    ("queues", "queue_over_time", "queue_over_time"),
    ("gc_victims", "gc_victims", "gc_victims"),
    ("copies", "copies", "copies"),
    ("waits", "wait_ledger", "wait_ledger"),
]


@pytest.mark.parametrize(("name", "table", "words"), MISSING)
def test_missing_table_is_said(name: str, table: str, words: str, study: Path) -> None:
    for path in study.glob(f"runs/*/{table}.parquet"):
        path.unlink()
    drawing = draw(name, study)
    assert drawing.figure is None
    assert any(words in reason for reason in drawing.absent), drawing.absent


@pytest.mark.parametrize("name", NAMES)
def test_empty_tables_draw_nothing_and_say_why(name: str, study: Path) -> None:
    for path in study.rglob("*.parquet"):
        pq.write_table(pq.read_table(path).slice(0, 0), path)
    for run in ("conventional", "ca-ssd", "rr-ssd", "oracle"):
        (study / "runs" / run / "summary.json").write_text("{}")
    for file in (*(study / "causes").iterdir(), study / "candidates.json"):
        file.unlink()
    drawing = draw(name, study)
    assert drawing.figure is None
    assert drawing.absent


@pytest.mark.parametrize("name", NAMES)
def test_one_run_lacks_a_table_and_the_others_are_drawn(name: str, study: Path) -> None:
    for path in (study / "runs" / "rr-ssd").glob("*.parquet"):
        path.unlink()
    drawing = draw(name, study)
    if name != "copies":  # no other system has replicas
        assert drawing.figure is not None


def test_nulls_in_a_period_are_gaps(study: Path) -> None:
    for run in ("ca-ssd", "rr-ssd"):
        path = study / "runs" / run / "periods.parquet"
        table = pq.read_table(path)
        values = table["read_mean_ns"].to_pylist()
        values[3] = None
        place = table.column_names.index("read_mean_ns")
        pq.write_table(table.set_column(place, "read_mean_ns", [values]), path)
    drawing = draw("periods", study)
    gaps = [row for row in rows(drawing) if row["percent"] == ""]
    assert {(row["system"], row["period"]) for row in gaps} == {("rr-ssd", "4"), ("oracle", "4")}


def test_runs_with_other_periods_are_not_compared(study: Path) -> None:
    path = study / "runs" / "rr-ssd" / "periods.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("start_ns")
    doubled = [value * 2 + 1 for value in table["start_ns"].to_pylist()]
    pq.write_table(table.set_column(place, "start_ns", [doubled]), path)
    systems = {row["system"] for row in rows(draw("periods", study)) if "shorter" in row["series"]}
    assert systems == {"oracle"}


def test_no_garbage_collection_is_one_line(made: Callable[..., Path]) -> None:
    drawing = draw("gc_victims", made(gc=False))
    assert drawing.figure is None
    assert len(drawing.absent) == 1
    assert "No garbage collection" in drawing.absent[0]
    writes = draw("writes", made(gc=False))
    assert any("No block had to be erased" in sentence for sentence in writes.sees)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_reads_only_and_writes_only(share: float, made: Callable[..., Path]) -> None:
    folder = made(read_share=share, requests=1000)
    for name in NAMES:
        drawing = draw(name, folder)
        assert drawing.figure is not None or drawing.absent
    assert any("no panel" in reason for reason in draw("response", folder).absent)


def test_one_period(made: Callable[..., Path]) -> None:
    folder = made(periods=1, requests=1000)
    assert draw("periods", folder).figure is not None
    assert any("one period" in sentence for sentence in draw("workload", folder).sees)


def test_no_content(made: Callable[..., Path]) -> None:
    folder = made({"conventional": "conventional", "wide": "dynamic"}, content=False)
    assert any("carries no content" in reason for reason in draw("workload", folder).absent)
    assert draw("copies", folder).figure is None


def test_twelve_systems_of_any_name(made: Callable[..., Path]) -> None:
    systems = {f'rr-ssd a={k} <b>&`x`"': tiny.system("rr-ssd", ftl__replication__alpha=k / 4) for k in range(11)}
    folder = made({"conventional": "conventional", **systems}, requests=1000)
    study = load(folder)
    looks = {(style.colours(study)[run.name], str(style.dashes(study)[run.name])) for run in study.runs}
    assert len(looks) == 12
    for name in NAMES:
        # No bottleneck was looked for.
        assert name in ("candidates", "causes", "knee") or draw(name, folder).figure is not None


def test_single_run_folder(four: Path) -> None:
    study = load(four / "runs" / "rr-ssd")
    assert isinstance(study, StudyFolder)
    assert [run.name for run in study.runs] == ["rr-ssd"]
    assert any("only one run" in reason for reason in draw("periods", four / "runs" / "rr-ssd").absent)


def test_errors_say_where_and_what(tmp_path: Path, study: Path) -> None:
    with pytest.raises(report.ReportError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(report.ReportError, match=r"no study\.json"):
        load(tmp_path)
    (study / "runs" / "ca-ssd" / "chips.parquet").write_bytes(b"not parquet")
    with pytest.raises(report.ReportError, match=r"chips\.parquet.*Parquet"):
        draw("utilisation", study)
    (study / "runs" / "ca-ssd" / "summary.json").write_text('{"a": ')
    assert any("ca-ssd" in problem and ":1:" in problem for problem in load(study).problems)
    (study / "study.json").write_text(json.dumps({"runs": ["../../etc"]}))
    with pytest.raises(report.ReportError, match="not the name of a folder"):
        load(study)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0 ns"),
        (999.4, "999 ns"),
        (12_345.0, "12.3 µs"),
        (999_600.0, "1.00 ms"),
        (1.234e9, "1.23 s"),
        (840e9, "14.0 min"),
        (604_800e9, "7.00 days"),
    ],
)
def test_durations(value: float | None, text: str) -> None:
    assert units.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.0, "±0 %"), (-38.04, "−38.0 %"), (263.9, "+264 %"), (0.04, "±0 %")]
)
def test_changes(value: float | None, text: str) -> None:
    assert units.change(value) == text


@pytest.mark.parametrize(("value", "text"), [(99_999, "99,999"), (150_000, "150 K"), (2_345_678, "2.35 M"), (0, "0")])
def test_counts(value: float, text: str) -> None:
    assert units.count(value) == text


def test_curves_that_coincide_share_their_way() -> None:
    fig = Figure(figsize=(4, 3))
    axes = fig.subplots()
    x = np.linspace(0, 1, 50)
    low, same, above, apart = (axes.plot(x, y)[0] for y in (x, x, x + 1e-4, x**3))
    fitting.tell_apart(fig)
    assert low.get_linestyle() == "-"
    assert apart.get_linestyle() == "-"
    # Each is broken where another shows: three curves, dashes of a third, one after the other.
    patterns = [line._unscaled_dash_pattern for line in (same, above)]
    assert patterns[0][0] != patterns[1][0]
    for _, (on, off) in patterns:
        assert off == pytest.approx(2 * on)


def test_a_bar_that_is_not_nothing_can_be_seen() -> None:
    fig = Figure(figsize=(4, 3))
    axes = fig.subplots()
    tiny, none, large = axes.bar([0, 1, 2], [1e-6, 0, 1.0])
    fitting.tell_apart(fig)
    assert tiny.get_linewidth() > 0.5
    assert tiny.get_edgecolor() == tiny.get_facecolor()
    assert large.get_edgecolor() != large.get_facecolor() or large.get_linewidth() == 1.0
    assert none.get_height() == 0
