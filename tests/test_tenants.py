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


def renamed(names: tuple[str, ...], seed: int) -> str:
    """Requests to three volumes, which are numbered by the first ones: these find nothing, long before the others."""
    rng, at = random.Random(seed), 10**9
    rows = [f"0,R,{99 * 4096},4096,,{name}" for name in sorted(names)]
    for _ in range(2000):
        at += rng.choice((0, 50_000, 400_000, 3_000_000))
        op, page, name = rng.choice("RWWT"), rng.randrange(99), rng.choice(names)
        rows.append(f"{at},{op},{page * 4096},4096,{rng.randrange(40) if op == 'W' else ''},{name}")
    return "\n".join(["time_ns,op,offset_bytes,length_bytes,content,volume", *rows])


@pytest.mark.parametrize("policy", ["dynamic", "least-loaded", "static"])
def test_the_order_of_volumes_decides_only_where_an_address_decides(tmp_path: Path, policy: str) -> None:
    orders, path = (("a", "b", "c"), ("b", "c", "a"), ("c", "b", "a")), tmp_path / "t.csv"
    # Partitions are told by addresses.
    systems = [one for one in ft.systems() if ft.system(one).config["ftl"]["partition"]["policy"] == "none"]
    found: dict[str, list[object]] = {name: [] for name in ["trace", *systems]}
    for order in orders:
        path.write_text(renamed(order, seed=len(policy)))
        trace = ft.open(path)
        assert trace.volumes == ["a", "b", "c"]
        found["trace"].append(({**trace.info, "digest": ""}, {**ft.characterize(trace).summary, "info": ""}))
        for name in systems:
            run = ft.replay(trace, name, preload="none", **{"ftl.allocation.policy": policy})
            own = pa.table(run.table("volumes")).drop_columns("volume").to_pylist()
            # The volume that the first order calls so.
            old = dict(zip(order, orders[0], strict=True))
            rows = sorted((old[row.pop("volume_name")], row["kind"], row) for row in own)
            found[name].append(({**run.summary, "trace": ""}, rows))
    same = {name: all(one == these[0] for one in these) for name, these in found.items()}
    assert same == {name: name == "trace" or policy != "static" for name in found}
