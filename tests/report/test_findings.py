"""Findings agree with the data: the same numbers, and the system that loses. The runs are as configured."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as pq
import pytest
from tests import tiny
from tests.tiny import summary

from flashtwin import report, units
from flashtwin.results.reading import load


def change(new: float, old: float) -> float:
    return (new / old - 1) * 100


@pytest.fixture
def study(four: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(four, tmp_path / "study"))


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of the four systems as configured; do not write to it."""
    return tiny.write_study(tmp_path_factory.mktemp("compared") / "study")


def texts(folder: Path) -> dict[str, str]:
    found = {finding.topic: finding.text for finding in report.findings(folder, 9)}
    chosen = report.choice(folder)
    return {**found, "verdict": chosen.text if chosen is not None else ""}


def test_findings_are_said_to_be_of_systems_as_configured(four: Path) -> None:
    found = report.findings(four)
    assert [finding.topic for finding in found][:2] == ["replication", "deduplication"]
    assert all("as configured" in finding.claim.lower() for finding in found)


def test_numbers_of_the_choice_are_those_of_the_data(four: Path) -> None:
    chosen = report.choice(four)
    means = {name: summary(four, name)["response"]["all"]["mean_ns"] for name in tiny.FOUR if name != "oracle"}
    fastest = min(means, key=lambda name: means[name])
    assert means[chosen.answer] <= 1.05 * means[fastest]
    assert units.duration(means[chosen.answer]) in chosen.claim
    assert f"`{chosen.answer}` as configured" in chosen.claim
    assert chosen.figures == {f"{name}:all.mean": mean for name, mean in means.items()}


def test_numbers_of_deduplication_are_those_of_the_data(four: Path) -> None:
    text = texts(four)["deduplication"]
    ca, base = summary(four, "ca-ssd"), summary(four, "conventional")
    assert units.percent(ca["page_ops"]["duplicate_writes"] / ca["page_ops"]["write"] * 100) in text
    fewer = -change(ca["pages_programmed"], base["pages_programmed"])
    assert f"{units.percent(fewer)} less flash written" in text


def test_rr_ssd_loses_and_it_is_said(study: Path) -> None:
    folder = study
    tiny.respond(folder, "rr-ssd", read={"queueing": 500.0}, write={"queueing": 900.0})
    found = {finding.topic: finding for finding in report.findings(folder, 9)}
    rr, ca = (summary(folder, name)["response"]["all"]["mean_ns"] for name in ("rr-ssd", "ca-ssd"))
    claim = found["replication"].claim
    assert f"is {units.percent(change(rr, ca))} longer than `ca-ssd` as configured ({units.duration(ca)})" in claim
    assert report.choice(folder).answer != "rr-ssd"


def test_every_system_loses_against_the_baseline(made: Callable[..., Path]) -> None:
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(
        folder, "ca-ssd", read={"queueing": 900.0}, write={"queueing": 26.0, "hash_wait": 2900.0, "hash": 12.0}
    )
    writes = summary(folder, "ca-ssd")["page_ops"]["write"]
    tiny.edit_summary(folder, "ca-ssd", lambda s: s["page_ops"].update(duplicate_writes=round(0.03 * writes)))
    found = texts(folder)
    assert found["verdict"].startswith("`conventional` as configured is the choice")
    assert "3.0 % of its page writes are duplicates" in found["deduplication"]
    assert "longer than `conventional`" in found["deduplication"]


def test_no_pass_ran(study: Path) -> None:
    reads = summary(study, "ca-ssd")["response"]["read"]
    tiny.edit_summary(study, "rr-ssd", lambda s: s["response"].update(read=reads))
    tiny.edit_summary(study, "rr-ssd", lambda s: s["replication"].update(passes=0, copies=0))
    tiny.edit_summary(study, "rr-ssd", lambda s: s["config"]["replay"].update(period_s=86400.0))
    found = texts(study)
    assert "No copy was made: the trace ended before its first period did" in found["replication"]


def test_without_content_nothing_is_said_of_it(made: Callable[..., Path]) -> None:
    loaded = tiny.system("conventional", ftl__allocation__policy="least-loaded")
    folder = made({"conventional": "conventional", "least-loaded": loaded}, content=False)
    texts = " ".join([report.choice(folder).text, *(finding.text for finding in report.findings(folder, 9))])
    for word in ("content", "duplicate", "replica", "choice of chips"):
        assert word not in texts


def test_one_run(made: Callable[..., Path]) -> None:
    folder = made(["rr-ssd"])
    text = report.choice(folder).text
    assert units.duration(summary(folder, "rr-ssd")["response"]["all"]["mean_ns"]) in text
    assert "is the choice" not in text


def test_overload(study: Path) -> None:
    tiny.edit_summary(study, "conventional", lambda s: s.update(completed_ns=s["duration_ns"]))
    found = texts(study)
    assert "cannot keep up: it needs 13.9 min for requests that arrive within 83.3 s" in found["load"]


def test_bare_summaries_give_no_nonsense(study: Path) -> None:
    for run in tiny.FOUR:
        (study / "runs" / run / "summary.json").write_text("{}")
    assert report.findings(study) == []
    # One run keeps its numbers: still nothing to compare with, and no crash.
    (study / "runs" / "rr-ssd" / "summary.json").write_text(json.dumps({"response": {"all": {"mean_ns": 5.0}}}))
    assert [finding.text for finding in report.findings(study) if "nan" in finding.text] == []


@pytest.mark.parametrize("path", ["pages_programmed", "response", "page_ops", "erases", "flash_writes", "replication"])
def test_any_part_of_a_summary_may_be_missing(path: str, study: Path) -> None:
    for run in tiny.FOUR:
        tiny.edit_summary(study, run, lambda s: s.pop(path))
    for finding in report.findings(study, 9):
        assert "–" not in finding.text, finding.text


@pytest.mark.parametrize("source", ["unique", "zipf(0.8,100000,1)"])
def test_made_up_contents_are_said_to_be(source: str, study: Path) -> None:
    """A share of duplicates among contents that nobody recorded was once told as a fact of the trace."""
    for run in ("ca-ssd", "rr-ssd", "oracle"):
        tiny.edit_summary(study, run, lambda s: s["trace"].update(content_source=source))
    found = report.findings(study, 9)
    rests_on_contents = [one for one in found if one.topic != "load"]
    assert len(rests_on_contents) == 2
    for finding in rests_on_contents:
        assert finding.claim.startswith(f"With made-up contents (`{source}`), ")
    assert report.choice(study).claim.startswith(f"With made-up contents (`{source}`), ")


def test_contents_that_nobody_looks_at_need_no_word(study: Path) -> None:
    tiny.edit_summary(study, "conventional", lambda s: s["trace"].update(content_source="unique"))
    assert "made-up" not in " ".join(texts(study).values())


def test_nothing_is_so_because_of_anything(made: Callable[..., Path]) -> None:
    four, idle = made(), made(["conventional", "ca-ssd"])
    tiny.respond(idle, "conventional", read={"queueing": 1.0}, write={"queueing": 1.0})
    for folder in (four, idle):
        for text in texts(folder).values():
            assert "because" not in text


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [("pages_programmed", [], "a number"), ("partitions", 0.5, "a list"), ("system", {"a": 1}, "a text"),
     ("response", "many", "an object"), ("erases", {"total": True}, "a number"),
     ("config", {"engine": {"hash_lanes": None}}, "a whole number"), ("config", {"nand": 5}, "a table")],
)  # fmt: skip
def test_a_run_with_values_of_another_kind_is_left_out(field: str, value: object, expected: str, study: Path) -> None:
    tiny.edit_summary(study, "rr-ssd", lambda summary: summary.update({field: value}))
    (problem,) = load(study).problems
    assert problem.startswith("run `rr-ssd` is left out: ")
    assert f"summary.json: {field}" in problem
    assert f"expected {expected}; make these results again" in problem


def test_a_run_of_another_version_may_have_other_values_of_keys(study: Path) -> None:
    def edit(summary: dict[str, Any]) -> None:
        summary["flashtwin"], summary["config"]["engine"]["merge_reads"] = "0.1.0", True

    tiny.edit_summary(study, "rr-ssd", edit)
    assert load(study).problems == ()


def test_a_damaged_table_of_blocks_is_named(study: Path) -> None:
    file = study / "runs" / "rr-ssd" / "request_block_histogram.parquet"
    pq.write_table(pyarrow.table({"a column": [1]}), file)
    file.write_bytes(file.read_bytes().replace(b"a column", b"\x80 column"))
    with pytest.raises(report.ReportError, match=r"request_block_histogram\.parquet: not a readable Parquet file"):
        report.findings(study, count=100)
    file.write_bytes(b"PAR1 and no more")
    with pytest.raises(report.ReportError, match=r"request_block_histogram\.parquet: not a readable Parquet file"):
        report.findings(study, count=100)


@pytest.mark.parametrize(
    ("name", "column", "value", "cause"),
    [("request_blocks", "block", 2**31, "its histogram are not of the same blocks"),
     ("request_block_histogram", "block", 10**6, "its histogram are not of the same blocks"),
     ("request_blocks", "count", 10**6, "the runs are of different traces"),
     ("request_blocks", "first_request", "many", "its column first_request is missing, or not of whole numbers"),
     ("request_block_histogram", "lower_ns", None, "its column lower_ns is missing, or not of whole numbers")],
)  # fmt: skip
def test_a_table_of_other_blocks_is_named(name: str, column: str, value: object, cause: str, study: Path) -> None:
    file = study / "runs" / "rr-ssd" / f"{name}.parquet"
    table = pq.read_table(file)
    values = [*table[column].to_pylist()[1:], value] if value != "many" else [value] * table.num_rows
    pq.write_table(table.set_column(table.column_names.index(column), column, pyarrow.array(values)), file)
    with pytest.raises(report.ReportError, match=rf"runs.(rr|ca)-ssd.*{cause}.*; make these results again"):
        report.findings(study, count=100)
    file.unlink()
    assert report.findings(study, count=100)


def test_a_preloaded_run_whose_periods_lack_a_column_is_named(study: Path) -> None:
    tiny.edit_summary(study, "rr-ssd", lambda summary: summary["config"]["replay"].update(preload="footprint"))
    file = study / "runs" / "rr-ssd" / "periods.parquet"
    pq.write_table(pq.read_table(file).drop_columns("gc_programs"), file)
    with pytest.raises(report.ReportError, match=r"runs.rr-ssd: periods: its column gc_programs is missing"):
        report.findings(study, count=100)


def test_a_number_that_is_none_reads_as_missing() -> None:
    writers = (units.duration, units.count, units.rate, units.size, units.ratio, units.percent, units.change)
    for write in (*writers, units.significant):
        assert {write(value) for value in (float("nan"), float("inf"), -float("inf"))} == {units.MISSING}


def test_a_run_whose_name_no_folder_can_have_is_left_out(study: Path) -> None:
    listed = json.loads((study / "study.json").read_text())
    for odd in ("a\0b", "\ud800", "x" * 300):
        (study / "study.json").write_text(json.dumps({**listed, "runs": [*listed["runs"], odd]}))
        (problem,) = load(study).problems
        assert re.search("is left out: .* cannot be read", problem)


def test_json_beyond_what_python_reads_is_refused(study: Path) -> None:
    for text in ("9" * 5000, "[" * 100_000):
        (study / "study.json").write_text(f'{{"runs": {text}')
        with pytest.raises(report.ReportError, match=r"study\.json.* (cannot be read|not JSON)"):
            load(study)
