"""Drives that a trace fills as far as one wants, and drives that begin aged."""

import json
import random
import shlex
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.replays.filling import filled

from .conftest import Cli, fiu

#: One chip with small blocks: a step of one block is a small part of the drive.
NARROW = {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "pages_per_block": 8}
WORDS = [word for key, value in NARROW.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "over.fiu"
    draw = random.Random(1)
    pages = [*range(400), *(draw.randrange(400) for _ in range(4_000))]
    path.write_text(fiu((turn * 1_000_000, page, "W", turn) for turn, page in enumerate(pages)))
    return path


@pytest.mark.parametrize(("share", "fill"), [("90%", 0.9), ("0.5", 0.5), ("100 %", 1.0)])
def test_the_share_is_kept_and_nearly_reached(cli: Cli, trace: Path, share: str, fill: float) -> None:
    done = cli("replay", trace, "--system", "conventional", "--fill", share, "--json", *WORDS)
    found = json.loads(done.out)
    nand = found["conventional"]["config"]["nand"]
    planes_pages = 2 * nand["pages_per_block"]
    # Blocks kept back in each plane: the active blocks of the host, of collection and of copies, and the
    # block that collection begins with.
    holds = (nand["blocks_per_plane"] - 4) * planes_pages - 1
    assert fill * holds >= 400
    assert fill * (holds - planes_pages) < 400


def test_systems_on_one_drive_have_as_many_blocks(trace: Path) -> None:
    opened = ft.open(trace)
    chosen = {name: ft.system(name, **NARROW) for name in ("conventional", "caftl", "rr-ssd")}
    other = {"wide": ft.system("conventional", device="ds-ftl")}
    said: list[str] = []
    found = filled(opened, chosen | other, 0.95, said.append)
    assert list(found) == [*chosen, "wide"]
    blocks = {name: system.config["nand"]["blocks_per_plane"] for name, system in found.items()}
    assert len({blocks[name] for name in chosen}) == 1
    alone = [filled(opened, {name: system}, 0.95)[name] for name, system in chosen.items()]
    assert blocks["rr-ssd"] == max(system.config["nand"]["blocks_per_plane"] for system in alone)
    assert len(said) == 2
    assert all("the trace's 400 pages take up" in line for line in said)
    # The system that needs most is named, and the others' pages; raw over-provisioning is all pages over those used.
    holds = {name: 100 * 400 / found[name].capacity_pages for name in chosen}
    needs = max(chosen, key=lambda name: holds[name])
    raw = 2 * blocks[needs] * 8
    assert f"take up {holds[needs]:.1f} % of what" in said[0]
    assert f"raw over-provisioning {100 * (raw / 400 - 1):.1f} %" in said[0]
    # A block in each of very many planes is a large step, which is said.
    assert "smaller blocks" in said[1]


def test_what_needs_most_decides_for_all_and_is_named(trace: Path) -> None:
    """Hot and cold pages apart take two blocks more in each plane; labels make no other kind of drive."""
    opened = ft.open(trace)
    plain = ft.system("conventional", **NARROW, pe_cycles=5)
    parted = ft.system("hot-cold", **NARROW)
    said: list[str] = []
    found = filled(opened, {"plain": plain, "parted": parted}, 0.93, said.append)
    blocks = {name: one.config["nand"]["blocks_per_plane"] for name, one in found.items()}
    alone = filled(opened, {"parted": parted}, 0.93)["parted"].config["nand"]["blocks_per_plane"]
    assert blocks == {"plain": alone, "parted": alone}
    (line,) = said
    assert line.startswith(f"nand.blocks_per_plane = {alone} (what parted needs; the others have equal flash): ")
    shares = {name: f"{100 * 400 / one.capacity_pages:.1f} %" for name, one in found.items()}
    assert f"{shares['parted']} of what parted holds, {shares['plain']} of what the others hold; raw" in line


def test_a_fuller_drive_writes_more_and_an_aged_one_at_once(cli: Cli, trace: Path) -> None:
    amplification = [
        ft.replay(trace, "conventional", fill=fill, settings=NARROW).summary["write_amplification"]
        for fill in (0.5, 0.8, 0.95)
    ]
    assert amplification == sorted(amplification)
    assert amplification[0] < amplification[-1]
    words = ("replay", trace, "--system", "conventional", "--fill", "95%", "--json", *WORDS)
    new, aged = (json.loads(cli(*words, *more).out)["conventional"] for more in ((), ("--aged",)))
    assert aged["config"]["replay"]["preload"] == "footprint"
    assert aged["erases"]["total"] > new["erases"]["total"]


@pytest.mark.usefixtures("no_pages")
def test_a_study_says_how_full_its_drive_is(cli: Cli, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    words = ("--systems", "conventional", "--fill", "90%", "--effort", "0", "--out", out)
    done = cli("study", trace, *words, *WORDS)
    blocks = ft.Comparison.read(out).baseline.summary["config"]["nand"]["blocks_per_plane"]
    assert f"nand.blocks_per_plane = {blocks}: the trace's 400 pages take up" in done.err


@pytest.mark.parametrize("fill", [0, -0.5, 1.01, float("nan")])
def test_what_is_no_share_is_refused(trace: Path, fill: float) -> None:
    with pytest.raises(ft.ArgumentError, match=r"expected a share above 0 and up to 1, such as 0\.9"):
        ft.replay(trace, "conventional", fill=fill)


@pytest.mark.parametrize("share", ["0", "101%", "much", "-3%", "1.2"])
def test_the_command_line_says_how_to_write_it(cli: Cli, trace: Path, share: str) -> None:
    done = cli("replay", trace, "--system", "conventional", f"--fill={share}", status=2)
    assert "write it like 90% or 0.9" in done.err


def test_a_drive_that_cannot_be_so_large_is_refused(trace: Path) -> None:
    with pytest.raises(ft.ConfigError, match=r"no device of the kind of 'rr-ssd' holds 400000000000 pages"):
        ft.replay(trace, "conventional", fill=1e-9)


@pytest.mark.usefixtures("no_pages")
def test_points_of_a_sweep_have_equal_flash(cli: Cli, trace: Path, tmp_path: Path) -> None:
    """For all other keys: else a setting that takes more blocks would look better for having more."""
    swept = ("--systems", "conventional,caftl", "--set", "partition.policy=none,bloom-filters", "--fill", "80%,93%")
    done = cli("sweep", trace, *swept, *WORDS, "--workers", 1, "--out", "swept", status=0)
    assert done.err.count("the others have equal flash") == 2
    rows = ft.Sweep.read(tmp_path / "swept").to_arrow().to_pylist()
    blocks = {fill: {row["config.nand.blocks_per_plane"] for row in rows if row["config.fill"] == fill}
              for fill in (0.8, 0.93)}  # fmt: skip
    assert [len(found) for found in blocks.values()] == [1, 1]
    opened = ft.open(trace)
    keys = {**NARROW, "partition.policy": "bloom-filters"}
    parted = {name: ft.system(name, settings=keys) for name in ("caftl", "conventional")}
    assert blocks[0.93] == {filled(opened, parted, 0.93)["caftl"].config["nand"]["blocks_per_plane"]}


@pytest.mark.usefixtures("no_pages")
def test_a_sweep_fills_drives_as_far_as_asked_for(cli: Cli, trace: Path, tmp_path: Path) -> None:
    swept = ("--systems", "conventional,caftl", "--fill", "60%,95%,150%", "--set", "preload=footprint", "--workers", 1)
    cli("sweep", trace, *swept, *WORDS, "--out", "swept", status=1)
    rows = ft.Sweep.read(tmp_path / "swept").to_arrow().to_pylist()
    assert [row["config.fill"] for row in rows] == [0.6, 0.95, 1.5] * 2
    assert [row["status"] for row in rows] == ["done", "done", "failed"] * 2
    assert "expected a share above 0 and up to 1" in rows[2]["error"]
    blocks = {row["config.fill"]: row["config.nand.blocks_per_plane"] for row in rows if row["status"] == "done"}
    assert [row["config.nand.blocks_per_plane"] for row in rows if row["status"] == "done"] == list(blocks.values()) * 2
    assert rows[0]["write_amplification"] < rows[1]["write_amplification"]
    command = ft.Sweep.read(tmp_path / "swept").plan.points[1].command
    alone = json.loads(cli(*shlex.split(command)[1:], "--json").out)["conventional"]
    assert alone["erases"] == {name: rows[1][f"erases.{name}"] for name in alone["erases"]}
