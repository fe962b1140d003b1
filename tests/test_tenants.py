"""Results by volume and after a warm-up, as a user asks for them."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

import flashtwin as ft

from .conftest import Cli

REQUESTS = 300


@pytest.fixture
def two_tenants(tmp_path: Path) -> Path:
    """A request every 10 ms to device 2 or 7; the first one is to device 7."""
    rng = random.Random(3)
    rows = []
    for at in range(REQUESTS):
        volume, op = 7 if at == 0 else rng.choice((2, 7)), rng.choice("RWW")
        rows.append(f"{volume},{op},{rng.randrange(100) * 4096},{rng.choice((512, 8192))},{at * 10_000}")
    path = tmp_path / "two.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_tenants_are_those_of_the_file_streamed_and_in_memory(two_tenants: Path) -> None:
    runs = [
        ft.replay(trace, "conventional", per_request=True)
        for trace in (ft.open(two_tenants, format="alibaba"), ft.scan(two_tenants, format="alibaba"))
    ]
    held, streamed = ({name: pa.table(run.table(name)) for name in ("volumes", "requests")} for run in runs)
    assert held == streamed
    asked = [row.split(",") for row in two_tenants.read_text().split()]
    rows = held["requests"].sort_by("request").to_pylist()
    assert [[("2", "7")[row["volume"]], str(row["offset_bytes"]), str(row["length_bytes"])] for row in rows] == [
        [row[0], row[2], row[3]] for row in asked
    ]
    for row in held["volumes"].to_pylist():
        own = [int(one[3]) for one in asked if one[0] == row["volume_name"] and one[1] == row["kind"][0].upper()]
        assert (row["requests"], row["bytes"]) == (len(own), sum(own))
    assert "volumes" not in ft.replay(ft.open(two_tenants, format="alibaba").volume("7"), "conventional").table_names


def test_a_warm_up_is_said_and_differs_as_ground(cli: Cli, two_tenants: Path) -> None:
    done = cli("replay", two_tenants, "--format", "alibaba", "--system", "conventional", "--warm-up", "1s", "--json")
    assert "conventional: figures count from 1.00 s of the trace on" in done.err
    summary = json.loads(done.out)["conventional"]
    assert (summary["counted_from_ns"], summary["requests"]["completed"]) == (10**9, REQUESTS - 100)
    trace = ft.open(two_tenants, format="alibaba")
    runs = {"all": ft.system("conventional"), "later": ft.system("conventional", warm_up_s=1)}
    (difference,) = ft.compare(trace, runs).ground
    assert (difference.key, difference.warns) == ("replay.warm_up_s", True)
