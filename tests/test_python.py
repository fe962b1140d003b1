"""The public package: its names, what importing it costs, arguments of the wrong kind, settings, progress, paths."""

import ast
import dataclasses
import html
import inspect
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.results.responses import Responses
from flashtwin.settings import literal

from .conftest import ROOT, finished

PACKAGE = ROOT / "python" / "flashtwin"


def test_dir_shows_what_is_public_and_nothing_else() -> None:
    assert dir(ft) == sorted(ft.__all__)
    assert not [name for name in dir(ft) if name.startswith("_") and name != "__version__"]
    for name in dir(ft):
        assert getattr(ft, name) is not None
    assert not {path.stem for path in PACKAGE.iterdir()} & set(ft.__all__), "a room hides a public name"
    with pytest.raises(AttributeError, match="has no attribute 'replays_'"):
        _ = ft.replays_


def test_renamed_names_answer_with_the_new_ones() -> None:
    with pytest.warns(DeprecationWarning, match=r"flashtwin\.fit is called flashtwin\.imitate now"):
        assert ft.fit is ft.imitate
    with pytest.warns(DeprecationWarning, match=r"flashtwin\.Imitation now"):
        assert ft.Fit is ft.Imitation


def test_type_checkers_see_what_is_loaded_lazily() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == ft._HOME
    assert sorted(seen) == ft.__all__


def loaded(code: str) -> set[str]:
    more = f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)"
    return set(finished(sys.executable, "-c", more).out.split())


def test_importing_the_package_loads_nothing_of_it() -> None:
    found = loaded("import flashtwin")
    assert {name for name in found if name.startswith("flashtwin")} == {"flashtwin"}
    assert not {"json", "pathlib", "numpy", "pyarrow", "matplotlib", "dataclasses"} & found


def test_replay_loads_no_table_or_chart_libraries() -> None:
    webvm = str(ROOT / "traces" / "webvm-small.fiu.zst")
    found = loaded(f"import flashtwin as ft; ft.replay({webvm!r}, 'conventional').summary; ft.study; ft.characterize")
    assert not {"numpy", "pyarrow", "pandas", "polars", "matplotlib"} & found


def test_errors_are_one_family() -> None:
    kinds = [value for name in ft.__all__ if inspect.isclass(value := getattr(ft, name)) and name.endswith("Error")]
    assert len(kinds) == 9
    for kind in kinds:
        assert kind.__module__ == "flashtwin"
        assert issubclass(kind, ft.FlashtwinError) or kind is ft.InternalError
    assert report.ReportError is ft.ReportError
    assert issubclass(ft.ArgumentError, TypeError)


@pytest.fixture(scope="module")
def trace(brief_trace: Path) -> Path:
    return brief_trace


def test_a_path_will_do_wherever_a_trace_will(trace: Path) -> None:
    opened = ft.open(trace)
    for given in (trace, str(trace)):
        assert ft.replay(given, "ca-ssd").row == ft.replay(opened, "ca-ssd").row
        assert ft.compare(given, "ca-ssd").to_arrow().equals(ft.compare(opened, "ca-ssd").to_arrow())
        assert ft.characterize(given).row == ft.characterize(opened).row
        assert ft.imitate(given, replay=False).workload == ft.imitate(opened, replay=False).workload


def test_one_system_needs_no_list(trace: Path) -> None:
    for system in ("rr-ssd", ft.system("rr-ssd")):
        assert list(ft.compare(trace, system)) == ["rr-ssd"]
    with pytest.raises(ft.ConfigError, match="did you mean 'rr-ssd'"):
        ft.compare(trace, "rr-sdd")


def test_a_system_bears_the_name_that_its_caller_gives(trace: Path) -> None:
    for call in (
        lambda: ft.replay(trace, "rr-ssd", name="mine"),
        lambda: ft.compare(trace, ["rr-ssd"], name="mine"),
        lambda: ft.system("rr-ssd", name="mine"),
    ):
        with pytest.raises(ft.ConfigError, match=r"'name' is no key that can be set: .*ft\.compare\(trace, \{'mine'"):
            call()
    assert list(ft.compare(trace, {"mine": "rr-ssd"})) == ["mine"]


def test_settings_are_keywords_with_dots(trace: Path) -> None:
    by_keyword = ft.replay(trace, "rr-ssd", **{"replication.alpha": 0.25}).summary
    assert ft.replay(trace, "rr-ssd", settings={"replication.alpha": 0.25}).summary == by_keyword
    assert ft.compare(trace, "rr-ssd", settings={"replication.alpha": 0.25}).baseline.summary == by_keyword
    assert ft.system("rr-ssd", settings={"alpha": 0.25}).config["ftl"]["replication"]["alpha"] == 0.25
    both = ft.characterize(trace, settings={"wa.partitions": [1, 2]}, period_s=0.005).summary["options"]
    assert (both["wa"]["partitions"], both["period_s"]) == ([1, 2], 0.005)
    with pytest.raises(ft.ConfigError, match=r"replication\.alpha"):
        ft.replay(trace, "rr-ssd", settings={"replication.alpah": 0.25})


@pytest.mark.usefixtures("no_pages")
def test_all_work_reports_in_one_way(trace: Path, tmp_path: Path) -> None:
    def heard(work: Callable[[Any], Any]) -> set[str]:
        said: set[str] = set()

        def progress(what: str, done: int, total: int) -> None:
            said.add(what)
            assert done >= 0
            assert total >= 0

        work(progress)
        return said

    assert heard(lambda p: ft.open(trace, progress=p)) <= {"reading"}
    assert heard(lambda p: ft.replay(trace, "rr-ssd", progress=p)) <= {"reading", "rr-ssd"}
    assert heard(lambda p: ft.compare(trace, {"a": "ca-ssd"}, progress=p)) <= {"reading", "a"}
    assert heard(lambda p: ft.characterize(trace, progress=p)) <= {"reading", "characterizing"}
    assert heard(lambda p: ft.synthesize("rr-ssd/webvm", scale=0.01, progress=p)) == {"making"}
    assert heard(
        lambda p: ft.characterize_many(trace, tmp_path / "many", workers=1, report=False, progress=p)
    ) == {"traces"}  # fmt: skip
    runs = {"conventional", "conventional/write cache"}
    studied = heard(lambda p: ft.study(trace, tmp_path / "study", ["conventional"], progress=p))
    assert {"report"} <= studied <= {"reading", *runs, "candidates", "causes", "workload", "report"}


def test_any_value_is_written_as_toml_reads_it() -> None:
    table = {"name": 'a "quoted"\nname\x7f \\', "points": [[1, 0.5], [2, 1e-9]], "inner": {"on": True}}
    text = "\n".join(f"{key} = {literal(value)}" for key, value in table.items())
    assert tomllib.loads(text) == table
    assert [literal(value) for value in (np.float64(0.5), np.int64(3), True)] == ["0.5", "3", "true"]


def test_a_systems_results_bear_the_name_in_its_file(trace: Path, tmp_path: Path) -> None:
    file, nameless = tmp_path / "foo.toml", tmp_path / "nameless.toml"
    printed = ft.system_toml("rr-ssd")
    file.write_text(printed.replace('name = "rr-ssd"', 'name = "bar"'))
    nameless.write_text(printed.replace('name = "rr-ssd"\n', ""))
    result = ft.replay(trace, file)
    assert (result.name, result.summary["system"]) == ("bar", "bar")
    assert ft.system(file).with_sets({"replication.alpha": 0.5}).name == "bar"
    assert ft.system(nameless).name == "nameless"
    assert list(ft.compare(trace, ["conventional", file])) == ["conventional", "bar"]


def test_systems_of_one_name_are_told_apart_by_their_files(trace: Path, tmp_path: Path) -> None:
    """A user who prints a preset, changes a key and compares both need not think of its name."""
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    for file, alpha in ((one, 0.0), (two, 0.5)):
        file.write_text(ft.system("rr-ssd", alpha=alpha).toml)
    found = ft.compare(trace, ["rr-ssd", one, two])
    assert list(found) == ["rr-ssd", "rr-ssd (one)", "rr-ssd (two)"]
    alphas = [run.summary["config"]["ftl"]["replication"]["alpha"] for run in found.values()]
    assert alphas == [0.0, 0.0, 0.5]
    assert list(ft.Comparison.read(found.save(tmp_path / "saved"))) == list(found)
    (tmp_path / "other").mkdir()
    same = two.rename(tmp_path / "other" / "one.toml")
    with pytest.raises(
        ft.ConfigError, match=r"system 'rr-ssd \(one\)' is named twice \(.*other.one\.toml\); change `name`"
    ):
        ft.compare(trace, [one, same])
    with pytest.raises(ft.ConfigError, match="'rr-ssd' is named twice; name each once"):
        ft.compare(trace, ["rr-ssd", "rr-ssd"])


@pytest.mark.usefixtures("no_pages")
def test_a_study_can_be_read_again(trace: Path, tmp_path: Path) -> None:
    done = ft.study(trace, tmp_path / "study", ["conventional", "rr-ssd"], period_s=0.005, effort=1)
    again = ft.Study.read(tmp_path / "study")
    assert again == done
    assert [one["system"] for one in again.limits] == [again.choice.answer]
    assert list(again.comparison) == ["conventional", "rr-ssd"]
    shown = again._repr_html_()
    assert f'<a href="{done.report}">' in shown
    assert html.escape(done.findings[0]) in shown
    assert shown.endswith(again.comparison._repr_html_())
    done.report.unlink()
    assert ft.Study.read(tmp_path / "study") == dataclasses.replace(done, report=None)
    with pytest.raises(ft.ReportError):
        ft.Study.read(tmp_path / "nothing")


def test_what_is_the_cores_is_nobody_elses(trace: Path) -> None:
    opened = ft.open(trace)
    for one in (opened, ft.scan(trace), ft.replay(opened, "conventional"), ft.system("conventional")):
        public = {name: getattr(one, name) for name in dir(one) if not name.startswith("_")}
        assert not [name for name, value in public.items() if type(value).__module__ == "flashtwin._core"]


def test_response_times_are_attributes_named_as_in_the_summary(trace: Path) -> None:
    result = ft.replay(trace, "ca-ssd")
    summary = result.summary["response"]
    for kind, figures in asdict(result.response).items():
        assert figures == {name: value for name, value in summary[kind].items() if name != "split"}
    assert result.response.flush.p99_ns is None, "the trace has no flush"
    assert Responses.of({}).read.mean_ns is None, "nor had results of an earlier version"
