"""The page: well-formed, self-contained, the same every time, and it looks like something in a browser."""

import base64
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import three_charts
from matplotlib import image
from tests import tiny
from tests.browser import chromium, look, printed_tables, readable
from tests.conftest import contents
from three_charts import THREE

from flashtwin import report
from flashtwin.causes.explaining import Explanations
from flashtwin.errors import ReportError
from flashtwin.report import colours, declared, saving, tables
from flashtwin.report import page as page_of_trace
from flashtwin.report.charts import CHARTS, WORKLOAD_CHARTS
from flashtwin.report.declared import Frame, Panel
from flashtwin.report.mark import plot
from flashtwin.report.page import page
from flashtwin.report.rendering import ENDINGS
from flashtwin.results.formats import FORMAT
from flashtwin.results.reading import load

NAMES = [*WORKLOAD_CHARTS, *CHARTS]
VOID = {"meta", "link", "br", "img", "hr", "input"}
LOADING = {"src", "href", "xlink:href", "srcset", "data", "action", "poster"}


class Checker(HTMLParser):
    """Collects ids, references and loads; fails on tags that do not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.ids += [value for key, value in attrs if key == "id" and value]
        self.loads += [value or "" for key, value in attrs if key in LOADING]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def check(file: Path) -> Checker:
    checker = Checker()
    checker.feed(file.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    return checker


@pytest.fixture(scope="session")
def three(unlike: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return three_charts.draw(unlike, tmp_path_factory.mktemp("three"))


def test_files(three: Path, built: Path) -> None:
    for folder, names, endings in ((three, THREE, ENDINGS), (built, NAMES, (".svg", "-column.svg", ".csv"))):
        made = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        files = {f"charts/{name}{ending}" for name in names for ending in endings}
        assert made == files | {"report.html"}
        linked = {load for load in check(folder / "report.html").loads if load.startswith("charts/")}
        assert linked == files
        assert all((folder / file).stat().st_size > 0 for file in files)
        assert all((folder / "charts" / f"{name}.csv").read_bytes().count(b"\n") > 1 for name in names)


def test_well_formed_with_unique_ids(built: Path) -> None:
    checker = check(built / "report.html")
    assert len(checker.ids) == len(set(checker.ids))
    anchors = [load[1:] for load in checker.loads if load.startswith("#")]
    assert set(anchors) <= set(checker.ids)
    assert {"findings", "systems", "made"} <= set(checker.ids)


def test_loads_nothing_from_elsewhere(built: Path) -> None:
    checker = check(built / "report.html")
    assert [load for load in checker.loads if not load.startswith(("data:", "#", "charts/"))] == []
    # A link to a file beside the page is followed by who clicks it: the page itself asks for nothing.
    text = (built / "report.html").read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    assert f'content="{policy}"' in text
    assert not re.search(r"@import|url\(\s*['\"]?(?!#|data:)", text)
    for path in built.glob("charts/*.svg"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"href=\"(?!#|data:)", text)


def test_nothing_is_in_the_page_twice(built: Path) -> None:
    """A page is as large as its content: each chart is drawn once for a desk and once for a phone."""
    text = (built / "report.html").read_text(encoding="utf-8")
    drawings = re.findall(r"<svg\b.*?</svg>", text, re.DOTALL)
    assert len(drawings) == 2 * len(NAMES)
    assert len(drawings) == len(set(drawings))
    # All else is words, tables and style: less than the drawings.
    assert len(text) - sum(map(len, drawings)) < sum(map(len, drawings))
    # A page of four systems had become 7 MB, which cannot be mailed.
    assert len(text.encode()) < 2_500_000


def streams(document: bytes) -> bytes:
    found = [document]
    for start in re.finditer(rb"stream\r?\n", document):
        with contextlib.suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(document[start.end() :]))
    return b"\n".join(found)


@pytest.mark.parametrize(("ending", "inches"), [("", 7.0), ("-column", 3.3)])
def test_saved_charts_are_fit_for_a_paper(ending: str, inches: float, three: Path, built: Path) -> None:
    """Publishers refuse Type 3 fonts, and letters below 6 points; text is text, and a PDF holds its fonts."""
    for name in THREE:
        document = streams((three / "charts" / f"{name}{ending}.pdf").read_bytes())
        assert b"/Type3" not in document
        assert b"/Subtype /CIDFontType2" in document or b"/Subtype /TrueType" in document
        assert b"/FontFile2" in document
        [box] = set(re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+)", document))
        assert float(box) == pytest.approx(inches * 72, abs=0.5)
    for name in NAMES:
        drawing = (built / "charts" / f"{name}{ending}.svg").read_text(encoding="utf-8")
        assert f'width="{inches * 72:g}pt"' in drawing
        assert "</text>" in drawing
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:bold )?([\d.]+)px", drawing)]
        assert min(sizes) >= 6


@pytest.mark.parametrize("ending", ["pdf", "eps", "svg"])
def test_a_chart_saved_by_hand_is_fit_for_a_paper(ending: str, four: Path, tmp_path: Path) -> None:
    """Matplotlib's own default is Type 3 and the time of day."""
    files = [tmp_path / f"{number}.{ending}" for number in (1, 2)]
    for file in files:
        report.chart("response", four).savefig(file)
    document = streams(files[0].read_bytes())
    assert not re.search(rb"/Type3|/FontType 3\b", document)
    assert {"pdf": b"/FontFile2", "eps": b"/FontType 42", "svg": b"<svg"}[ending] in document
    assert ending == "eps" or files[0].read_bytes() == files[1].read_bytes()


def test_same_bytes_elsewhere(three: Path, unlike: Path, tmp_path: Path) -> None:
    """Another process, another style, another time zone."""
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: pink\nfont.size: 20\nsvg.hashsalt: other\n")
    more = {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "MATPLOTLIBRC": str(tmp_path)}
    command = [sys.executable, three_charts.__file__, str(unlike), str(tmp_path / "out")]
    subprocess.run(command, check=True, env={**os.environ, **more})
    elsewhere, here = contents(tmp_path / "out"), contents(three)
    assert elsewhere.keys() == here.keys()
    assert [name for name in here if elsewhere[name] != here[name]] == []


def test_drawings_of_one_figure_are_equal_bytes() -> None:
    """Ids come from a fixed salt: two reports of one result are equal."""
    frame = Frame(2.0, [[Panel([plot([0, 1, 2], [0, 1, 0], marker="o")])]])
    first, second = (saving.saved(frame, declared.TEXT, page_only=False) for _ in range(2))
    assert first == second
    assert "url(#" in str(first[".svg"])


def test_says_findings_configuration_and_origin(built: Path, unlike: Path) -> None:
    text = re.sub(r"\s+", " ", check(built / "report.html").text.replace("\u00a0", " "))
    for finding in report.findings(unlike):
        assert finding.claim.replace("`", "") in text
    for words in (
        "engine.write_completes = programmed",
        "replayed 10 times as fast",
        "footprint",
        tiny.trace().digest,
        "ftl.replication.alpha = 0",
    ):
        assert words in text, words


def test_names_are_escaped(made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of_trace, "charts", lambda _: [CHARTS["response"]])
    name = '<img src=x onerror="alert(1)">&`'
    folder = made({"conventional": "conventional", name.replace("/", ""): "rr-ssd"}, requests=1000)
    checker = check(report.build(folder))
    assert "img" not in checker.tags
    assert '<img src=x onerror="alert(1)">' in checker.text


def test_a_chart_that_is_no_more_is_removed(made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    folder = made(["conventional"], requests=1000)
    (folder / "charts").mkdir()
    for name in ("copies.svg", "copies.csv", "mine.svg", "mine.csv", "response.csv"):
        (folder / "charts" / name).write_text("of an earlier build")
    report.build(folder)
    assert not list((folder / "charts").glob("copies.*"))
    assert {"mine.svg", "mine.csv", "response.csv"} <= {path.name for path in (folder / "charts").iterdir()}


def test_unwritable_folder(four: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(report.ReportError, match="cannot be made"):
        report.build(four, out=tmp_path / "taken")
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_warnings_come_first(study: Path) -> None:
    tiny.edit_summary(study, "oracle", lambda s: s["requests"].update(completed=1000))
    text = re.sub(r"\s+", " ", page(load(study).at_their_best, []))
    assert "<code>oracle</code> completed only 1,000 of 3" in text
    assert text.index("Before you read the numbers") < text.index('id="findings"')


def test_poor_results_make_a_page(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    for path in study.rglob("*.parquet"):
        path.unlink()
    for summary in study.glob("**/runs/*/summary.json"):
        summary.write_text("{}")
    text = check(report.build(study)).text
    assert "not recorded" in text
    assert "too little to conclude" in text


def test_looks_like_a_page_in_a_browser(built: Path, tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    log = chromium(built / "report.html", shot, tmp_path / "profile", f"--screenshot={shot}")
    assert "CONSOLE" not in log, [line for line in log.splitlines() if "CONSOLE" in line]
    for band in np.array_split(image.imread(shot)[:2300, :, :3], 6):
        assert band.std() > 0.02


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_every_chart_can_be_read(width: int, built: Path, tmp_path: Path) -> None:
    assert readable(built / "report.html", tmp_path, width) == len(NAMES)


@pytest.mark.parametrize("width_mm", [210, 297, 215.9, 279.4], ids=["A4", "A4 across", "Letter", "Letter across"])
def test_no_row_is_high_on_paper(width_mm: float, built: Path, tmp_path: Path) -> None:
    """A first column of one letter a line had taken three pages."""
    tables = printed_tables(built / "report.html", tmp_path, width_mm)
    assert len(tables) >= 4
    assert [table for table in tables if table[0] > 3 or table[1] > 0] == []


def test_tables_scroll_below_their_first_column_on_a_phone(built: Path, tmp_path: Path) -> None:
    ask = (
        "(() => { const table = document.querySelector('.candidates'); const box = table.parentElement;"
        " const left = () => Math.round(table.rows[1].cells[0].getBoundingClientRect().left"
        " - box.getBoundingClientRect().left);"
        " const before = left(); box.scrollLeft = 9999;"
        " return [box.scrollLeft > 50, Math.abs(before - left()) < 2].join(' '); })()"
    )
    assert look(built / "report.html", tmp_path, 390, ask) == "true true"


def test_every_picture_is_loaded(built: Path, tmp_path: Path) -> None:
    ask = (
        "[...document.querySelectorAll('img.probe')].filter((img) => img.complete && img.naturalWidth > 0).length"
        " + ' ' + document.querySelectorAll('svg image').length"
    )
    loaded, pictures = look(built / "report.html", tmp_path, 1280, ask).split(" ")
    assert int(loaded) == int(pictures) >= 6


def test_a_system_that_loses_is_marked(made: Callable[..., Path]) -> None:
    slow = tiny.system("conventional", nand__read_us=900.0, nand__program_us=4000.0)
    folder = made({"conventional": "conventional", "slow": slow}, requests=1000)
    _, rows = tables.systems(load(folder))
    assert [cell.sense for cell in rows[0][1]] == [""] * len(rows[0][1])
    assert rows[1][1][0].sense == "worse"
    assert rows[1][1][0].change.startswith("+")


def test_of_what_is_served_more_is_better(made: Callable[..., Path]) -> None:
    folder = made({"conventional": "conventional", "fast": "conventional"}, requests=1000)
    tiny.edit_summary(folder, "fast", lambda summary: summary["throughput"]["all"].update(iops=1e6, mb_per_s=0.001))
    titles, rows = tables.systems(load(folder))
    cells = dict(zip(titles, rows[1][1], strict=True))
    assert (cells["Served", "IOPS"].value, cells["Served", "IOPS"].sense) == ("1.00 M", "better")
    assert (cells["Served", "MB/s"].value, cells["Served", "MB/s"].sense) == ("0.00100", "worse")


def test_page_lists_other_differences_only_if_any(made: Callable[..., Path]) -> None:
    folder = made(["conventional", "ca-ssd"], requests=1000)
    assert "What else differs" not in page(load(folder), [])
    tiny.edit_summary(folder, "ca-ssd", lambda summary: summary["config"].update(device="tlc-2021"))
    tiny.edit_summary(folder, "ca-ssd", lambda summary: summary["config"]["nand"].update(read_us=20.0))
    text = page(load(folder), [])
    assert "<td>rr-ssd (conventional), tlc-2021 (ca-ssd)</td>" in text
    assert "<code>--set device=rr-ssd</code>" in text
    assert "<code>--equal-ground</code> gives all of them what <code>conventional</code> has" in text
    assert "design: whether pages of equal content share a flash page (CA-SSD)" in text


def test_other_drives_have_a_table_of_their_own(four: Path) -> None:
    """Each kind of change stands below the figure without it, and nowhere else."""
    text, found = page(load(four), []), load(four).at_their_best.explained
    kinds = [step["kind"] for one in found.values() for step in one["steps"]]
    assert set(kinds) >= {"controller", "drive"}
    for kind, title in (("controller", "changes of the controller"), ("drive", "other drives")):
        tables = [part.partition("</details>")[0] for part in text.split(f" {title}, by what they bring")[1:]]
        assert sum(part.count('<th scope="row">') for part in tables) == kinds.count(kind) + len(tables)
        assert all("as it is" in part or "As chosen" in part for part in tables)


def edit(file: Path, **more: Any) -> None:
    said = {**json.loads(file.read_text(encoding="utf-8")), **more}
    file.write_text(json.dumps({key: value for key, value in said.items() if value is not None}), encoding="utf-8")


def test_folder_of_an_earlier_format_is_read_with_what_it_has(study: Path) -> None:
    """Format 1 had no tables of blocks, and neither format nor choice in its files."""
    assert not any("as configured" in one.claim.lower() for one in report.findings(study, 2))
    for file in study.rglob("*.parquet"):
        if file.name.startswith("request_block"):
            file.unlink()
    files = [study / "study.json", study / "candidates" / "study.json", study / "candidates.json"]
    for file in (*files, *study.rglob("*.explained.json")):
        edit(file, format=None, flashtwin="0.1.0")
    old = f"Made by flashtwin 0.1.0: no intervals and no choice; `flashtwin study TRACE --out {study}` makes it again."
    assert load(study).problems == (old,)
    assert "no intervals and no choice" in page(load(study), [])
    assert all("as configured" in one.claim.lower() for one in report.findings(study))
    with pytest.raises(ReportError, match=r"explained\.json: Made by flashtwin 0\.1\.0.*`flashtwin explain .*study`"):
        Explanations.read(study)
    edit(study / "study.json", format=FORMAT)
    with pytest.raises(ReportError, match=r"candidates\.json: made by flashtwin 0\.1\.0: no intervals"):
        report.findings(study)
    for other, said in ((FORMAT + 1, str(FORMAT + 1)), ([1], r"\[1\]")):
        edit(study / "study.json", format=other)
        with pytest.raises(ReportError, match=rf"study\.json: .* in format {said}, and .* up to {FORMAT}; update"):
            report.findings(study)


@pytest.mark.parametrize(("width", "screens"), [(1280, 1), (390, 2)])
def test_the_first_screen_is_the_answer(width: int, screens: int, built: Path, tmp_path: Path) -> None:
    """Verdict, table and chart lie within 900 pixels, of a phone within two screens; few words come before."""
    ask = (
        "document.querySelector('#chart-candidates .chart').getBoundingClientRect().bottom.toFixed(0) + ' ' +"
        "document.querySelector('main').innerText.split(/\\s+/).indexOf('Settings') + ' ' +"
        "[...document.querySelectorAll('section')].map((one) => one.id)[0]"
    )
    bottom, words, first = look(built / "report.html", tmp_path, width, ask).split(" ")
    assert first == "verdict"
    assert int(bottom) <= 900 * screens
    assert 0 < int(words) < 400


def test_a_click_sorts_and_hides(built: Path, tmp_path: Path) -> None:
    ask = (
        "(() => { const table = document.querySelector('.candidates');"
        " const names = () => [...table.tBodies[0].rows].map((row) => row.querySelector('code').innerText).join();"
        " const title = [...table.tHead.rows[0].cells].find((one) => one.innerText.startsWith('Programs'));"
        " title.click(); const up = names(); title.click(); const down = names();"
        " const chip = document.querySelectorAll('button.chip')[1]; chip.click();"
        " const copies = document.querySelectorAll('button.copy').length > 0;"
        " return [up, down, chip.getAttribute('aria-pressed'), copies].join(' ');"
        " })()"
    )
    up, down, pressed, copies = look(built / "report.html", tmp_path, 1280, ask).split(" ")
    assert up.split(",") == down.split(",")[::-1]
    assert up.split(",")[0] == "ca-ssd"
    assert (pressed, copies) == ("false", "true")


def figures_of(page_file: Path) -> dict[str, str]:
    text = page_file.read_text(encoding="utf-8")
    return dict(re.findall(r'<figure id="chart-([^"]*)"(.*?)</figure>', text, re.DOTALL))


def test_every_figure_says_more_under_the_pointer(built: Path) -> None:
    figures = figures_of(built / "report.html")
    tips = {name: set(re.findall("<title>(.*?)</title>", figure)) for name, figure in figures.items()}
    drawn = [name for name, figure in figures.items() if "<svg" in figure]
    # A panel has one as well; `queues` and `planes` are maps of all chips.
    assert [name for name in drawn if not any(": " in tip or tip in tiny.FOUR for tip in tips[name])] == []
    assert any(re.fullmatch(r"rr-ssd: [\d.]+ [µm]s to [\d.]+ [µm]s", tip) for tip in tips["response_over_time"])


def test_the_colour_of_a_system_means_nothing_else(built: Path) -> None:
    """Who hides a system in the charts hides it alone."""
    figures = figures_of(built / "report.html")
    places = "|".join(str(colours.PAGE_PAIRS.index(pair)) for pair in [colours.GREY, *colours.HUES])
    of_no_system = [name for name in (*WORKLOAD_CHARTS, "candidates") if name in figures]
    assert len(of_no_system) > 10
    assert [name for name in of_no_system if re.search(rf"var\(--c(?:{places})\)", figures[name])] == []


def test_marks_say_their_values(built: Path) -> None:
    text = (built / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<title>rr-ssd with [^<]*: [\d.]+ µs</title>", text)
    assert 'id="tip' not in text
