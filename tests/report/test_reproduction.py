"""The page of published beside measured: whole, self-contained, the same every time, and seen in a browser."""

import re
from pathlib import Path

import pytest
from test_page import check
from tests import tiny
from tests.browser import readable
from tests.conftest import contents

from flashtwin import report
from flashtwin.report.charts import reproduced
from flashtwin.report.reproduction import published, value


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reproduction")
    tiny.write_reproduction(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLASHTWIN_CHARTS", "page")
        report.build(folder)
    return folder


def test_charts_that_several_processes_drew_make_the_same_page(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "reproduction.json").write_bytes((folder / "reproduction.json").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLASHTWIN_CHARTS", "page")
        for part in (1, 0):
            report.draw(tmp_path, part, 2)
        patch.setattr(report.rendering, "render", None)
        report.build(tmp_path, drawn=True)
    assert contents(tmp_path) == contents(folder)


def test_the_page_holds_every_item(folder: Path) -> None:
    page = check(folder / "report.html")
    text = re.sub(r"\s+", " ", page.text)
    for wanted in (
        "Place of one: Title of one",
        "26.6 %",
        "26.5 %",
        "at least 1 ×",
        "0.1 × the published",
        "Questions of ours about these numbers",
        "by the rule until 2026-11-25: agrees",
        "Until then it was otherwise. By that rule: agrees.",
        "web <vm>",
        "Since it is so.",
        "no trace",
    ):
        assert wanted in text, wanted
    assert {"rr-ssd-one", "rr-ssd-two", "rr-ssd-three"} <= set(page.ids)
    assert sorted(path.name for path in (folder / "charts").iterdir()) == [
        f"rr-ssd-{item}{ending}" for item in ("one", "two") for ending in ("-column.svg", ".csv", ".svg")
    ]


def test_bars_and_lines_are_those_of_the_paper() -> None:
    drawing = reproduced.draw([tiny.BARS, tiny.STACK])
    beside, stacked = drawing.frame.panels
    assert [mark.args[1] for mark in beside.marks if mark.method == "bar"] == [[10.0, 0.0, -3.0], [20.0, 30.0, 5.0]]
    assert [mark.args[3] for mark in stacked.marks if mark.method == "bar"] == [[0.0] * 3, [10.0, 0.0, -3.0]]
    assert [mark.args[1] for mark in beside.marks if mark.method == "plot"] == [(12.0, 20.0)]
    assert [key.label for key in drawing.frame.keys] == ["RR-SSD", "Oracle", "published"]
    wide = {**tiny.LINES, "x_log": True, "y_log": False, "points": True}
    drawing = reproduced.draw([tiny.LINES, wide])
    days, points = drawing.frame.panels
    assert [mark.args for mark in days.marks] == [((1.0, 2.0), (1.0, 100.0)), ([2.0], [50.0])]
    assert (days.x.ticks, days.y.log, points.x.ticks) == ("whole", True, "log counts")
    assert points.marks[0].how["linestyle"] == "none"


def test_published_ranges_in_words() -> None:
    assert published(tiny.claim("agrees", 17.0, 57.0, None)) == "17 to 57 %"
    assert published(tiny.claim("agrees", None, 8.0, None)) == "at most 8 %"
    assert published(tiny.claim("agrees", 0.0, None, None, "points")) == "above 0"
    assert published(tiny.claim("agrees", None, None, None)) == "–"
    assert value(-1234.5, "erases") == "−1,234 erases"
    assert value(0.0915, "%") == "0.0915 %"


def test_every_chart_can_be_read(folder: Path, tmp_path: Path) -> None:
    page = folder / "report.html"
    assert [readable(page, tmp_path, width) for width in (1280, 390)] == [2, 2]
