"""What CONTRIBUTING says that one more of a kind takes, done on a copy of the sources: all of it compiles and works.

Policies of replication and placement, the metric, and the reason to wait are those that docs/adding-a-policy.md works
through; trace format and chart are copies of existing ones under another name. `make new-policy` adds one more of each
family.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from docs import new_policy

from .conftest import ROOT

PAGE = ROOT / "docs" / "adding-a-policy.md"
FTL = "crates/ftl/src"
REPLICATION = f"{FTL}/content/replication"
#: What CONTRIBUTING promises of everything: a new file and another one, three places in them.
FILES_AT_MOST, PLACES_AT_MOST = 2, 3


def rust(beginning: str) -> str:
    """The block of Rust on the page that begins so."""
    blocks = re.findall(r"^```rust\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (found,) = (block for block in blocks if block.startswith(beginning))
    return found


def of_page(beginning: str) -> tuple[str, str]:
    """A module and a row, as the page shows them."""
    module, row = rust(beginning).strip("\n").split("\n\n")
    return f"{module}\n", f"{row}\n"


def renamed(path: str, *names: tuple[str, str]) -> str:
    """A file of the sources under other names."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for old, new in names:
        assert old in text, f"{old!r} is not in {path}"
        text = text.replace(old, new)
    return text


@dataclass(frozen=True)
class Addition:
    """One more of a kind: a new file, and lines that go behind others."""

    files: Mapping[str, str]
    #: File, the line behind which something goes, and what goes there.
    behind: Sequence[tuple[str, str, str]]
    places: int = PLACES_AT_MOST


BUSY = '''

@chart("What is busy", "Are all chips busy?", "flash")
def busy(study: StudyFolder) -> Drawing:
    """The chart above under another name."""
    return utilisation.draw(study)
'''


def additions() -> dict[str, Addition]:
    """All kinds of the table in CONTRIBUTING."""
    least_popular, one_each, trims, batches = (
        of_page(f"mod {name};") for name in ("least_popular", "one_each", "trims", "batches")
    )
    formats, analysis, charts = "crates/trace/src/format", "crates/analysis/src", "python/flashtwin/report/charts"
    host = "crates/sim/src/engine/host"
    pblru = "        priority_lru::PriorityLru::new(parts.geometry.chips(), parts.rules.class_pages);\n"
    found = """
#[cfg(test)]
mod tests {
    #[test]
    fn a_format_added_is_known_by_its_name() {
        assert!("twin".parse::<crate::Format>().is_ok());
    }
}
"""
    mqsim = renamed(
        f"{formats}/mqsim.rs", ("MqSim", "Twin"), ('"mqsim"', '"twin"'), ('&["ssdsim"]', "&[]"),
        ("yields_to: None", 'yields_to: Some("mqsim")'),
    )  # fmt: skip
    return {
        "placement": Addition(
            {f"{REPLICATION}/placement/least_popular.rs": rust("//! The chip whose stored contents")},
            (
                (f"{REPLICATION}/placement/mod.rs", "mod successors;\n", least_popular[0]),
                (
                    f"{REPLICATION}/placement/mod.rs",
                    "    Static => Box::new(successors::Successors);\n",
                    least_popular[1],
                ),
            ),
        ),
        "replication": Addition(
            {f"{REPLICATION}/one_each.rs": rust("//! One copy of every content")},
            (
                (f"{REPLICATION}/mod.rs", "mod on_line;\n", one_each[0]),
                (f"{REPLICATION}/mod.rs", pblru, one_each[1]),
            ),
        ),
        "trace format": Addition(
            {f"{formats}/twin.rs": mqsim + found},
            (
                (f"{formats}/mod.rs", "mod tencent;\n", "mod twin;\n"),
                (f"{formats}/mod.rs", "    mqsim::ROW,\n", "    twin::ROW,\n"),
            ),
        ),
        "metric": Addition(
            {f"{analysis}/trims.rs": rust("//! How much of what is written")},
            (
                (f"{analysis}/lib.rs", "mod temperature;\n", trims[0]),
                (
                    f"{analysis}/characterize/metrics.rs",
                    "    logical_locality: crate::logical_locality::LogicalLocalityMeter,\n",
                    trims[1],
                ),
            ),
        ),
        "chart": Addition(
            {},
            (
                (
                    f"{charts}/flash.py",
                    "    return Drawing(frame, [*sees, *_sees_hash_unit(study)], notes, data)\n",
                    BUSY,
                ),
            ),
            places=1,
        ),
        "reason to wait": Addition(
            {f"{host}/batches.rs": rust("//! Writes that wait while collection")},
            (
                (f"{host}/mod.rs", "mod arrival;\n", batches[0]),
                (f"{host}/mod.rs", "    /// The power-protected RAM has a place.\n    BufferPlace,\n", batches[1]),
            ),
        ),
        **{name: Addition({}, places, places=2) for name, places in COUNTERS.items()},
    }


#: Counters of the controller, each as its places: file, the line behind which it goes, and what goes there.
COUNTERS = {
    "counter of page operations": (
        (
            "crates/ftl/src/flash/counters.rs",
            "        pub allocation_fallbacks: u64,\n",
            "        /// Page writes that came with a fingerprint.\n        pub fingerprinted_writes: u64,\n",
        ),
        (
            "crates/ftl/src/host.rs",
            "    flash.counters.host_pages_written += 1;\n",
            "    flash.counters.pages.fingerprinted_writes += u64::from(fingerprinted);\n",
        ),
    ),
    "counter of deduplication": (
        (
            "crates/ftl/src/flash/counters.rs",
            "        pub gc_updates_inverted: u64,\n",
            "        /// Page writes that were not fingerprinted.\n        pub not_hashed: u64,\n",
        ),
        (
            "crates/ftl/src/host.rs",
            "    let program = scheme.write(page, fingerprinted, flash, loads, ops)?;\n",
            "    flash.counters.dedup.not_hashed += u64::from(!fingerprinted);\n",
        ),
    ),
}
#: The new field of the results. It is compiled with the simulator, behind the end of a file.
SHOWN = """
#[cfg(test)]
mod added {
    use flashtwin_trace::{ContentSource, Op, PageTrace, TraceBuilder};

    #[test]
    fn what_was_added_is_counted_and_shown() {
        let trace = TraceBuilder::new("two").request(0, Op::Write, 0, 8192, &[7, 8]).build().unwrap();
        let pages = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap();
        let of = |system| crate::run(&pages, &crate::resolve(system, &[]).unwrap(), &()).unwrap().summary;
        let (hashes, does_not) = (of("ca-ssd"), of("conventional"));
        assert_eq!(hashes["page_ops"]["fingerprinted_writes"], hashes["dedup"]["hashes_inline"]);
        assert_eq!(hashes["dedup"]["not_hashed"], 0);
        assert!(does_not["dedup"].as_object().unwrap().contains_key("not_hashed"));
        assert!(does_not["dedup"]["not_hashed"].is_null() && does_not["page_ops"]["fingerprinted_writes"] == 0);
        let schema = super::results_schema().to_string();
        assert!(schema.contains("Page writes that came with a fingerprint."));
        assert!(schema.contains("Page writes that were not fingerprinted."));
    }
}
"""


@dataclass(frozen=True)
class Grown:
    """A copy of the sources with everything added, and the cost of each addition: files and places."""

    sources: Path
    took: Mapping[str, tuple[int, int]]


def kind_of(family: str) -> str:
    """The name under which a policy of `make new-policy` is counted."""
    return f"new {family}"


def put_behind(path: Path, last: str, more: str) -> None:
    """Adds lines where their like already stand: behind the last of them."""
    text = path.read_text(encoding="utf-8")
    assert text.count(last) == 1, f"{last!r} stands {text.count(last)} times in {path.name}"
    path.write_text(text.replace(last, last + more), encoding="utf-8")


def texts(sources: Path) -> dict[Path, list[str]]:
    """All code, by lines."""
    files = [*(sources / "crates").rglob("*.rs"), *(sources / "python").rglob("*.py")]
    return {path: path.read_text(encoding="utf-8").splitlines() for path in files}


def changed(before: Mapping[Path, list[str]], now: Mapping[Path, list[str]]) -> tuple[int, int]:
    """Files that are new or differ, and places in them: runs of new lines."""
    files = places = 0
    for path, new in now.items():
        old = before.get(path, [])
        if new != old:
            edits = difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
            files += 1
            places += sum(edit[0] != "equal" for edit in edits)
    return files, places


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    sources = tmp_path_factory.mktemp("grown")
    for name in ("crates", "devices", "systems", "workloads", "python"):
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, sources)
    took, before = {}, texts(sources)
    for name, addition in additions().items():
        for path, text in addition.files.items():
            (sources / path).write_text(text, encoding="utf-8")
        for file, last, more in addition.behind:
            put_behind(sources / file, last, more)
        now = texts(sources)
        took[name], before = changed(before, now), now
    for kind in new_policy.FAMILIES:
        new_policy.add(kind, f"one-more-{kind}", root=sources)
        now = texts(sources)
        took[kind_of(kind)], before = changed(before, now), now
    return Grown(sources, took)


@pytest.fixture(scope="module")
def told(grown: Grown) -> str:
    """The output of the tests that concern additions, built where all others are."""
    results = grown.sources / "crates/sim/src/result/mod.rs"
    results.write_text(results.read_text(encoding="utf-8") + SHOWN, encoding="utf-8")
    packages = [word for name in ("ftl", "analysis", "trace", "sim") for word in ("--package", f"flashtwin-{name}")]
    done = subprocess.run(
        ["cargo", "test", "--locked", "--offline", *QUICKLY, *packages, "--lib", "--", *NAMED],
        cwd=grown.sources,
        env={
            **os.environ,
            "CARGO_INCREMENTAL": "0",
            "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    return done.stdout


#: The libraries are those that all tests have; of the copy, little is run, so that compiling it counts.
QUICKLY = [
    word
    for name in ("bits", "nand", "settings", "trace", "analysis", "ftl", "sim")
    for word in ("--config", f"profile.dev.package.flashtwin-{name}.opt-level=0")
]
#: Tests of the additions, and tests that all policies of a family share.
NAMED = (
    "popularity_alone_decides_among_the_chips_that_may_be_chosen",
    "no_policy_uses_a_chip_twice_or_a_full_one",
    "turns_go_round_all_planes_in_the_order_asked_for",
    "a_format_added_is_known_by_its_name",
    "of_nothing_written_no_share_is_trimmed",
    "what_was_added_is_counted_and_shown",
    "writes_go_on_in_order_when_a_batch_ends",
    "every_policy_of_replication_declares_that_it_replicates",
    "swarm",
    "copying",
)


@pytest.mark.parametrize("kind", additions())
def test_one_more_takes_what_contributing_says(kind: str, grown: Grown) -> None:
    # The list of metrics stands above the metrics, and not in the door that has their modules; a chart is a function.
    files = FILES_AT_MOST + (kind == "metric") - (kind == "chart")
    assert grown.took[kind] == (files, additions()[kind].places)


@pytest.mark.parametrize("family", new_policy.FAMILIES)
def test_new_policy_takes_two_files_and_three_places(family: str, grown: Grown) -> None:
    assert grown.took[kind_of(family)] == (FILES_AT_MOST, PLACES_AT_MOST)


def test_new_policy_names_cause_and_cure(grown: Grown) -> None:
    for kind, name, model, cause in (
        ("victims", "oldest", None, "give one of allocation, victim"),
        ("victim", "Oldest", None, "write it like least-worn"),
        ("victim", "greedy", None, "choose another name"),
        ("victim", "oldest", "none", "name another with MODEL="),
    ):
        before = texts(grown.sources)
        with pytest.raises(new_policy.PolicyError, match=cause):
            new_policy.add(kind, name, model, root=grown.sources)
        assert texts(grown.sources) == before


@pytest.mark.slow
def test_additions_pass_all_tests_of_the_controller_and_the_simulator(grown: Grown) -> None:
    done = subprocess.run(
        ["cargo", "test", "--locked", "--offline", "--quiet", "-p", "flashtwin-ftl", "-p", "flashtwin-sim"],
        cwd=grown.sources,
        env={**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_report_with_one_more_chart_passes_its_tests(grown: Grown) -> None:
    for name in ("tests", "docs"):
        shutil.copytree(ROOT / name, grown.sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", grown.sources)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/report"],
        cwd=grown.sources,
        env={**os.environ, "PYTHONPATH": str(grown.sources / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_additions_compile_and_pass_their_tests(told: str) -> None:
    for name in NAMED[:-2]:
        assert re.search(rf"{name} \.\.\. ok", told), name
    # The model's own test, and its copy's.
    assert len(re.findall(rf"{NAMED[2]} \.\.\. ok", told)) == 2
    assert all(re.search(rf"{shared}::\S+ \.\.\. ok", told) for shared in NAMED[-2:])


def test_the_chart_is_among_those_of_a_report(grown: Grown) -> None:
    code = "from flashtwin.report.charts import CHARTS; print(*CHARTS)"
    paths = {**os.environ, "PYTHONPATH": str(grown.sources / "python")}
    done = subprocess.run([sys.executable, "-c", code], env=paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"utilisation", "busy"} <= set(done.stdout.split())


def test_what_the_page_shows_of_the_sources_stands_there() -> None:
    fifo = (ROOT / "crates/ftl/src/flash/victim/fifo.rs").read_text(encoding="utf-8")
    assert fifo.split("#[cfg(test)]")[0].endswith(rust("use std::collections::VecDeque;"))
    for path, beginning in (
        ("crates/ftl/src/flash/victim/mod.rs", "pub trait VictimSelection"),
        ("crates/ftl/src/content/replication/placement/mod.rs", "pub trait Placement"),
    ):
        assert rust(beginning) in (ROOT / path).read_text(encoding="utf-8")
    victims = (ROOT / "crates/ftl/src/flash/victim/mod.rs").read_text(encoding="utf-8")
    assert all(part in victims for part in rust("mod fifo;").strip("\n").split("\n\n"))
