"""What else differs between systems: found, told apart from what defines them, and made equal."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import flashtwin as ft
from flashtwin.causes import inquiry, searching
from flashtwin.causes.case import key_of
from flashtwin.causes.inquiry import Inquiry
from flashtwin.causes.searching import SettingsSearch
from flashtwin.judgement.catalogue import BEGINS, CONTROLLER, Change, Level
from flashtwin.judgement.goals import Figures, goal_of
from flashtwin.replays import aged
from flashtwin.replays.presets import resolve_text
from flashtwin.results import ground
from flashtwin.results.keys import KEYS
from flashtwin.results.trees import literal

from .conftest import Cli

GOAL = goal_of("all.mean")
#: The MD5 of 4,096 zero bytes.
ZEROES = "620f0b67a91f7f74151bc5be745b7110"
ZERO_PAGE = ("ftl.zero_page", "mapped")
PAPERS = ("conventional", "ca-ssd", "rr-ssd", "oracle")


def configs(*names: str, **sets: Any) -> dict[str, dict[str, Any]]:
    return {name: ft.system(name, **sets).config for name in names}


def keys(found: list[ground.Difference]) -> list[str]:
    return [one.key for one in found]


def with_set(config: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(config))
    *tables, last = key.split(".")
    place = copy
    for table in tables:
        place = place[table]
    place[last] = value
    return copy


def leaf_keys(schema: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = []
    for name, field in schema["properties"].items():
        found += leaf_keys(field, f"{prefix}{name}.") if "properties" in field else [f"{prefix}{name}"]
    return found


def test_every_key_of_the_configuration_is_told_what_it_is() -> None:
    """A new key is a design's, or ground that moves times or not: somebody has to decide."""
    assert list(KEYS) == leaf_keys(ft.config_schema())
    assert {"seed", "nand.pe_cycles"} == ground.QUIET


def test_the_systems_of_a_study_stand_on_equal_ground() -> None:
    assert ground.ground(configs(*PAPERS)) == []
    assert keys(ground.differences(configs(*PAPERS))) == [
        "ftl.mapping", "ftl.redirection.policy", "ftl.replication.policy",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [
        ("ca-ssd", "ca-ssd-inverted", "caftl", "rr-ssd", "rr-ssd-online", "pblru", "oracle"),
        ("conventional", "oracle-conventional", "hot-cold"),
        ("static", "dynamic", "hipa", "ds-ftl"),
    ],
)
def test_presets_of_one_paper_differ_in_their_design_only(names: tuple[str, ...]) -> None:
    assert ground.warnings(configs(*names)) == []


@pytest.mark.parametrize(
    ("system", "key", "value"),
    [
        ("rr-ssd", "ftl.allocation.policy", "least-loaded"),
        ("rr-ssd-online", "engine.idle_us", 0.0),
        ("rr-ssd", "engine.merge_reads", "same-page"),
        ("oracle", "engine.load", "expected-wait"),
        ("rr-ssd", "engine.write_cache_pages", 64),
        ("rr-ssd", "engine.suspend", "program-erase"),
        ("rr-ssd", "engine.concurrency", "chip"),
        ("rr-ssd", "engine.write_completes", "buffered"),
        ("rr-ssd", "engine.buffer_reads", False),
        ("rr-ssd", "engine.multi_plane", "any-page"),
        ("rr-ssd", "engine.hash_lanes", 64),
        ("rr-ssd", "engine.hash_us", 0.0),
        ("rr-ssd", "engine.controller_us", 5.0),
        ("rr-ssd", "replay.preload", "footprint"),
        ("rr-ssd", "replay.speed", 10.0),
        ("rr-ssd", "nand.program_us", 600.0),
    ],
)
def test_a_planted_difference_is_warned_about(system: str, key: str, value: Any) -> None:
    all_of = configs("rr-ssd", "rr-ssd-online", "pblru", "ca-ssd", "oracle")
    all_of[system] = with_set(all_of[system], key, value)
    [one] = ground.ground(all_of)
    assert (one.key, one.warns) == (key, True)
    [line] = ground.warnings(all_of)
    assert line.startswith(f"{key}: ")
    assert f"{literal(value)} (" in line
    assert "\n" not in line
    assert f"--set {one.setting}" in line
    typed = [(key, one.setting.partition("=")[2])]
    remedied = {name: resolve_text(name, typed).config for name in all_of}
    assert ground.ground(remedied) == []


def test_what_a_system_does_not_use_is_no_difference() -> None:
    """A page map hashes nothing, and without background work no idle time is waited for."""
    for key, value in (("engine.hash_us", 32.0), ("engine.idle_us", 0.0), ("engine.suspend_us", 1.0)):
        both = configs("conventional", "ca-ssd")
        both["conventional"] = with_set(both["conventional"], key, value)
        assert ground.ground(both) == []


def test_harmless_difference_is_listed_without_a_warning() -> None:
    both = configs("conventional", "ca-ssd")
    both["ca-ssd"] = with_set(both["ca-ssd"], "seed", 2)
    assert keys(ground.ground(both)) == ["seed"]
    assert ground.warnings(both) == []


def test_a_page_allocation_defines_the_systems_that_are_one() -> None:
    found = {one.key: one for one in ground.differences(configs("static", "dynamic", "hipa", "ds-ftl"))}
    assert found["ftl.allocation.policy"].defines == dict.fromkeys(("dynamic", "hipa"), ground.ALLOCATION_REASON)
    assert found["engine.merge_reads"].defines == {"ds-ftl": ground.MERGING_REASON}
    # In a system that is something else, it is ground.
    [one] = [one for one in ground.ground(configs("conventional", "modern")) if one.key == "ftl.allocation.policy"]
    assert one.unequal == ("modern",)


def test_merging_of_equal_pages_is_ground_between_papers() -> None:
    """23 of DS-FTL's 24 points at a high load once came from the merging that its baseline was not given."""
    found = {one.key: one for one in ground.ground(configs("conventional", "static", "ds-ftl", device="rr-ssd"))}
    assert list(found) == ["engine.merge_reads"]
    assert found["engine.merge_reads"].unequal == ("static", "ds-ftl")
    assert found["engine.merge_reads"].defines == {"ds-ftl": ground.MERGING_REASON}
    assert found["engine.merge_reads"].setting == "engine.merge_reads=none"


def test_a_device_stands_for_its_numbers() -> None:
    both = configs("conventional", "static", **{"engine.merge_reads": "none"})
    assert keys(ground.ground(both)) == ["device"]
    both["static"] = {**both["static"], "nand": both["conventional"]["nand"]}
    assert ground.ground(both) == [], "the same array by another name"


def test_equal_ground_leaves_designs_as_they_are() -> None:
    names = ("conventional", "modern", "static", "ds-ftl", "dynamic", "caftl")
    before = configs(*names)
    sets = ground.equal(before)
    assert sets["conventional"] == {}
    after = {name: ft.system(name, **sets[name]).config for name in names}
    assert [one.key for one in ground.ground(after)] == ["engine.merge_reads"], "ds-ftl is about merging twins"
    assert after["ds-ftl"]["engine"]["merge_reads"] == "same-content"
    assert after["static"]["engine"]["merge_reads"] == "none"
    assert after["dynamic"]["ftl"]["allocation"]["policy"] == "dynamic"
    assert after["modern"]["ftl"]["allocation"]["policy"] == "static"
    assert after["modern"]["engine"] == after["conventional"]["engine"]
    assert {json.dumps({**config["nand"], "source": ""}) for config in after.values()} == {
        json.dumps({**after["conventional"]["nand"], "source": ""})
    }
    for name in names:
        for table in ("dedup", "replication", "redirection", "spread", "partition"):
            assert after[name]["ftl"][table] == before[name]["ftl"][table]


def test_key_unused_by_the_baseline_comes_from_its_first_user() -> None:
    both = {
        "conventional": ft.system("conventional", **{"engine.hash_us": 99.0}).config,
        "a": ft.system("ca-ssd", **{"engine.hash_us": 32.0}).config,
        "b": ft.system("rr-ssd").config,
    }
    [one] = ground.ground(both)
    assert (one.key, list(one.values)) == ("engine.hash_us", ["a", "b"])
    assert ground.equal(both)["b"] == {"engine.hash_us": 32.0}


def test_results_without_a_key_are_compared_in_the_others() -> None:
    """Results of an earlier version lack keys that came later."""
    both = configs("conventional", "ca-ssd")
    del both["conventional"]["engine"]["idle_us"]
    del both["ca-ssd"]["ftl"]["wear"]
    assert ground.ground(both) == []
    assert ground.differences({"a": {}, "b": {}}) == []


def test_compare_in_python(small_trace: Path, tmp_path: Path) -> None:
    trace = ft.open(small_trace)
    systems = {"one": ft.system("ca-ssd"), "other": ft.system("rr-ssd", **{"engine.hash_lanes": 4})}
    unequal = ft.compare(trace, systems, threads=1)
    assert keys(unequal.ground) == ["engine.hash_lanes"]
    equal = ft.compare(trace, systems, threads=1, equal_ground=True)
    assert (equal.ground, equal.equal_ground) == ([], True)
    assert equal["other"].summary["config"]["engine"]["hash_lanes"] == 1
    assert list(equal) == ["one", "other"]
    for name, comparison in (("unequal", unequal), ("equal", equal)):
        said = json.loads((comparison.save(tmp_path / name) / "study.json").read_text())
        assert said["equal_ground"] is (name == "equal")
        assert said["ground"] == [one.as_json() for one in comparison.ground]
    assert pyarrow.table(equal["other"].table("chips")).num_rows == 64


GROUND = """\
These systems differ in more than what defines them; each of these moves reads or writes by itself:
  device: rr-ssd (conventional), ds-ftl (static); moves reads and writes: geometry and timing are another drive's; \
equal with --set device=rr-ssd
  engine.merge_reads: none (conventional), same-page (static); moves reads: those that wait for one page are served \
together, or each by itself; equal with --set engine.merge_reads=none
"""


READ_AS = "read as: fiu, time ns, offset and length in units of 512 bytes, 1 volume\n"


def test_the_command_line_says_what_else_differs(cli: Cli, small_trace: Path) -> None:
    done = cli("compare", small_trace, "--systems", "conventional,static")
    assert (done.status, done.err) == (0, f"{GROUND}--equal-ground gives all of them that of conventional.\n{READ_AS}")
    as_json = cli("compare", small_trace, "--systems", "conventional,static", "--json")
    found = json.loads(as_json.out)["static"]["ground"]
    assert [(one["key"], one["set"]) for one in found] == [
        ("device", "device=rr-ssd"), ("engine.merge_reads", "engine.merge_reads=none"),
    ]  # fmt: skip


def test_on_equal_ground_nothing_is_said(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    options = ("--systems", "conventional,static", "--equal-ground", "--out", "out")
    done = cli("compare", small_trace, *options)
    assert (done.status, done.err) == (0, f"{READ_AS}results: out\n")
    figures = [line.split()[-2:] for line in done.out.splitlines()[1:]]
    assert all(one == other for one, other in figures), "static is conventional with merging, on another device"
    assert json.loads((tmp_path / "out" / "study.json").read_text())["equal_ground"] is True


def test_a_comparison_says_what_is_done_with_zeroes(cli: Cli, tmp_path: Path) -> None:
    """One of four written pages is zeroes; a read of them takes no flash once the map serves them."""
    words = [f"{1000 * at} 1 p {8 * at} 8 W 7 0 {ZEROES if at % 4 == 0 else f'{at:032x}'}" for at in range(40)]
    words += [f"{1_000_000_000 + at} 1 p {8 * at} 8 R 7 0 {ZEROES if at % 4 == 0 else f'{at:032x}'}" for at in range(9)]
    (tmp_path / "some.fiu").write_text("".join(f"{line}\n" for line in words))
    told = "Zeroes are 33.3 % of page reads and 25.0 % of page writes. They {} (ftl.zero_page = {}; try {})."
    systems = ("some.fiu", "--systems", "conventional,ca-ssd")
    stored = told.format("lie on flash like other pages", "stored", "mapped")
    assert stored in cli("compare", *systems, status=0).err
    set_to = ("--set", "ftl.zero_page=mapped")
    mapped = told.format("take no flash, because the map serves them", "mapped", "stored")
    assert mapped in cli("compare", *systems, *set_to, "--out", "out", status=0).err
    cli("report", "out", status=0)
    assert mapped in (tmp_path / "out" / "report.html").read_text()
    one_of_them = {"stored": configs("ca-ssd")["ca-ssd"], "mapped": with_set(configs("ca-ssd")["ca-ssd"], *ZERO_PAGE)}
    assert ground.zeroes({"zero_read_percent": 9.0}, one_of_them) is None, "a key that differs is told as ground"
    assert keys(ground.ground(one_of_them)) == ["ftl.zero_page"]
    assert ground.zeroes({"zero_read_percent": 0.01}, configs("ca-ssd")) is None


@pytest.mark.parametrize("where", [(), ("--out", "out")])
def test_the_numbers_of_a_trace_are_worked_out_beside_its_replays(
    cli: Cli, small_trace: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[str, ...]
) -> None:
    """Before them they would take two fifths of a command."""
    known = []

    def run(trace: ft.Trace, *arguments: Any, informed: bool = False, **more: Any) -> list[Any]:
        known.append(("info" in vars(trace), informed))
        return made(trace, *arguments, informed=informed, **more)

    made = aged.run
    monkeypatch.setattr(aged, "run", run)
    cli("replay", small_trace, "--system", "conventional", *where, status=0)
    assert known == [(False, True)]


def test_explain_stands_on_equal_ground_too(cli: Cli, small_trace: Path) -> None:
    words = ("explain", small_trace, "--systems", "conventional,static", "--effort", "0", "--json")
    unequal = cli(*words, status=0)
    assert unequal.err == f"{GROUND}--equal-ground gives all of them that of conventional.\n{READ_AS}"
    equal = cli(*words, "--equal-ground", status=0)
    assert equal.err == READ_AS
    first, second = ([one["before"] for one in json.loads(done.out)] for done in (unequal, equal))
    assert first[0] != first[1]
    assert second == [first[0], first[0]]


def test_change_that_moves_the_flash_does_not_compete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted change of the controller that brings spare blocks along is left out, with the reason."""
    level = Level("a cache and spare blocks", {"engine.slots": 7, "nand.blocks_per_plane": 5000})
    planted = Change("slots", CONTROLLER, ("placement",), (level,), BEGINS)
    monkeypatch.setattr(searching, "CHANGES", (planted,))
    monkeypatch.setattr(inquiry, "CHANGES", (planted,))
    known = {(): Figures({"response.all.mean_ns": 1e5, "response.all.count": 9}, {})}
    for search in (SettingsSearch(ft.system("ca-ssd"), GOAL), Inquiry(ft.system("ca-ssd"), GOAL, known)):
        assert search.made(level.sets) is None
        assert "because it moves nand.blocks_per_plane, raw pages" in search.failed[key_of(level.sets)]
    monkeypatch.undo()
    for name in ft.systems():
        search = SettingsSearch(ft.system(name), GOAL)
        assert [search.made(one.sets) for _, levels in search.axes for one in levels if not search.made(one.sets)] == []


@pytest.mark.slow
def test_a_study_says_it_on_the_page(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    done = cli("study", small_trace, "--systems", "conventional,static", "--out", "out", "--json", status=0)
    assert done.err.startswith(GROUND)
    assert [one["key"] for one in json.loads(done.out)["ground"]] == ["device", "engine.merge_reads"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'id="ground"' in page
    assert "<code>--set engine.merge_reads=none</code>" in page
    cli("study", small_trace, "--systems", "conventional,static", "--out", "equal", "--equal-ground", status=0)
    page = (tmp_path / "equal" / "report.html").read_text()
    assert 'id="ground"' not in page
    assert "that of conventional for all systems (--equal-ground)" in page
