"""Charts: the marks and sentences that good results give, and what is said of poor ones."""

import csv
import io
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from tests import tiny
from tests.tiny import summary

import flashtwin as ft
from flashtwin import report, units
from flashtwin.judgement import facts
from flashtwin.report import colours, declared, drawing, fitting, saving
from flashtwin.report.charts import CHARTS, WORKLOAD_CHARTS
from flashtwin.report.declared import Axis, Drawing, Frame, Panel
from flashtwin.report.mark import Mark, plot
from flashtwin.report.scales import SCALES
from flashtwin.results import ledger
from flashtwin.results.reading import SavedRun, StudyFolder, load

NAMES = [*WORKLOAD_CHARTS, *CHARTS]


@cache
def drawn(name: str, folder: Path) -> Drawing:
    chart: Any = {**WORKLOAD_CHARTS, **CHARTS}[name]
    return chart.draw(load(folder))


def rows(drawing: Drawing) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(drawing.data.csv())))


def panels(drawing: Drawing) -> list[Panel]:
    return drawing.frame.panels


def marks(panel: Panel, method: str) -> list[Mark]:
    return [mark for mark in panel.marks if mark.method == method]


def runs(folder: Path) -> dict[str, SavedRun]:
    return {run.name: run for run in load(folder).runs}


@pytest.mark.parametrize("name", NAMES)
def test_draws_says_and_gives_data(name: str, four: Path) -> None:
    found = drawn(name, four)
    assert all(panel.marks for panel in panels(found))
    assert len(set(found.sees)) == len(found.sees) > 0
    assert rows(found)
    for sentence in [*found.sees, *found.absent]:
        assert re.fullmatch(r"(?!.*\b([Nn]an|None)\b).*\.", sentence), sentence
    assert not re.search(r"\bnan\b", found.data.csv())


@pytest.mark.parametrize("name", NAMES)
def test_other_results_give_other_sentences_and_marks(name: str, four: Path, other: Path) -> None:
    first, second = drawn(name, four), drawn(name, other)
    assert first.data.csv() != second.data.csv()
    assert first.sees != second.sees
    assert [str(panel.marks) for panel in panels(first)] != [str(panel.marks) for panel in panels(second)]


def test_means_are_bars_of_their_parts(four: Path) -> None:
    reads, *_ = panels(drawn("response", four))
    assert reads.y.of == list(tiny.FOUR)
    for place, run in enumerate(tiny.FOUR):
        response = summary(four, run)["response"]["read"]
        lengths = [bar.args[1] for bar in marks(reads, "barh") if bar.args[0] == place]
        assert sum(lengths) == pytest.approx(response["mean_ns"])
    for row in rows(drawn("response", four)):
        assert sum(float(row[f"{key}_ns"]) for key, _ in facts.PARTS) == pytest.approx(float(row["mean_ns"]), rel=1e-6)


def test_a_bar_says_value_and_change_at_its_end(four: Path) -> None:
    reads, *_ = panels(drawn("response", four))
    means = [summary(four, run)["response"]["read"]["mean_ns"] for run in tiny.FOUR]
    labels = [one.args[0] for one in marks(reads, "annotate")]
    assert labels[0] == units.duration(means[0])
    changes = [units.change((mean / means[0] - 1) * 100) for mean in means[1:]]
    assert labels[1:] == [f"{units.duration(mean)} ({by})" for mean, by in zip(means[1:], changes, strict=True)]


def test_a_split_without_all_its_parts_is_no_split(study: Path) -> None:
    """Results of before waiting and service were told apart: their "controller" was mostly waiting."""
    old = ("queueing_ns", "transfer_ns", "flash_ns", "controller_ns")
    for run in tiny.FOUR:
        tiny.edit_summary(study, run, lambda s: s["response"]["write"].update(split=dict.fromkeys(old, 5.0)))
    assert all(facts.split(run, "write") is None for run in load(study).runs)
    _, writes, *_ = panels(drawn("response", study))
    assert len(marks(writes, "barh")) == 4


def test_charges_of_the_ledger_sum_to_the_mean(four: Path) -> None:
    sums: dict[tuple[str, str], float] = {}
    for row in rows(drawn("waits", four)):
        if row["requests"] == "all":
            sums[row["system"], row["kind"]] = sums.get((row["system"], row["kind"]), 0.0) + float(row["mean_ns"])
    assert len(sums) == 12
    for (system, kind), total in sums.items():
        assert total == pytest.approx(facts.mean(runs(four)[system], kind), rel=1e-6)
    every = panels(drawn("waits", four))[0]
    drawn_ns = sum(bar.args[1] for bar in marks(every, "barh") if bar.args[0] == 2)
    assert drawn_ns == pytest.approx(facts.mean(runs(four)["rr-ssd"], "read"), rel=1e-6)


def test_slowest_in_the_ledger_match_the_percentiles(four: Path) -> None:
    for run in load(four).runs:
        for requests, percentile in (("slowest_1_percent", "p99_ns"), ("slowest_0_1_percent", "p99_9_ns")):
            found = ledger.ledger(run, "read", requests)
            assert found.from_ns == pytest.approx(run.number(f"response.read.{percentile}"), rel=0.03)
            assert found.total_ns > found.from_ns


def test_waits_have_colours_and_small_waits_share_one(four: Path) -> None:
    frame = drawn("waits", four).frame
    named = [key.label for key in frame.keys]
    assert (named[0], named[-1]) == ("chip: host reads", "service")
    assert "hash unit" in named
    assert "chip: copies" not in named, "there were none"
    hues = [pair[0] for pair in colours.WAIT_COLOURS.values()]
    systems = [light for light, _ in (*colours.HUES, colours.GREY)]
    assert len(set(hues)) == len(hues)
    assert not set(hues) & set(systems), "a system's colour is the system's alone"


def test_a_wait_that_is_not_known_yet_is_drawn_and_named(study: Path) -> None:
    """A later version of the core may charge more."""
    path = study / "runs" / "rr-ssd" / "wait_ledger.parquet"
    tiny.edit_column(path, "charge", lambda charges: ["tea_break" if one == "host_read" else one for one in charges])
    found = drawn("waits", study)
    assert any(row["charge"] == "tea_break" for row in rows(found))
    assert "other waiting" in [key.label for key in found.frame.keys]


def test_the_hash_unit_stands_where_the_chips_do(four: Path) -> None:
    queues = drawn("queues", four)
    assert [panel.y.label for panel in panels(queues)].count("hash unit") == 3
    unit = summary(four, "ca-ssd")["hash_unit"]
    assert all(f"and {unit['queue_max']} at most" in sentence for sentence in queues.sees)
    assert any(row["hash_unit_mean"] for row in rows(queues) if row["system"] == "rr-ssd")
    busy = drawn("utilisation", four)
    share = units.percent(unit["utilisation"] * 100)
    assert f"The hash unit of `ca-ssd`, with 1 lane, works {share} of the time." in busy.sees
    assert {row["system"] for row in rows(busy) if row["level"] == "hash_unit"} == {"ca-ssd", "rr-ssd", "oracle"}


def test_without_hashing_there_is_no_hash_unit(made: Callable[..., Path]) -> None:
    folder = made({"conventional": "conventional", "other": "conventional"})
    assert "hash unit" not in [panel.y.label for panel in panels(drawn("queues", folder))]
    assert [panel.title for panel in panels(drawn("utilisation", folder))] == ["Chips", "Channels"]


def test_dots_and_their_mean_are_the_shares_of_the_table(four: Path) -> None:
    chips = panels(drawn("utilisation", four))[0]
    busy = pq.read_table(four / "runs" / "rr-ssd" / "chips.parquet")["utilisation"].to_numpy() * 100
    assert marks(chips, "scatter")[2].args[0] == pytest.approx(busy)
    assert marks(chips, "vlines")[2].args[0] == pytest.approx(busy.mean())


def test_programs_are_stacked_by_cause(four: Path) -> None:
    bars, figures = panels(drawn("writes", four))
    for row in rows(drawn("writes", four)):
        assert sum(int(row[key]) for key, _ in facts.CAUSES) == int(row["pages_programmed"])
    lengths = [bar.args[1] for bar in marks(bars, "barh") if bar.args[0] == 0]
    assert sum(lengths) == summary(four, "conventional")["pages_programmed"]
    erases = units.count(float(summary(four, "oracle")["erases"]["total"]))
    assert erases in [text.args[2] for text in marks(figures, "text")]


def test_distribution_is_the_histogram_and_ends_at_one(four: Path) -> None:
    table = load(four).runs[1].table("latency_histogram")
    reads = table.where("kind", "read")
    above, _, below, _ = panels(drawn("latency", four))
    curve, rest = marks(above, "step")[1], marks(below, "step")[1]
    whole = np.cumsum(reads.columns["count"]) / reads.columns["count"].sum() * 100
    at = np.searchsorted(reads.columns["upper_ns"], curve.args[0][3])
    assert curve.args[1][3] == pytest.approx(whole[at])
    assert curve.args[1][-1] == pytest.approx(100.0)
    assert np.nan_to_num(curve.args[1] + rest.args[1], nan=100.0) == pytest.approx(100.0)


def test_improvement_is_against_ca_ssd_and_matches_the_table(four: Path) -> None:
    rr, ca = (
        pq.read_table(four / "runs" / name / "periods.parquet")["read_mean_ns"].to_numpy()
        for name in ("rr-ssd", "ca-ssd")
    )
    bars = marks(panels(drawn("periods", four))[0], "bar")[0]
    assert bars.args[1] == pytest.approx(list((1 - rr / ca) * 100), rel=1e-6)


def test_new_is_of_a_system_that_looks_at_contents(made: Callable[..., Path]) -> None:
    """A page map counts none: shown as 0 %, every content would seem to have been read before."""
    plain = {"conventional": "conventional", "other": "conventional"}
    assert not [row for row in rows(drawn("periods", made(plain))) if row["series"] == "New"]
    looking = {**plain, "rr-ssd": "rr-ssd"}
    new = [float(row["percent"]) for row in rows(drawn("periods", made(looking))) if row["series"] == "New"]
    assert min(new) > 0


def test_a_few_requests_of_no_time_leave_no_empty_decades(study: Path) -> None:
    for path in study.glob("runs/*/latency_histogram.parquet"):
        # No read was served from controller RAM; then one of a million is.
        slow = [row for row in pq.read_table(path).to_pylist() if row["upper_ns"] > 1000]
        many = [{**row, "count": row["count"] * 1000} for row in slow]
        many.insert(0, {**many[0], "kind": "read", "upper_ns": 1, "count": 1})
        pq.write_table(pa.Table.from_pylist(many, schema=pq.read_schema(path)), path)
    found = drawn("latency", study)
    assert any(float(row["upper_ns"]) == 1 for row in rows(found)), "the data have all"
    assert all((panel.x.low or np.inf) > 1e3 for panel in panels(found))


def test_queues_are_heat_maps_of_their_tables_on_one_scale(four: Path) -> None:
    maps = [panel for panel in panels(drawn("queues", four)) if marks(panel, "heat")]
    assert [panel.title for panel in maps] == ["ca-ssd", "rr-ssd", "oracle"]
    assert len({marks(panel, "heat")[0].how["most"] for panel in maps}) == 1
    edges, _, mean = marks(maps[1], "heat")[0].args
    table = pq.read_table(four / "runs" / "rr-ssd" / "queue_over_time.parquet").to_pylist()
    for row in table[:: len(table) // 20]:
        assert mean[row["chip"], int(np.searchsorted(edges, row["start_ns"]))] == row["queue_mean"]


def test_the_locality_map_is_the_table_in_percent(four: Path) -> None:
    cells = marks(panels(drawn("locality", four))[0], "heat")[0].args[2]
    table = load(four).workload("logical_locality")
    assert np.nanmax(cells) == pytest.approx(np.nanmax(table.where("kind", "write").columns["probability"]) * 100)


def told(folder: Path) -> dict[str, list[str]]:
    """Figures that the sentences of charts must hold, from the results themselves."""
    run, of = runs(folder), {name: summary(folder, name) for name in tiny.FOUR}
    copies, victims = run["rr-ssd"].table("copies"), run["conventional"].table("gc_victims")
    contents, degree = copies.columns["contents"], copies.columns["copies"]
    tails = {name: one["response"]["write"]["p99_ns"] for name, one in of.items()}
    fast, slow = min(tails, key=lambda name: tails[name]), max(tails, key=lambda name: tails[name])
    ram = max(of, key=lambda name: of[name]["ram"]["total_bytes"])
    valid = np.average(victims.columns["valid_pages"], weights=victims.columns["victims"])
    pages = {name: one["pages_programmed"] / of["conventional"]["pages_programmed"] - 1 for name, one in of.items()}
    least = min(tiny.FOUR[1:], key=lambda name: pages[name])
    return {
        "copies": [units.percent(contents[degree > 1].sum() / contents[degree >= 1].sum() * 100), "`rr-ssd`"],
        "gc_victims": [units.significant(float(valid))],
        "latency": [f"{units.duration(tails[fast])} under `{fast}`, {units.duration(tails[slow])} under `{slow}`"],
        "ram": [f"`{ram}` needs the most, {units.size(of[ram]['ram']['total_bytes'])}"],
        "writes": [f"`{least}` programs {units.percent(-pages[least] * 100)} fewer"],
        "response": [
            f"{units.percent(facts.waiting_share(run[name], 'read'))} of its time waiting under `{name}`"
            for name in [max(tiny.FOUR, key=lambda one: facts.waiting_share(run[one], "read") or 0.0)]
        ],
    }


@pytest.mark.parametrize("name", ["copies", "gc_victims", "latency", "ram", "writes", "response"])
def test_sentences_hold_the_figures_of_the_results(name: str, four: Path, other: Path) -> None:
    for folder in (four, other):
        said = " ".join(drawn(name, folder).sees)
        for words in told(folder)[name]:
            assert words in said, said


def test_a_chart_is_a_figure_that_needs_no_pyplot(four: Path, made: Callable[..., Path]) -> None:
    fig = report.chart("response", four)
    assert isinstance(fig, Figure)
    assert fig.axes
    with pytest.raises(report.ReportError, match=r"'nope'.*response"):
        report.chart("nope", four)
    empty = report.chart("copies", made(["conventional"]))
    assert any("copies" in text.get_text() for text in empty.texts), "the reason"


def test_a_report_without_drawings_needs_no_matplotlib(four: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from flashtwin import report; report.build(sys.argv[1], out=sys.argv[2]);"
        "assert not any(name.startswith('matplotlib') for name in sys.modules)"
    )
    env = {"FLASHTWIN_CHARTS": "none", "PATH": ""}
    subprocess.run([sys.executable, "-c", code, str(four), str(tmp_path)], check=True, env=env)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Not drawn" in page
    assert (tmp_path / "charts" / "queues.csv").is_file()


def test_one_colour_a_system_on_every_chart(four: Path) -> None:
    hues = colours.of_runs(load(four))
    assert len(set(hues.values())) == 4
    document = saving.svg(report.chart("latency", four))
    assert all(colour in document for colour in hues.values())


def test_a_system_has_one_colour_on_every_page(made: Callable[..., Path]) -> None:
    """In a study with any baseline and any other systems, in a sweep and in a reproduction."""
    plain = colours.of_runs(load(made(["conventional", "ca-ssd"])))
    systems = colours.of_systems((name, name) for name in ("rr-ssd", "mine", "ca-ssd"))
    swept = {name: light for name, (light, _) in systems.items()}
    papers = colours.series_colours(["RR-SSD", "day 1", "ca-ssd", "conventional"])
    assert plain["ca-ssd"] == swept["ca-ssd"] == papers["ca-ssd"]
    assert swept["rr-ssd"] == papers["RR-SSD"]
    assert plain["conventional"] == papers["conventional"] == colours.GREY[0]
    # A name of one's own keeps its colour, too, and never has that of another.
    alone = colours.of_systems([("mine", "rr-ssd-online"), ("conventional", "conventional")])
    assert colours.of_systems([("mine", "mine")])["mine"][0] == swept["mine"]
    assert alone["mine"] != colours.GREY
    every = colours.of_systems((name, name) for name in [*colours.KNOWN][:8])
    assert len(set(every.values())) == 8


def test_missing_tables_are_said(study: Path) -> None:
    for path in study.glob("runs/*/*.parquet"):
        path.unlink()
    renamed = {"latency": "latency_histogram", "queues": "queue_over_time", "waits": "wait_ledger"}
    for name in ("latency", "periods", "queues", "gc_victims", "copies", "waits"):
        found = drawn(name, study)
        assert found.frame is None
        assert any(renamed.get(name, name) in reason for reason in found.absent), found.absent


def test_empty_tables_draw_nothing_and_say_why(study: Path) -> None:
    for path in study.rglob("*.parquet"):
        pq.write_table(pq.read_table(path).slice(0, 0), path)
    for run in tiny.FOUR:
        (study / "runs" / run / "summary.json").write_text("{}")
    for file in (*(study / "causes").iterdir(), study / "candidates.json"):
        file.unlink()
    for name in NAMES:
        found = drawn(name, study)
        assert found.frame is None, name
        assert found.absent, name


@pytest.mark.parametrize("column", range(15))
def test_every_table_lacks_a_column_or_all_values_of_one(column: int, study: Path) -> None:
    charts: dict[str, declared.Chart[Any]] = {**WORKLOAD_CHARTS, **CHARTS}
    whole = {path: pq.read_table(path) for path in study.rglob("*.parquet")}
    for null in (False, True):
        for path, table in whole.items():
            if column < table.num_columns and not path.stem.startswith("request_block"):
                name, lacking = table.column_names[column], table.remove_column(column)
                values = pa.nulls(table.num_rows, table.schema.field(column).type)
                pq.write_table(lacking.append_column(name, values) if null else lacking, path)
        results = load(study)
        for name, chart in charts.items():
            found = chart.draw(results)
            assert found.absent or found.frame is not None, name
        assert report.findings(study, count=100)


def test_one_run_lacks_a_table_and_the_others_are_drawn(study: Path) -> None:
    for path in (study / "runs" / "rr-ssd").glob("*.parquet"):
        path.unlink()
    assert [name for name in NAMES if drawn(name, study).frame is None] == ["copies"]


def test_nulls_in_a_period_are_gaps(study: Path) -> None:
    for run in ("ca-ssd", "rr-ssd"):
        path = study / "runs" / run / "periods.parquet"
        tiny.edit_column(path, "read_mean_ns", lambda values: [*values[:3], None, *values[4:]])
    gaps = [row for row in rows(drawn("periods", study)) if row["percent"] == ""]
    assert {(row["system"], row["period"]) for row in gaps} == {("rr-ssd", "4"), ("oracle", "4")}


def test_runs_with_other_periods_are_not_compared(study: Path) -> None:
    path = study / "runs" / "rr-ssd" / "periods.parquet"
    tiny.edit_column(path, "start_ns", lambda starts: [value * 2 + 1 for value in starts])
    systems = {row["system"] for row in rows(drawn("periods", study)) if "shorter" in row["series"]}
    assert systems == {"oracle"}


def test_no_garbage_collection_is_one_line(made: Callable[..., Path]) -> None:
    folder = made(gc=False)
    victims = drawn("gc_victims", folder)
    assert victims.frame is None
    [reason] = victims.absent
    assert "No garbage collection" in reason
    assert any("No block had to be erased" in sentence for sentence in drawn("writes", folder).sees)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_reads_only_and_writes_only(share: float, made: Callable[..., Path]) -> None:
    folder = made(read_share=share, requests=1000)
    for name in NAMES:
        assert drawn(name, folder).frame is not None or drawn(name, folder).absent
    assert any("no panel" in reason for reason in drawn("response", folder).absent)


def test_one_period(made: Callable[..., Path]) -> None:
    folder = made(periods=1, requests=1000)
    assert drawn("periods", folder).frame is not None
    assert any("one period" in sentence for sentence in drawn("workload", folder).sees)


def test_no_content(made: Callable[..., Path]) -> None:
    folder = made({"conventional": "conventional", "wide": "dynamic"}, content=False)
    assert any("carries no content" in reason for reason in drawn("workload", folder).absent)
    assert drawn("copies", folder).frame is None


def test_twelve_systems_of_any_name(made: Callable[..., Path]) -> None:
    systems = {f'rr-ssd a={k} <b>&`x`"': tiny.system("rr-ssd", ftl__replication__alpha=k / 4) for k in range(11)}
    folder = made({"conventional": "conventional", **systems}, requests=1000)
    looks = colours.lines_of_runs(load(folder))
    assert len({str(look) for look in looks.values()}) == 12
    assert [name for name in NAMES if drawn(name, folder).frame is None] == ["candidates", "causes"]


def test_single_run_folder(four: Path) -> None:
    study = load(four / "runs" / "rr-ssd")
    assert isinstance(study, StudyFolder)
    assert [run.name for run in study.runs] == ["rr-ssd"]
    assert any("only one run" in reason for reason in drawn("periods", four / "runs" / "rr-ssd").absent)


def test_errors_say_where_and_what(tmp_path: Path, study: Path) -> None:
    with pytest.raises(report.ReportError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(report.ReportError, match=r"no study\.json"):
        load(tmp_path)
    (study / "runs" / "ca-ssd" / "chips.parquet").write_bytes(b"not parquet")
    with pytest.raises(report.ReportError, match=r"chips\.parquet.*Parquet"):
        drawn("utilisation", study)
    (study / "runs" / "ca-ssd" / "summary.json").write_text('{"a": ')
    assert any("ca-ssd" in problem and ":1:" in problem for problem in load(study).problems)
    (study / "study.json").write_text(json.dumps({"runs": ["../../etc"]}))
    with pytest.raises(report.ReportError, match="not the name of a folder"):
        load(study)


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (units.duration, None, "–"),
        (units.duration, 0.0, "0 ns"),
        (units.duration, 999.4, "999 ns"),
        (units.duration, 12_345.0, "12.3 µs"),
        (units.duration, 999_600.0, "1.00 ms"),
        (units.duration, 1.234e9, "1.23 s"),
        (units.duration, 840e9, "14.0 min"),
        (units.duration, 604_800e9, "7.00 days"),
        (units.change, None, "–"),
        (units.change, 0.04, "±0 %"),
        (units.change, -38.04, "−38.0 %"),
        (units.change, 263.9, "+264 %"),
        (units.count, 99_999, "99,999"),
        (units.count, 150_000, "150 K"),
        (units.count, 2_345_678, "2.35 M"),
        (units.count, 0, "0"),
        (declared.plain_size, 4096.0, "4 KiB"),
        (declared.plain_duration, 1e6, "1 ms"),
        (declared.plain, -1.5, "−1.5"),
    ],
)
def test_figures_in_words(write: Callable[[Any], str], value: float | None, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("ticks", "of", "values", "labels"),
    [
        ("counts", None, (0, 30_000), ["0", "5,000", "10 K", "15 K", "20 K", "25 K", "30 K"]),
        ("log counts", None, (1, 5000), ["1", "10", "100", "1 K"]),
        ("log time", None, (1e5, 2e7), ["100 µs", "1 ms", "10 ms"]),
        ("log shares", None, (0.1, 1), ["10 %", "100 %"]),
        ("time", (4e6, 4), (0, 4e6), ["0 ms", "2 ms", "4 ms"]),
        ("sizes", (4096, 8192), (4096, 8192), ["4 KiB", "8 KiB"]),
        ("size range", (4096, 60_000), (4096, 65_536), ["4 KiB", "16 KiB", "64 KiB"]),
        ("factors", (1, 2, 5, 10), (1, 100), ["1", "2", "5", "10"]),
        ("shares", None, (0, 50), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        ("whole", None, (1, 3), ["1", "2", "3"]),
        ("whole from one", 4, (1, 4), ["1", "2", "3", "4"]),
        ("names", ["a", "b"], (0, 1), ["a", "b"]),
        ("none", None, (0, 1), []),
        ("key", [1, 4, 64], (1, 64), ["1", "4", "64"]),
    ],
)
def test_axis_has_few_round_ticks_in_units(ticks: str, of: Any, values: tuple[float, float], labels: list[str]) -> None:
    fig = drawing.figure(Frame(2.0, [[Panel([plot(values, [0, 1])], x=Axis(ticks=ticks, of=of))]]))
    fig.canvas.draw()
    axis = fig.axes[0].xaxis
    low, high = axis.get_view_interval()
    ends = low - 1e-6 * (high - low), high + 1e-6 * (high - low)
    shown = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
    assert [label.get_text() for at, label in shown if ends[0] <= at <= ends[1]] == labels
    assert ticks in SCALES


def test_panels_stand_below_one_another_on_a_column() -> None:
    frame = Frame(2.0, [[Panel([plot([0, 1], [0, 1])], title) for title in "ab"]], grid={"sharey": True})
    wide = drawing.figure(frame)
    with declared.on(declared.COLUMN):
        narrow = drawing.figure(frame)
    for fig, beside in ((wide, True), (narrow, False)):
        fig.canvas.draw()
        first, second = (axes.get_position() for axes in fig.axes)
        assert bool(first.x1 < second.x0) is beside
        assert bool(first.y0 > second.y1) is not beside
    assert narrow.get_figheight() == 2 * wide.get_figheight()


def test_curves_that_coincide_share_their_way() -> None:
    fig = Figure(figsize=(4, 3))
    axes = fig.subplots()
    x = np.linspace(0, 1, 50)
    low, same, above, apart = (axes.plot(x, y)[0] for y in (x, x, x + 1e-4, x**3))
    fitting.tell_apart(fig)
    assert low.get_linestyle() == apart.get_linestyle() == "-"
    # Each is broken where another shows: three curves, dashes of a third, one after the other.
    patterns = [line._unscaled_dash_pattern for line in (same, above)]
    assert patterns[0][0] != patterns[1][0]
    assert all(off == pytest.approx(2 * on) for _, (on, off) in patterns)


def test_a_bar_that_is_not_nothing_can_be_seen() -> None:
    fig = Figure(figsize=(4, 3))
    tiny_bar, none, large = fig.subplots().bar([0, 1, 2], [1e-6, 0, 1.0])
    fitting.tell_apart(fig)
    assert tiny_bar.get_linewidth() > 0.5
    assert tiny_bar.get_edgecolor() == tiny_bar.get_facecolor()
    assert large.get_edgecolor() != large.get_facecolor() or large.get_linewidth() == 1.0
    assert none.get_height() == 0


def test_reads_that_take_no_time_are_drawn_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = 400
    frame = pl.DataFrame({
        "time_ns": [0, *(1_000_000 * at for at in range(requests))],
        "op": ["trim", *("read" if at % 2 else "write" for at in range(requests))],
        "offset_bytes": [4096 * 1000, *(4096 * (1000 + at if at % 2 else at) for at in range(requests))],
        "length_bytes": [4096 * requests, *([4096] * requests)],
        "content": [None, *(None if at % 2 else [at % 7] for at in range(requests))],
    })  # fmt: skip
    trace = ft.Trace.from_frame(frame, name="holes")
    assert ft.replay(trace, "conventional").response.read.max_ns == 0
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = ft.study(trace, tmp_path / "out", ["conventional", "ca-ssd"], effort=0)
        for name in ("response_over_time", "response", "latency"):
            assert "</svg>" in saving.svg(report.chart(name, done.path))
