"""Figures of README and docs come from records that a command makes again, and the words beside them hold."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from evidence import code, render, studies, study
from evidence.render import PAGES, ClaimError
from evidence.studies import gains, ranges, reliability
from evidence.studies.drives import AGED, drive, figures
from evidence.study import Lab, MissingInputError, Study

import flashtwin as ft

from .conftest import ROOT, Cli

TRACE = ROOT / "traces" / "webvm-small.fiu.zst"
#: A figure with its unit, outside of the braces of a template.
FIGURE = re.compile(r"\d[\d.,]* ?(%|us\b|µs\b|ms\b|MB\b|GB\b|points?\b|times\b)")
#: Places that may carry one: an expression, a block of code, words set as code, a comment.
NOT_PROSE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|```.*?```|`[^`\n]*`|\$\$.*?\$\$", re.DOTALL)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("RECORDS", "DATA", "SCRATCH"):
        monkeypatch.setattr(study, name, tmp_path / name.lower())
    return tmp_path


class TestPages:
    def test_pages_match_their_records(self) -> None:
        differing = [path for path, text in render.pages().items() if path.read_text(encoding="utf-8") != text]
        assert not differing, "python -m evidence --pages"

    @pytest.mark.parametrize("template", sorted(PAGES.rglob("*.j2")), ids=lambda path: path.name)
    def test_no_figure_is_typed_by_hand(self, template: Path) -> None:
        prose = NOT_PROSE.sub("", template.read_text(encoding="utf-8"))
        assert [line.strip() for line in prose.splitlines() if FIGURE.search(line)] == []

    def test_each_page_says_first_how_it_was_made(self) -> None:
        names = {template.stem for template in PAGES.glob("*.j2")} - {"README.md", "ARTIFACT.md"}
        for name in (*names, "mechanisms.md", "validation.md"):
            page = re.sub("<!--.*?-->\n", "", (ROOT / "docs" / name).read_text(encoding="utf-8"))
            title, line = page.strip().split("\n\n")[:2]
            assert title.startswith("# ")
            assert line.startswith("Made on "), name

    def test_sentence_that_no_longer_holds_stops_the_page(self, tmp_path: Path) -> None:
        template = tmp_path / "page.md.j2"
        template.write_text('{{ holds(demo.a > demo.b, "a is above b") }}')
        assert render.page(template, {"demo": {"figures": {"a": 2, "b": 1}}}) == ""
        with pytest.raises(ClaimError, match=r"page.md.j2: the data no longer support: a is above b"):
            render.page(template, {"demo": {"figures": {"a": 1, "b": 1}}})
        with pytest.raises(ClaimError, match="'demo' is undefined; is the study made"):
            render.page(template, {})


class TestStudies:
    @pytest.mark.parametrize("one", studies.STUDIES, ids=lambda one: one.name)
    def test_every_study_has_a_record(self, one: Study) -> None:
        record = one.record()
        assert record is not None, one.command
        assert {"study", "command", "flashtwin", "made", "code", "data", "traces", "wall_s", "figures"} <= record.keys()
        assert (record["wall_s"] or 0) <= 1200 or "note" in record, "a study takes less than 20 minutes"

    def test_record_data_and_other_files_are_written(self, places: Path) -> None:
        def measure(lab: Lab) -> dict[str, int]:
            lab.note(ft.open(TRACE))
            return {"answer": 1, "more": 2}

        tried = Study(
            "tried", "a trial", measure, lambda data: {"answer": data["answer"]},
            files=lambda data: {places / "other": str(data["more"])},
        )  # fmt: skip
        assert tried.is_stale()
        tried.run(Lab({}, lambda _: None))
        record = tried.record()
        assert (record["command"], record["figures"]) == ("python -m evidence tried", {"answer": 1})
        assert record["traces"] == {"webvm-small": ft.open(TRACE).digest}
        assert json.loads((places / "data" / "tried.json").read_text()) == {"answer": 1, "more": 2}
        assert (places / "other").read_text() == "2"
        assert not tried.is_stale()
        tried.path.write_text(json.dumps({**record, "code": "other", "figures": {}}))
        assert tried.is_stale()
        assert tried.summarize()
        assert tried.record() == {**record, "code": "other"}

    def test_replay_is_made_once(self, places: Path) -> None:
        trace = ft.open(TRACE)
        systems = {"one": ft.system("conventional"), "two": ft.system("ca-ssd"), "again": ft.system("conventional")}
        first, later = Lab({}, lambda _: None), Lab({}, lambda _: None)
        made = first.replays(trace, systems)
        assert first.replays(trace, systems) == made
        assert not first.reused
        assert len(list((places / "scratch" / "replays").rglob("*.json"))) == 2
        assert figures(made["one"]) == figures(made["again"]) != figures(made["two"])
        assert later.replays(trace, systems) == made
        assert later.reused

    def test_without_input_the_cure_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(MissingInputError, match="--captured DIR, or FLASHTWIN_CAPTURED=DIR"):
            Lab({}, print).trace("webvm")
        with pytest.raises(MissingInputError, match=r"has no webvm\.fiu\.zst"):
            Lab({"captured": tmp_path}, print).trace("webvm")

    def test_digest_changes_with_code_and_not_with_comments(self, tmp_path: Path) -> None:
        (tmp_path / "src").mkdir()
        file = tmp_path / "src" / "a.rs"

        def digest(text: str) -> str:
            file.write_text(text)
            code.digest.cache_clear()
            return code.digest(("src",), tmp_path)

        plain = digest("fn f() -> u32 { 1 }\n")
        assert digest("// says why\n\nfn f() -> u32 { 1 }\n#[cfg(test)]\nmod tests {}\n") == plain
        assert digest("fn f() -> u32 { 2 }\n") != plain
        for place in ("tests.rs", "a/tests.rs", "tests/whole.rs"):
            (tmp_path / "src" / place).parent.mkdir(exist_ok=True)
            (tmp_path / "src" / place).write_text("fn g() {}\n")
        assert digest("fn f() -> u32 { 1 }\n") == plain
        with pytest.raises(FileNotFoundError):
            code.digest(("gone",), tmp_path)


class TestRanges:
    def test_levels_are_keys_and_the_first_is_that_of_the_presets(self) -> None:
        config = dict(_keys(ft.system("rr-ssd", settings={**drive("trans"), **AGED}).config))
        for factor in ranges.FACTORS:
            assert factor.keys <= config.keys(), factor.name
            for key, value in factor.levels[factor.default].items():
                assert config[key] == value, f"{factor.name}: {key}"

    @pytest.mark.parametrize(
        ("changes", "word"),
        [
            ([-0.1, -0.02], "falls"), ([0.3, 0.02], "rises"), ([0.009, -0.009], "the same"),
            ([-0.3, 0.005], "never rises"), ([0.3, -0.005], "never falls"), ([-0.3, 0.3], None),
        ],
    )  # fmt: skip
    def test_conclusion_is_what_no_row_contradicts(self, changes: list[float], word: str | None) -> None:
        assert ranges.common_sign(changes, 0.01) == word

    def answer(self, changes: list[float]) -> ranges.Answer:
        """Changes of reads by row; the seeds alone put the change at 1 to 5 %."""
        alone = (0.01, 0.03, 0.05, 0.02, 0.02, 0.02)
        before = {"read_ns": 100.0, "write_ns": 200.0}
        grounds = [
            {"systems": {"conventional": before, "ca-ssd": {**before, "read_ns": 100.0 * (1 + by)}}}
            for by in (0.0, *changes, *alone)
        ]
        data = {"rows": ranges.design(), "traces": {"trace": grounds}}
        return ranges.answer(data, "trace", "ca-ssd", "conventional", "read_ns", keeping_up=False)

    def test_change_below_the_spread_over_seeds_is_a_tie(self) -> None:
        found = self.answer([-0.03] * ranges.ROWS)
        assert (found.tie, found.word) == (pytest.approx(0.04), "the same")

    def test_choice_that_reverses_a_statement_is_named(self) -> None:
        rows = ranges.design()[1 : ranges.ROWS + 1]
        found = self.answer([0.5 if row["hash unit"] == "1 lane" else -0.2 for row in rows])
        assert found.word is None
        assert found.text == "-20.0 to +50.0 %; hash unit"


def case(*changes: float, spread: float = 0.0) -> gains.Case:
    return gains.Case("drive", "trace", changes, spread)


class TestGains:
    @pytest.mark.parametrize(
        ("found", "expected"),
        [
            # A change below the spread is a tie.
            (case(-0.2).sign, -1), (case(0.009).sign, 0), (case(-0.03, spread=0.04).sign, 0),
            (case(0.03, 0.05, spread=0.02).sign, 1), (case(-0.01, 0.03, spread=0.04).sign, 0),
            # A cause is named only if the effect goes with it.
            (gains.remainder(0.3, 0.0), "the effect is gone"), (gains.remainder(0.3, -0.1), "the effect turns round"),
            (gains.remainder(0.3, 0.1), "most of it is gone"), (gains.remainder(0.3, 0.2), "part of it is gone"),
            (gains.remainder(0.3, 0.29), "the effect stays"), (gains.remainder(0.3, 0.5), "the effect grows"),
            # Words follow the cases.
            *((gains.direction([case(one) for one in changes]), went) for changes, went in (
                ((-0.2, -0.4), "falls in all 2 cases (-40 to -20 %)"),
                ((0.2, 0.2), "rises in all 2 cases (+20 %)"), ((0.0, 0.004), "ties in all 2 cases (+0 %)"),
                ((-0.2, 0.3, 0.0), "falls in 1, rises in 1, ties in 1 (-20 to +30 %)"),
            )),
            *((gains.verdict([case(one) for one in changes]), verdict) for changes, verdict in (
                ((-0.2, -0.4), "pays"), ((0.2, 0.2), "costs"), ((0.0, 0.004), "changes nothing"),
                ((-0.2, 0.0), "pays or changes nothing"), ((-0.2, 0.3), "pays in some cases and costs in others"),
            )),
        ],
    )  # fmt: skip
    def test_words_follow_the_cases(self, found: object, expected: object) -> None:
        assert found == expected

    @pytest.mark.parametrize("knee", [-3, 0, 5, 8])
    def test_last_clock_that_is_kept_up_with_is_found(self, knee: int) -> None:
        assert gains.last_exponent(lambda at: at <= knee) == knee

    def test_every_cause_can_be_switched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        trace = ft.open(TRACE)
        for one in gains.CAUSES:
            for spare, sets in ((gains.SPARE, one.on), (one.spare_off, one.off)):
                gains.systems((one.base, one.design), {**gains.keys(gains.MAIN[0], trace, spare), **sets})


class TestReliability:
    RUST = """test fair::a ... counted 200 mutants
.counted 40 power cuts
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 9 filtered out; finished in 1.25s
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s"""
    PYTHON = """<testsuites><testsuite tests="4" failures="1" errors="0" skipped="1" time="2.0">
<property name="cpu_s" value="0.3"/><property name="counted kills" value="5"/></testsuite></testsuites>"""

    def test_attempts_are_what_the_tests_say(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        silent = self.RUST.replace("counted", "")
        fuzzed = "stat::number_of_executed_units: 77"
        said = {"fair": self.RUST, "swarm": silent, "a.py": self.PYTHON, "broken": "error[E0425]", "FUZZ=image": fuzzed}

        def done(command: str, *more: str) -> CompletedProcess[str]:
            (name,) = said.keys() & {*command.split()}
            for report in more:
                Path(report.removeprefix("--junitxml=")).write_text(said[name])
            return CompletedProcess(command, 77, stdout=said[name], stderr="")

        monkeypatch.setattr(reliability, "_done", done)
        monkeypatch.setattr(reliability, "SCRATCH", tmp_path)
        # Tests that do not say what they tried did what they were asked for.
        asked = {"swarm": ("SEEDS", "drives", 10), "image": ("RUNS", "inputs", 100)}
        for tests, expected in (
            (("live", "fair"), "200 mutants, 40 power cuts, 3 tests"), (("live", "swarm"), "30 drives, 3 tests"),
            (("a.py",), "5 kills, 3 tests, 1 skipped"), (("make fuzz", "image"), "77 inputs of image, 1 test"),
        ):  # fmt: skip
            found = reliability.ran(reliability.Suite("a promise", tests, asked.get(tests[-1])))
            assert (reliability.tried_words(found), found["failed"]) == (expected, 1)
        with pytest.raises(RuntimeError, match=r"-- broken --nocapture did not get to its end:\nerror\[E0425\]"):
            reliability.ran(reliability.Suite("a promise", ("live", "broken")))
        # Long runs are kept by their command, one by one.
        counts = tmp_path / "counts.json"
        monkeypatch.setattr(reliability, "COUNTS", counts)
        for _ in range(2):
            assert reliability.count_on(["FUZZ=image"], lambda _: None) == 1
        told: list[str] = []
        assert reliability.count_on(["FUZZ=image", "FUZZ=imgae"], told.append) == 2
        assert told[0].startswith("no long run has FUZZ=imgae in its command")
        (kept,) = json.loads(counts.read_text())
        assert (kept["tried"], kept["failed"]) == ({"inputs of image": 77}, 1)

    def test_page_says_a_promise_once_and_names_no_folder_of_a_machine(self) -> None:
        columns = dict.fromkeys(("version", "passed", "failed", "skipped", "seconds", "date"), 1)
        suites = [{"promise": promise, "tried": {"mutants": nth}, "command": "make fuzz", **columns}
                  for nth, promise in enumerate(("bytes", "cuts", "bytes"))]  # fmt: skip
        why = "fails: /tmp/x/xfstests/tests/generic/3: line 1 ... (Run 'diff a b') Ran: generic/3"
        others = [{"suite": "xfstests", "reason": [why], "systems": ["ca-ssd"], **columns}]
        page = reliability.pages({"suites": suites, "others": others, "planted": None})
        told = [row.split(" | ")[:2] for row in page["promises"][2:]]
        assert [[cell.strip("| ").split(",")[0] for cell in row] for row in told] == [
            ["bytes", "0 mutants"], ["", "2 mutants"], ["cuts", "1 mutants"],
        ]  # fmt: skip
        assert page["reasons"] == ["* xfstests: fails: tests/generic/3: line 1"]


class TestArtifact:
    PAGE = (ROOT / "ARTIFACT.md").read_text(encoding="utf-8")

    def printed(self, cli: Cli, verb: str, part: str) -> str:
        (line,) = [one for one in re.findall(r"^\.venv/bin/flashtwin (.*)$", self.PAGE, re.MULTILINE)
                   if one.startswith(verb) and one.endswith(part)]  # fmt: skip
        done = cli(*[str(ROOT / word) if word.startswith("traces/") else word for word in shlex.split(line)], status=0)
        return done.out

    def test_comparisons_print_the_figures_of_the_page(self, cli: Cli) -> None:
        out = self.printed(cli, "compare", "hash_lanes=16")
        table = {cells[0]: cells[1:] for row in re.findall(r"^\| (.*) \|$", self.PAGE, re.MULTILINE)
                 if len(cells := row.split(" | ")) == 5}  # fmt: skip
        for name in ("mean response, us", "pages programmed"):
            (printed,) = [line.split() for line in out.splitlines() if line.startswith(name)]
            assert printed[-4:] == table[name], f"{name}: make the study demo again"


def _keys(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of a configuration with its value, dotted."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
