"""A drive at the modelled drive's own time: never earlier, and the model's result is that of a replay."""

import json
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft

from ..conftest import Cli
from ..tools import need
from .serving import nbdsh, scraped

SIZE = 16 << 20

TIMED = """
import json, random, time
random.seed(5)
def timed(what):
    began = time.monotonic_ns()
    what()
    return time.monotonic_ns() - began
found = {}
"""


@pytest.fixture(autouse=True)
def has_nbdsh() -> None:
    need("nbdsh")


def client(server: ft.Server, script: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(nbdsh(server.uri, f"{TIMED}\n{script}\nprint(json.dumps(found))"))
    return found


def model_of(server: ft.Server) -> dict[str, Any]:
    assert server.figures["twin"]["failure"] is None
    return server.result.summary


def test_no_answer_comes_before_the_modelled_drive_has_it(tmp_path: Path) -> None:
    sets = {"engine.hash_us": "3000"}
    with ft.serve(tmp_path / "d.img", system="ca-ssd", size_bytes=SIZE, sets=sets, twin_time=True) as server:
        assert server.result is None
        found = client(
            server,
            """
pages = [random.randbytes(4096) for _ in range(20)]
found["unique"] = [timed(lambda at=at: h.pwrite(pages[at], at * 4096)) for at in range(20)]
found["duplicate"] = [timed(lambda at=at: h.pwrite(pages[at], (100 + at) * 4096)) for at in range(20)]
found["read"] = [timed(lambda at=at: h.pread(4096, (100 + at) * 4096)) for at in range(20)]
found["nothing"] = timed(lambda: h.pread(4096, 3000 * 4096))
assert bytes(h.pread(4096, 105 * 4096)) == pages[5]
h.trim(4096, 0)
h.flush()
""",
        )
    summary = model_of(server)
    assert summary["requests"]["read"] == 22
    assert summary["requests"]["write"] == 40
    # A duplicate waits for its hash alone, a page of its own for its program as well: the page's time and no less.
    assert min(found["duplicate"]) >= 3_000_000
    writes, reads = summary["response"]["write"], summary["response"]["read"]
    assert writes["mean_ns"] * 40 - 40 * 3_000_000 == pytest.approx(20 * (writes["max_ns"] - 3_000_000), rel=1e-3)
    assert min(found["unique"]) >= writes["max_ns"] > 3_200_000
    assert min(found["read"]) >= reads["p50_ns"] * 0.99 > 10_000
    assert summary["flash_writes"]["unique"] == 20
    assert summary["page_ops"]["duplicate_writes"] == 20
    twin = server.figures["twin"]
    assert twin["held_back"] + twin["store_was_slower"] == 63 + summary["requests"]["flush"]
    assert sum(twin["late"]) == twin["held_back"]


def test_a_write_that_ram_takes_waits_for_the_controller(tmp_path: Path) -> None:
    """The engine knows when it will be complete as soon as it comes."""
    sets = {"engine.controller_us": "3000", "engine.write_completes": "hashed", "engine.write_buffer_pages": "64"}
    sets |= {"engine.buffer_reads": "true", "engine.write_cache_us": "0"}
    with ft.serve(tmp_path / "d.img", system="conventional", size_bytes=SIZE, sets=sets, twin_time=True) as server:
        found = client(
            server,
            """
found["write"] = [timed(lambda at=at: h.pwrite(bytes(range(256)) * 16, at * 4096)) for at in range(8)]
found["read"] = [timed(lambda at=at: h.pread(4096, at * 4096)) for at in range(8)]
""",
        )
    assert model_of(server)["response"]["write"]["max_ns"] == 3_000_000
    assert min(found["write"] + found["read"]) >= 3_000_000
    # A disk may take longer for the flush.
    held, slower = server.figures["twin"]["held_back"], server.figures["twin"]["store_was_slower"]
    assert held + slower == 16 + model_of(server)["requests"]["flush"]


@pytest.mark.parametrize("system", ["conventional", "ca-ssd", "rr-ssd", "ds-ftl"])
def test_the_modelled_drive_does_what_the_served_one_does(system: str, tmp_path: Path) -> None:
    script = """
pages = [random.randbytes(4096) for _ in range(60)]
whole = bytearray(h.get_size())
for step in range(600):
    offset, length = random.randrange(0, 700) * 4096, 4096 * random.choice((1, 1, 1, 3))
    if random.random() < 0.2:
        offset, length = offset + 512, length - random.choice((512, 1024))
    match random.randrange(10):
        case 0: h.trim(length, offset); whole[offset:offset + length] = h.pread(length, offset)
        case 1: h.zero(length, offset); whole[offset:offset + length] = bytes(length)
        case 2 | 3: assert bytes(h.pread(length, offset)) == bytes(whole[offset:offset + length])
        case _:
            data = b"".join(random.choice(pages) for _ in range(3))[:length]
            h.pwrite(data, offset)
            whole[offset:offset + length] = data
"""
    image = tmp_path / "d.img"
    for again in (False, True):
        with ft.serve(
            image, system=None if again else system, size_bytes=SIZE, sets={"idle_us": "0"}, twin_time=True
        ) as server:
            # Earlier data are known to the modelled drive when it begins.
            client(server, script.replace("bytearray(h.get_size())", "bytearray(h.pread(4 << 20, 0))"))
        summary, drive = model_of(server), server.figures["drive"]
        for cause in ("host", "unique", "reborn"):
            assert summary["flash_writes"][cause] == drive["flash_writes"][cause], cause
        assert summary["page_ops"]["duplicate_writes"] == drive["page_ops"]["duplicate_writes"]
        assert summary["host_pages_written"] == drive["host_pages_written"]
        if system == "ca-ssd":
            assert drive["page_ops"]["duplicate_writes"] > 100
    assert ft.check_drive(image, all_pages=True)["problems"] == []


def test_settings_of_the_engine_are_no_part_of_an_image(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "d.img"
    with ft.serve(image, system="ca-ssd", size_bytes=SIZE, sets={"engine.hash_us": "7"}, twin_time=True):
        pass
    with ft.serve(image, sets={"engine.hash_us": "9"}, twin_time=True) as server:
        pass
    assert model_of(server)["config"]["engine"]["hash_us"] == 9
    assert model_of(server)["response"]["all"]["mean_ns"] is None
    with pytest.raises(ft.LiveError, match="with other settings of ftl"):
        ft.serve(image, sets={"ftl.gc.start": "0.2"}, twin_time=True)
    with pytest.raises(ft.ConfigError, match=r"engine\.hash"):
        ft.serve(image, sets={"engine.hash_usage": "9"}, twin_time=True)
    # Of a system of one's own, the image knows its decisions, not its speed.
    own = tmp_path / "own.toml"
    text = cli("systems", "ca-ssd").out
    own.write_text(text.replace('name = "ca-ssd"', 'name = "own"', 1))
    other = tmp_path / "own.img"
    ft.serve(other, system=str(own), size_bytes=SIZE).stop()
    with pytest.raises(ft.ConfigError, match="name the system, or its file"):
        ft.serve(other, twin_time=True)
    ft.serve(other, system=str(own), twin_time=True).stop()


def test_many_at_once_see_its_queues(tmp_path: Path) -> None:
    """On one chip, requests that come together are answered one after another."""
    sets = {"nand.channels": "1", "nand.chips_per_channel": "1", "nand.dies_per_chip": "1", "nand.planes_per_die": "1"}
    with ft.serve(tmp_path / "d.img", system="conventional", size_bytes=SIZE, sets=sets, twin_time=True) as server:
        found = client(
            server,
            """
data = random.randbytes(64 * 4096)
began = time.monotonic_ns()
for at in range(64):
    h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data[at * 4096:][:4096])), at * 4096)
while h.aio_in_flight():
    h.poll(-1)
found["took"] = time.monotonic_ns() - began
""",
        )
    writes = model_of(server)["response"]["write"]
    # The last of those under way has waited for the others. The client has seen 64 programs, one after another.
    assert writes["max_ns"] > 10 * writes["min_ns"]
    assert found["took"] >= max(writes["max_ns"], 64 * writes["min_ns"])


# Matplotlib warns of a page of so few requests.
@pytest.mark.filterwarnings("default:Attempting to set identical low and high ylims")
def test_from_the_command_line(cli: Cli, tmp_path: Path) -> None:
    script = "h.pwrite(bytes(range(256)) * 16, 0); h.pwrite(bytes(range(256)) * 16, 4096); h.pread(8192, 0)"
    shell = f'PATH=/usr/bin:$PATH exec nbdsh -u "$NBD_URI" -c "{script}"'
    words = ("serve", "--system", "ca-ssd", "--size", "16M", "d.img", "--twin-time", "--out", "served")
    done = cli(*words, "--", "sh", "-c", shell, status=0)
    assert "the modelled drive: " in done.err
    found = json.loads((tmp_path / "served" / "served.json").read_text())
    assert found["twin"]["failure"] is None
    result = ft.Comparison.read(tmp_path / "served" / "twin")["ca-ssd"]
    assert result.summary["page_ops"]["duplicate_writes"] == 1
    assert result.table("wait_ledger") is not None
    cli("report", "served/twin", "--out", "page", status=0)


def test_metrics_over_http(tmp_path: Path) -> None:
    from flashtwin.cli import _metrics

    with (
        ft.serve(tmp_path / "d.img", system="ca-ssd", size_bytes=SIZE, twin_time=True) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        said: list[str] = []
        patch.setattr(_metrics, "say", said.append)
        with _metrics.metrics(server, "127.0.0.1:0"):
            client(server, "h.pwrite(bytes(range(256)) * 16, 0)")
            samples = scraped(said[0].removeprefix("figures: "))
    assert samples['flashtwin_requests_total{operation="write"}'] == "1"
    assert samples['flashtwin_bytes_total{operation="write"}'] == "4096"
    assert samples['flashtwin_request_seconds_bucket{operation="write",le="+Inf"}'] == "1"
    assert samples['flashtwin_request_seconds_count{operation="write"}'] == "1"
    assert (
        samples["flashtwin_host_pages_written_total"] == samples['flashtwin_flash_writes_total{cause="unique"}'] == "1"
    )
    assert (
        float(samples["flashtwin_twin_held_back_total"]) + float(samples["flashtwin_twin_store_was_slower_total"]) == 1
    )
    assert samples["flashtwin_twin_failed"] == "0"
    chips = [key for key in samples if key.startswith('flashtwin_twin_chip_queue{chip="')]
    assert len(chips) == 64
    assert {samples[key] for key in chips} == {"0"}
