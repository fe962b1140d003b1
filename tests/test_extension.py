"""What CONTRIBUTING says that one more of a kind takes, on a copy of the sources: it compiles and works. Policy,
placement and metric are those that docs/adding-a-policy.md works through."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

PAGE = ROOT / "docs" / "adding-a-policy.md"
REPLICATION = Path("crates/ftl/src/content/replication")
FAMILY = REPLICATION / "placement"
ANALYSIS = Path("crates/analysis/src")


def rust(beginning: str) -> str:
    """The block of Rust on the page that begins so."""
    blocks = re.findall(r"^```rust\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (found,) = (block for block in blocks if block.startswith(beginning))
    return found


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of what the crates are built from."""
    for name in ("crates", "devices", "systems", "workloads"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


#: What CONTRIBUTING promises of every kind of policy: a new file and another one, three places in them.
FILES_AT_MOST, PLACES_AT_MOST = 2, 3


def put_behind(path: Path, last: str, more: str) -> None:
    """Adds lines where their like already stand: behind the last of them."""
    text = path.read_text(encoding="utf-8")
    assert text.count(last) == 1, f"{last!r} stands {text.count(last)} times in {path.name}"
    path.write_text(text.replace(last, last + more), encoding="utf-8")


def cargo_test(sources: Path, *tests: str, package: str = "flashtwin-ftl") -> str:
    """Tests of the controller, or of another crate, by name, built where all others are."""
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    done = subprocess.run(
        # With the simulator, whose libraries have more features than the analysis asks for, and are built so already.
        [
            *("cargo", "test", "--locked", "--offline", "--package", package, "--package", "flashtwin-sim", "--lib"),
            *("--", *tests),
        ],
        cwd=sources,
        env={**os.environ, "CARGO_TARGET_DIR": target},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    return done.stdout


def changed(sources: Path) -> tuple[int, int]:
    """Files of the crates that are new or differ from the originals, and places in them: runs of new lines."""
    files = places = 0
    for path in (sources / "crates").rglob("*.rs"):
        new = path.read_text(encoding="utf-8").splitlines()
        original = ROOT / path.relative_to(sources)
        old = original.read_text(encoding="utf-8").splitlines() if original.exists() else []
        if new != old:
            edits = difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
            files += 1
            places += sum(edit[0] != "equal" for edit in edits)
    return files, places


def test_the_policy_that_the_page_writes_compiles_and_passes_the_tests_that_all_share(sources: Path) -> None:
    (sources / FAMILY / "least_popular.rs").write_text(rust("//! The chip whose stored contents"), encoding="utf-8")
    module, row = rust("mod least_popular;").strip("\n").split("\n\n")
    family = sources / FAMILY / "mod.rs"
    put_behind(family, "mod successors;\n", f"{module}\n")
    put_behind(family, "    Static => Box::new(successors::Successors);\n", f"{row}\n")
    assert changed(sources) == (FILES_AT_MOST, PLACES_AT_MOST)
    told = cargo_test(sources, "least_popular", "no_policy_uses_a_chip_twice_or_a_full_one", "swarm")
    assert "popularity_alone_decides_among_the_chips_that_may_be_chosen ... ok" in told
    assert "no_policy_uses_a_chip_twice_or_a_full_one ... ok" in told
    assert len(re.findall(r"swarm::\S+ \.\.\. ok", told)) > 0


def test_the_policy_of_replication_that_the_page_writes_compiles_and_passes_the_tests_that_all_share(
    sources: Path,
) -> None:
    (sources / REPLICATION / "one_each.rs").write_text(rust("//! One copy of every content"), encoding="utf-8")
    module, row = rust("mod one_each;").strip("\n").split("\n\n")
    family = sources / REPLICATION / "mod.rs"
    put_behind(family, "mod on_line;\n", f"{module}\n")
    last = "        priority_lru::PriorityLru::new(parts.geometry.chips(), parts.rules.class_pages);\n"
    put_behind(family, last, f"{row}\n")
    files, places = changed(sources)
    assert (files, places) == (FILES_AT_MOST, PLACES_AT_MOST)
    told = cargo_test(sources, "swarm", "copying")
    assert len(re.findall(r"swarm::\S+ \.\.\. ok", told)) > 0


def test_the_metric_that_the_page_writes_compiles_and_is_part_of_the_results(sources: Path) -> None:
    (sources / ANALYSIS / "trims.rs").write_text(rust("//! How much of what is written"), encoding="utf-8")
    module, row = rust("mod trims;").strip("\n").split("\n\n")
    listed = sources / ANALYSIS / "lib.rs"
    put_behind(listed, "mod temperature;\n", f"{module}\n")
    put_behind(listed, "    logical_locality: logical_locality::LogicalLocalityMeter,\n", f"{row}\n")
    assert changed(sources) == (FILES_AT_MOST, PLACES_AT_MOST)
    told = cargo_test(sources, "of_nothing_written", package="flashtwin-analysis")
    assert "of_nothing_written_no_share_is_trimmed ... ok" in told


#: Counters of the controller, each as its places: file, the line behind which it goes, and what goes there.
COUNTERS = {
    "page operations": (
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
    "deduplication": (
        (
            "crates/ftl/src/flash/counters.rs",
            "        pub gc_updates_inverted: u64,\n",
            "        /// Page writes that were not fingerprinted.\n        pub not_hashed: u64,\n",
        ),
        (
            "crates/ftl/src/content/mod.rs",
            "        flash.counters.dedup.hashes_inline += u64::from(fingerprinted);\n",
            "        flash.counters.dedup.not_hashed += u64::from(!fingerprinted);\n",
        ),
    ),
}
#: What the results then have. It is compiled with the simulator, behind the end of a file.
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


def test_a_counter_is_its_field_and_where_it_counts_and_is_part_of_the_results(sources: Path) -> None:
    counted = []
    for places in COUNTERS.values():
        for file, last, more in places:
            put_behind(sources / file, last, more)
        counted.append(changed(sources))
    # The field of the second is in the file of the first's.
    assert counted == [(2, 2), (3, 4)]
    results = sources / "crates/sim/src/result/mod.rs"
    results.write_text(results.read_text(encoding="utf-8") + SHOWN, encoding="utf-8")
    told = cargo_test(sources, "what_was_added_is_counted_and_shown")
    assert "what_was_added_is_counted_and_shown ... ok" in told


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
