"""What CONTRIBUTING says that one more of a kind takes, done on a copy of the sources; `make test-slow` compiles it."""

import difflib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from docs import new_policy

from .conftest import ROOT, finished

PAGE = ROOT / "docs" / "adding-a-policy.md"
FTL = "crates/ftl/src"
REPLICATION = f"{FTL}/content/replication"
#: What CONTRIBUTING promises of everything: a new file and another one, three places in them.
FILES_AT_MOST, PLACES_AT_MOST = 2, 3
EXAMPLE = re.compile(r"// The example of docs/adding-a-policy.md.\n#\[cfg\(test\)\]\n(?:#\[.*\n)+mod \w+;\n")


#: New files, and lines that go behind others: file, the line behind which they go, and the lines.
Addition = tuple[Mapping[str, str], Sequence[tuple[str, str, str]]]


def rust(beginning: str) -> str:
    blocks = re.findall(r"^```rust\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (found,) = (block for block in blocks if block.startswith(beginning))
    return found


def of_page(name: str, file: str, beginning: str, module: tuple[str, str], row: tuple[str, str]) -> Addition:
    lines = rust(f"mod {name};").strip("\n").split("\n\n")
    return {file: rust(beginning)}, tuple(
        (*place, f"{line}\n") for place, line in zip((module, row), lines, strict=True)
    )


def renamed(path: str, *names: tuple[str, str]) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    for old, new in names:
        assert old in text, f"{old!r} is not in {path}"
        text = text.replace(old, new)
    return text


def additions() -> dict[str, Addition]:
    """All kinds of the table in CONTRIBUTING but the policies that the page does not show."""
    formats, analysis = "crates/trace/src/format", "crates/analysis/src"
    host, placements = "crates/sim/src/engine/host", f"{REPLICATION}/placement"
    pblru = "        priority_lru::PriorityLru::new(parts.geometry.chips(), parts.rules.class_pages);\n"
    metrics = f"{analysis}/characterize/metrics.rs"
    mqsim = renamed(
        f"{formats}/mqsim.rs", ("MqSim", "Twin"), ('"mqsim"', '"twin"'), ('&["ssdsim"]', "&[]"),
        ("= Row::text::<Twin>(", '= Row { yields_to: Some("mqsim"), ..Row::text::<Twin>('),
        ('0 = write",\n);', '0 = write",\n) };'),
    )  # fmt: skip
    return {
        "placement": of_page(
            "least_popular", f"{placements}/least_popular.rs", "//! The chip whose stored contents",
            (f"{placements}/mod.rs", "mod successors;\n"),
            (f"{placements}/mod.rs", "    Static => Box::new(successors::Successors);\n"),
        ),
        "replication": of_page(
            "one_each", f"{REPLICATION}/one_each.rs", "//! One copy of every content",
            (f"{REPLICATION}/mod.rs", "mod on_line;\n"), (f"{REPLICATION}/mod.rs", pblru),
        ),
        "metric": of_page(
            "trims", f"{analysis}/trims.rs", "//! How much of what is written",
            (f"{analysis}/lib.rs", "mod temperature;\n"),
            (metrics, "    logical_locality: crate::logical_locality::LogicalLocalityMeter,\n"),
        ),
        "reason to wait": of_page(
            "batches", f"{host}/batches.rs", "//! Writes that wait while collection",
            (f"{host}/mod.rs", "mod arrival;\n"),
            (f"{host}/mod.rs", "    Sample(u32),\n"),
        ),
        "trace format": ({f"{formats}/twin.rs": mqsim + KNOWN}, (
            (f"{formats}/mod.rs", "mod tencent;\n", "mod twin;\n"),
            (f"{formats}/mod.rs", "    mqsim::ROW,\n", "    twin::ROW,\n"),
        )),
        "counter": ({}, (
            (
                "crates/ftl/src/flash/counters.rs", "        pub gc_updates_inverted: u64,\n",
                "        /// Page writes that were not fingerprinted.\n        pub not_hashed: u64,\n",
            ),
            (
                "crates/ftl/src/host.rs",
                "    let program = scheme.write(page, fingerprinted, flash, loads, ops)?;\n",
                "    flash.counters.dedup.not_hashed += u64::from(!fingerprinted);\n",
            ),
        )),
    }  # fmt: skip


KNOWN = """
#[cfg(test)]
mod tests {
    #[test]
    fn an_added_format_is_known_by_its_name() {
        assert!("twin".parse::<crate::Format>().is_ok());
    }
}
"""
#: The new counter in the results. It is compiled with the simulator, behind the end of a file.
SHOWN = """
#[cfg(test)]
mod added {
    use flashtwin_trace::{ContentSource, Op, PageTrace, TraceBuilder};

    #[test]
    fn added_counter_is_counted_and_shown() {
        let trace = TraceBuilder::new("two").request(0, Op::Write, 0, 8192, &[7, 8]).build().unwrap();
        let pages = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap();
        let of = |system| crate::run(&pages, &crate::resolve(system, &[]).unwrap(), &()).unwrap().summary;
        assert_eq!(of("ca-ssd")["dedup"]["not_hashed"], 0);
        assert!(of("conventional")["dedup"]["not_hashed"].is_null());
        assert!(super::results_schema().to_string().contains("Page writes that were not fingerprinted."));
    }
}
"""


@dataclass(frozen=True)
class Grown:
    """A copy of the sources with everything added, and the cost of each addition: files and places."""

    sources: Path
    took: Mapping[str, tuple[int, int]]


def put_behind(path: Path, last: str, more: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(last) == 1, f"{last!r} stands {text.count(last)} times in {path.name}"
    path.write_text(text.replace(last, last + more), encoding="utf-8")


def texts(sources: Path) -> dict[Path, list[str]]:
    files = [*(sources / "crates").rglob("*.rs"), *(sources / "python").rglob("*.py")]
    return {path: path.read_text(encoding="utf-8").splitlines() for path in files}


def changed(before: Mapping[Path, list[str]], now: Mapping[Path, list[str]]) -> tuple[int, int]:
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
    for path in (f"{REPLICATION}/mod.rs", f"{REPLICATION}/placement/mod.rs"):
        # They are test modules already, to be compiled by `make test`.
        text = (sources / path).read_text(encoding="utf-8")
        (sources / path).write_text(EXAMPLE.sub("", text), encoding="utf-8")
    took, before = {}, texts(sources)
    for name, (files, behind) in additions().items():
        for path, text in files.items():
            (sources / path).write_text(text, encoding="utf-8")
        for file, last, more in behind:
            put_behind(sources / file, last, more)
        now = texts(sources)
        took[name], before = changed(before, now), now
    for kind in new_policy.FAMILIES:
        new_policy.add(kind, f"one-more-{kind}", root=sources)
        now = texts(sources)
        took[f"new {kind}"], before = changed(before, now), now
    return Grown(sources, took)


def test_one_more_takes_what_contributing_says(grown: Grown) -> None:
    # The list of metrics stands above the metrics, and not in the door that has their modules.
    others = {"metric": (3, 3), "counter": (2, 2)}
    assert grown.took == {kind: others.get(kind, (FILES_AT_MOST, PLACES_AT_MOST)) for kind in grown.took}


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


#: Tests of the additions themselves. The swarm and others run with them.
NAMED = (
    "popularity_alone_decides_among_the_chips_that_may_be_chosen", "no_policy_uses_a_chip_twice_or_a_full_one",
    "turns_go_round_all_planes_in_the_order_asked_for", "an_added_format_is_known_by_its_name",
    "of_nothing_written_no_share_is_trimmed", "added_counter_is_counted_and_shown",
    "writes_go_on_in_order_when_a_batch_ends", "every_policy_of_replication_declares_that_it_replicates",
)  # fmt: skip


@pytest.mark.slow
def test_additions_compile_and_pass_all_tests(grown: Grown) -> None:
    results = grown.sources / "crates/sim/src/result/mod.rs"
    results.write_text(results.read_text(encoding="utf-8") + SHOWN, encoding="utf-8")
    profile = str(ROOT / ".cargo" / "test.toml")
    packages = [word for name in ("ftl", "analysis", "trace", "sim") for word in ("-p", f"flashtwin-{name}")]
    command = ["cargo", "test", "--release", "--config", profile, "--locked", "--offline", *packages, "--lib"]
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    out = _output(command, grown.sources, {"CARGO_TARGET_DIR": target})
    for name in NAMED:
        assert re.search(rf"{name} \.\.\. ok", out), name


def _output(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    done = finished(*command, cwd=folder, env={**os.environ, **variables}, timeout=None)
    assert done.status == 0, done.out[-8000:] + done.err[-2000:]
    return done.out


def test_page_shows_the_sources_as_they_are() -> None:
    fifo = (ROOT / "crates/ftl/src/flash/victim/fifo.rs").read_text(encoding="utf-8")
    assert fifo.split("#[cfg(test)]")[0].endswith(rust("use std::collections::VecDeque;"))
    for path, beginning in (
        ("crates/ftl/src/flash/victim/mod.rs", "pub trait VictimSelection"),
        (f"{REPLICATION}/placement/mod.rs", "pub trait Placement"),
        # Compiled as test modules of the crate, where `make test` runs their own tests.
        ("crates/ftl/src/tests/added/least_popular.rs", "//! The chip whose stored contents"),
        ("crates/ftl/src/tests/added/one_each.rs", "//! One copy of every content"),
    ):
        assert rust(beginning) in (ROOT / path).read_text(encoding="utf-8")
    victims = (ROOT / "crates/ftl/src/flash/victim/mod.rs").read_text(encoding="utf-8")
    assert all(part in victims for part in rust("mod fifo;").strip("\n").split("\n\n"))
