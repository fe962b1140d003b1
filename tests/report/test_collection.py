"""The report over many traces, and that of one trace without runs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from test_page import check
from tests import tiny
from tests.browser import readable

from flashtwin import report
from flashtwin.characterization.measuring import Characterization
from flashtwin.report.charts import ACROSS_CHARTS, CHARTS, WORKLOAD_CHARTS
from flashtwin.report.declared import Drawing
from flashtwin.results.reading import Collection, StudyFolder, TraceResults, load, load_any


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_collection(tmp_path_factory.mktemp("collection"), 5)


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tiny.write_characterization(tmp_path_factory.mktemp("workload"))
    report.build(path)
    return path


@pytest.fixture(scope="module")
def collected(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.build(collection, out=tmp_path_factory.mktemp("collected"))


def draw(name: str, path: Path) -> Drawing:
    results = load_any(path)
    assert isinstance(results, Collection)
    return ACROSS_CHARTS[name].draw(results)


@pytest.mark.parametrize("name", list(ACROSS_CHARTS))
def test_draws_says_and_gives_data(name: str, collection: Path) -> None:
    drawing = draw(name, collection)
    assert all(panel.marks for panel in drawing.frame.panels)
    assert 1 <= len(drawing.sees) <= 4
    assert drawing.data.rows
    for sentence in drawing.sees:
        assert sentence.endswith("."), sentence
        assert "nan" not in sentence.lower().split(), sentence


def test_one_trace_is_enough_to_draw_and_nobody_is_said(tmp_path: Path) -> None:
    nobody, one = (tiny.write_collection(tmp_path / f"{traces}", traces) for traces in (0, 1))
    for name in ACROSS_CHARTS:
        assert draw(name, one).frame is not None
        assert draw(name, nobody).frame is None
        assert draw(name, nobody).absent[0].startswith("No trace enters this statistic: it takes ")


def test_page_of_many_traces(collection: Path, collected: Path) -> None:
    checker = check(collected)
    assert "bad <b>" in checker.text
    assert "size '40x6' is not a number" in checker.text
    assert {f"chart-{name}" for name in ACROSS_CHARTS} <= set(checker.ids)
    assert not {"systems", "choices", "findings", "advice"} & set(checker.ids)
    anchors = [target[1:] for target in checker.loads if target.startswith("#")]
    assert set(anchors) <= set(checker.ids)
    assert report.findings(collection) == []


def test_page_of_a_workload(workload: Path) -> None:
    checker = check(workload / "report.html")
    assert {"advice", "workload", "contents", "writing", "reading", "locality", "made"} <= set(checker.ids)
    assert not {"systems", "choices", "findings"} & set(checker.ids)
    for entry in tiny.made_characterization().advice:
        # Names between backticks are set as code on the page.
        assert entry.sentence.replace("`", "") in re.sub(r"\s+", " ", checker.text.replace("\u00a0", " "))


def test_same_results_same_bytes(
    workload: Path, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for drawings, which `test_page` compares."""
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    for source in (workload, collection):
        first, again = (report.build(source, out=tmp_path / f"{source.name}-{time}") for time in "12")
        assert again.read_bytes() == first.read_bytes()


def test_kinds_of_results(workload: Path, collection: Path, made: Callable[..., Path]) -> None:
    assert type(load_any(workload)) is TraceResults
    assert type(load_any(collection)) is Collection
    assert type(load_any(made(["conventional"], requests=1000))) is StudyFolder
    for path in (workload, collection):
        with pytest.raises(report.ReportError, match="holds no runs"):
            load(path)


@pytest.mark.parametrize(
    ("name", "kind"), [("response", "a study"), ("temperature", "one trace"), ("across_knee", "many traces")]
)
def test_a_chart_of_another_kind_of_results_is_refused(name: str, kind: str, workload: Path, collection: Path) -> None:
    with pytest.raises(report.ReportError, match=f"'{name}' is drawn from the results of {kind}"):
        report.chart(name, workload if name in {**CHARTS, **ACROSS_CHARTS} else collection)


def test_no_content_is_a_line_each(tmp_path: Path) -> None:
    path = tiny.write_characterization(tmp_path / "plain", content=False)
    results = load_any(path)
    assert isinstance(results, TraceResults)
    for name in ("popularity_reads", "popularity_drift", "stability", "space", "planes"):
        drawing = WORKLOAD_CHARTS[name].draw(results)
        assert drawing.frame is None
        assert drawing.absent == ("The trace carries no content.",)


def test_a_sample_is_said_on_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    whole = tiny.made_characterization()
    options = {**whole.summary["options"], "sample_rate": 0.01}
    sampled = Characterization({**whole.summary, "options": options}, whole._tables)
    path = sampled.write(tmp_path / "sampled")
    text = check(report.build(path)).text
    assert re.search(r"from a sample:\s1.0\s%", text)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", ["workload", "collection"])
def test_every_chart_can_be_read(kind: str, width: int, workload: Path, collected: Path, tmp_path: Path) -> None:
    page = workload / "report.html" if kind == "workload" else collected
    assert readable(page, tmp_path, width) == len(WORKLOAD_CHARTS if kind == "workload" else ACROSS_CHARTS)
