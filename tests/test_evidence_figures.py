"""Figures on the pages of findings, recipes and speed: the helpers' sentences, and numbers read out of benches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evidence import benches, recipes, traces
from evidence.stage import Lab, MissingTracesError
from evidence.stages import live, speed

from flashtwin.sweeps import crew

ENGINE = """\
1000000 page operations, 383224 pages, 301 contents
conventional                0.249 s     4.01 M page ops/s,  0.58 of the bare loop (  6.91 M),     4.01 M flash ops/s; \
tables 84.5 B/page, - B/content; resident set grew by 31 MB
ds-ftl                      0.617 s     1.62 M page ops/s,  0.24 of the bare loop (  6.74 M),     2.54 M flash ops/s; \
tables 86.9 B/page, 96.7 B/content; resident set grew by 40 MB
"""
BASICS = """\
10000000 requests, 19000000 page contents, one thread
  bare loop                      34.00 M requests/s
  basics + popularity             5.90 M requests/s
"""
LOCALITY = """\
one thread, best of 3
stack distances, skewed, 1 M items    33.0 M accesses/s  bare loop   782.0 M/s, 23.7 x as fast
Skewed: 10 M requests, 19 M contents
value locality, 4 streams             14.2 M accesses/s  bare loop   452.0 M/s, 31.8 x as fast
logical locality, 1,024 x 5,000        3.3 M requests/s  bare loop   139.0 M/s, 42.1 x as fast
Dense: 10 M requests, 0 M contents
logical locality, 1,024 x 5,000        1.9 M requests/s  bare loop   203.0 M/s, 106.8 x as fast
"""
WA = """\
one thread, best of 3, 10000000 page writes, 1000000 pages to choose from
uniform, counting            0.529 s     18.9 M writes/s  with their order; 500.0 M/s only adding up
uniform, bare maps           0.024 s    419.0 M pages/s  999954 pages
uniform, 1 partitions        0.237 s    269.0 M pages/s  WA 6.380, 63 M pages, 23.7 ns/write
f_min, histogram             0.010 s   1000.0 M pages/s  2798 frequencies; then 0.41 ms for f_min(2..=32) = 9.0 .. 1.1
"""
INGEST = """\
one reading thread, best of 3; 2000000 lines each
fiu             4.5 M lines/s    350 MB/s  (streamed 1.10 of that time; 121 M lines/s only finding newlines; 500000 \
requests)
parquet    24.9 M rows/s, 0.0 M contents/s, 9.1 bytes/row (2000000 requests, 0 contents)
parquet    13.8 M rows/s, 13.8 M contents/s, 19.4 bytes/row (500000 requests, 2000000 contents)
"""
MAKING = """\
about 3000000 requests, best of 3
bare loop           230.1 M requests/s, 4 random numbers each and nothing else
rr-ssd/webvm          7.8 in memory,    5.8 into a file with one thread,    6.9 with two; M requests/s
"""


class TestBenches:
    def test_replays_are_read_with_and_without_contents(self) -> None:
        found = benches.engine(ENGINE)
        assert found["trace"] == {"operations": 1e6, "pages": 383_224.0, "contents": 301.0}
        assert found["systems"]["conventional"] == {
            "host": 4.01, "share": 0.58, "bare": 6.91, "flash": 4.01, "page": 84.5, "content": None,
        }  # fmt: skip
        assert found["systems"]["ds-ftl"] == {
            "host": 1.62, "share": 0.24, "bare": 6.74, "flash": 2.54, "page": 86.9, "content": 96.7,
        }  # fmt: skip

    def test_characterization_is_read_by_workload(self) -> None:
        assert benches.basics(BASICS)["rates"] == {"bare loop": 34.0, "basics + popularity": 5.9}
        found = benches.locality(LOCALITY)
        assert list(found) == ["alone", "skewed", "dense"]
        assert found["alone"]["stack distances, skewed, 1 M items"] == {"rate": 33.0, "bare": 782.0}
        assert found["dense"]["logical locality, 1,024 x 5,000"] == {"rate": 1.9, "bare": 203.0}

    def test_the_simulator_of_writes_is_read(self) -> None:
        found = benches.wa(WA)
        assert found["rates"] == {
            "uniform, counting": 18.9,
            "uniform, bare maps": 419.0,
            "uniform, 1 partitions": 269.0,
        }
        assert found["adding"] == {"uniform": 500.0}
        assert found["f_min"] == {"histogram_ms": 10.0, "frequencies": 2798.0, "ms": 0.41}

    def test_reading_and_making_are_read(self) -> None:
        found = benches.ingest(INGEST)
        assert found["text"] == {"fiu": {"rate": 4.5, "streamed": 1.1, "newlines": 121.0}}
        assert [one["rate"] for one in found["parquet"].values()] == [24.9, 13.8]
        assert benches.synthesize(MAKING) == {
            "bare": 230.1,
            "recipes": {"rr-ssd/webvm": {"memory": 7.8, "one": 5.8, "two": 6.9}},
        }

    def test_peers_are_read(self) -> None:
        text = (
            "peer: wa-simulator  255.7 M pages/s [250.0-260.1], write amplification 7.364\n"
            "peer: ftlsim         15.4 M pages/s [15.0-16.1], write amplification 7.371\n"
            "peer: wa-simulator programs 16.0 times as many pages a second, pair by pair\n"
        )
        found = benches.peer_ftlsim(text)
        assert (found["ftlsim"]["rate"], found["wa-simulator"]["wa"], found["times"]) == (15.4, 7.364, 16.0)
        text = (
            "peer: flashtwin    0.71 s [0.70-0.72], 1,410,000 requests/s\n"
            "peer: MQSim        6.02 s [6.00-6.04], 166,000 requests/s\n"
            "peer: MQSim takes 8.5 times as long, pair by pair\n"
        )
        assert benches.peer_mqsim(text)["MQSim"] == {"seconds": 6.02, "rate": 166_000.0}

    def test_other_output_is_refused(self) -> None:
        with pytest.raises(benches.UnknownOutputError, match="no line like"):
            benches.engine("error: could not compile")

    def test_a_process_is_timed_with_its_memory(self) -> None:
        taken = speed.process(["version"])
        assert 0 < taken["seconds"] < 60
        assert 10 << 20 < taken["peak_bytes"] < 4 << 30

    def test_the_machine_is_named(self) -> None:
        assert speed.processor()
        assert crew.cores() >= 1


def written(by_partitions: dict[str, float], two: float = 1.2, three: float = 1.2) -> dict[str, Any]:
    return {
        "enters": False,
        "writes_per_sector": 2.0,
        "by_partitions": dict.fromkeys(("7", "28", "50"), by_partitions),
        "by_page": {"4096": 1.5, "8192": 1.8, "16384": None},
        "by_ratio": {
            "2": {"partitions": 5, "write_amplification": two},
            "3": {"partitions": 3, "write_amplification": three},
        },
    }


WRITING = {
    "flat_head": written({"1": 1.0, "4": 1.0}),
    "turning": written({"1": 1.8, "4": 1.3, "24": 1.4}, 1.2, 1.3),
    "falling": written({"1": 1.8, "4": 1.3, "24": 1.2}),
}
TARGETS = [
    {"metric": "requests", "wanted": 1000, "found": 1000, "error": 0.0, "bound": "equal", "verdict": "met"},
    {"metric": "gap", "wanted": 2.0, "found": 1.9, "error": -0.05, "bound": "equal", "verdict": "met"},
    {"metric": "low", "wanted": 2.0, "found": 0.2, "error": -0.9, "bound": "at-most", "verdict": "met"},
    {"metric": "odd", "wanted": 4.0, "found": 8.0, "error": 1.0, "bound": "equal", "verdict": "conflict"},
]


class TestTraces:
    def test_traces_are_told_apart_by_what_partitions_do(self) -> None:
        assert traces.amplified(WRITING) == ["turning", "falling"]
        assert traces.falling(WRITING, 28) == ["turning", "falling"]
        assert traces.turning(WRITING) == ["turning"]
        assert traces.fewest(WRITING["turning"]) == (4, 1.3)
        assert traces.low(WRITING, 50, 1) == ["flat_head"]
        assert traces.others(WRITING, ["turning"]) == ["flat_head", "falling"]

    def test_the_knee_is_a_change(self) -> None:
        assert traces.knee(WRITING["turning"]) == pytest.approx(1 / 12)
        assert traces.knee_holds(WRITING) == ["flat_head", "falling"]
        assert traces.knees({"flat_head": WRITING["flat_head"]}) == "`flat` +0.0 % (3 partitions instead of 5)"

    def test_pages_without_a_result_are_no_amplification(self) -> None:
        assert traces.amplified_at(WRITING, 16_384) == []
        assert traces.larger_by(WRITING, 8192) == [pytest.approx(1.2)] * 3
        assert traces.pages_made({"flat_head": WRITING["flat_head"]}).endswith(
            "| `flat` | 2.00 | 1.500 | 1.800 | – | – | – |"
        )

    def test_volumes_belong_to_their_file(self) -> None:
        assert traces.files_of({"a:0": {}, "b": {}, "c": {}}, ["a", "b"]) == ["a:0", "b"]

    def test_reading_is_held_against_single_sectors(self) -> None:
        reading = {
            "a": {"whole": {"4096": 0.4, "32768": 0.8}, "partial": {"4096": 0.4, "32768": 0.4}, "cheapest": 4096},
            "b": {"whole": {"4096": 0.6, "32768": 0.5}, "partial": {"4096": 0.6, "32768": 0.3}, "cheapest": 32768},
        }
        assert traces.cheapest(reading, 4096) == ["a"]
        assert traces.dearer(reading) == ["a"]
        assert traces.halved(reading, "partial", 4096) == ["a"]
        assert traces.saved(reading, 32_768) == [pytest.approx(0.5), pytest.approx(0.4)]

    def test_a_number_of_a_paper_that_is_not_there_is_an_error(self) -> None:
        claims = {"fig": [{"quantity": "q", "subject": "s", "measured": 2}]}
        assert traces.claim(claims, "fig", "q", "s") == 2.0
        with pytest.raises(KeyError):
            traces.claim(claims, "fig", "q", "other")


class TestRecipes:
    def test_what_may_not_be_exceeded_is_not_far_off(self) -> None:
        table = recipes.checks({"one": {"scale": 0.5, "targets": TARGETS}})
        assert table.endswith("| `one` | 0.5 | 4 | 3 | `gap` -5.0 % |")
        assert [one["metric"] for one in recipes.every({"one": {"targets": TARGETS}}, "conflict")] == ["odd"]

    def test_a_trace_stands_beside_its_imitation(self) -> None:
        lines = recipes.imitations({"mail": TARGETS, "web": TARGETS[:1]}).splitlines()
        assert lines[1] == "| --- | ---: | ---: |"
        assert lines[2] == "| `requests` | 1,000 → 1,000 (+0.00 %) | 1,000 → 1,000 (+0.00 %) |"
        assert lines[3] == "| `gap` | 2.00 → 1.90 (-5.00 %) | – |"
        assert recipes.furthest([0.1, -0.3], [0.2]) == 0.3


def test_without_the_public_traces_the_cure_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingTracesError, match="--samples DIR"):
        _ = Lab(None, print).samples
    with pytest.raises(MissingTracesError, match="has no traces"):
        _ = Lab(None, print, tmp_path).samples
    (tmp_path / "one.csv").touch()
    assert Lab(None, print, tmp_path).samples == [tmp_path / "one.csv"]


def test_what_the_bench_of_sweeps_prints_is_read() -> None:
    text = (
        "sweep: load average 0.3 before, 2 cores\nsweep: one worker   0.39 s [0.35-0.40], 40 runs\n"
        "sweep: dask         0.36 s [0.36-0.36], 40 runs\nsweep: overhead 6.5 ms a run beyond the replay\n"
        "sweep: dask takes 0.93 times as long as the pool, round by round\nsweep: load average 1.9 after\n"
    )
    found = benches.sweeps(text)
    assert found["one worker"] == {"seconds": 0.39, "runs": 40}
    assert (found["overhead_ms"], found["times"], found["load"]) == (6.5, 0.93, [0.3, 1.9])


def test_what_the_benches_of_the_served_drive_print_is_read() -> None:
    text = (
        "requests/s                  randread 1   randread 32   randwrite 1  randwrite 32\n"
        "nbdkit file                     15,577        73,510        13,013        28,634\n"
        "drive, ca-ssd                   14,563        92,469        10,175        37,899\n"
    )
    found = live.requests(text)
    assert found["nbdkit file"] == {
        "randread_1": 15_577, "randread_32": 73_510, "randwrite_1": 13_013, "randwrite_32": 28_634,
    }  # fmt: skip
    assert found["drive, ca-ssd"]["randwrite_32"] == 37_899
    for broken in ("", "sweep: nothing\n", text + "drive, other   1 2\n"):
        with pytest.raises(ValueError, match="not "):
            live.requests(broken)
    line = "recovery: ca-ssd, 2 GB, 1.0 GB written: 0.37 s, 2028 batches, 63 MB of memory\n"
    assert live.opened(line) == {
        "ca-ssd": {"size_gb": 2, "written_gb": 1.0, "seconds": 0.37, "batches": 2028, "memory_mb": 63}
    }
    with pytest.raises(ValueError, match=r"not what benches/recovery\.py prints"):
        live.opened("nothing")
