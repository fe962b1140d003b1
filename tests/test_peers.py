"""The comparison with other people's simulators, without any of them: their input, and how their output is read."""

import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evidence.peers import comparing, mqsim, ours, ssdsim, workloads
from evidence.peers.measure import Latency, Outcome, PeerError, latency
from evidence.peers.workloads import GAP_NS, Device, Request
from evidence.study import Lab, MissingInputError

SMALL = Device(channels=2, chips_per_channel=1, dies_per_chip=1, planes_per_die=2, blocks_per_plane=8, free_blocks=2)
REQUESTS = [
    Request(10_000, 0, 8, write=False), Request(20_000, 8, 8, write=True), Request(30_000, 16, 16, write=False),
]  # fmt: skip


def test_made_requests_have_load_shape_and_gaps() -> None:
    spaced = workloads.spaced([Request(5_000, 8, 8, True), Request(4_999, 0, 8, True), Request(50_000, 0, 8, True)])
    assert [request.time_ns for request in spaced] == [4_999, 4_999 + GAP_NS, 50_000]
    gap_us = Device().mean_gap_us(0.3, write_share=1.0, pages=8)
    requests = workloads.made(count=4000, mean_gap_us=gap_us, write_share=1.0, footprint_pages=800, pages=8)
    # 16 chips that take 502.575 us a page, and eight pages a request.
    assert requests[-1].time_ns / 4000 / 1000 == pytest.approx(8 * 502.575 / 16 / 0.3, rel=0.05)
    assert {request.sectors for request in requests} == {64}
    assert all(request.sector % 64 == 0 and request.sector < 6400 for request in requests)


def test_percentile_is_the_value_of_its_rank() -> None:
    assert latency(float(value) for value in range(1, 2001)) == Latency(2000, 1000.5, 1980.0)
    assert latency([3.0, 1.0]) == Latency(2, 2.0, None)
    assert latency([]) is None


class TestMqsim:
    def test_its_own_configuration_gets_our_values(self) -> None:
        template = "<Seed>321</Seed>" + "".join(f"<{key}>old</{key}>" for key in mqsim.values(SMALL, {}))
        written = mqsim.configuration(template, SMALL, {})
        assert ">old<" not in written
        for line in (
            "<Seed>321",
            "<Flash_Channel_Count>2",
            "<Page_Program_Latency_LSB>400000",
            "<GC_Exec_Threshold>0.25",
        ):
            assert line in written
        with pytest.raises(PeerError, match=r"expected one <PCIe_Lane_Bandwidth> in ssdconfig\.xml, found 0"):
            mqsim.configuration("<Other/>", SMALL, {})
        assert "<Channel_IDs>0,1</Channel_IDs><Chip_IDs>0</Chip_IDs><Die_IDs>0</Die_IDs>" in mqsim.flow(SMALL)

    def test_stand_in_is_run_and_read(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "ssdconfig.xml").write_text("".join(f"<{key}>old</{key}>" for key in mqsim.values(SMALL, {})))
        script = """\
            test "$1 $2 $3 $4" = "-i device.xml -w flow.xml" || exit 3
            test "$(head -1 requests.trace)" = "10000 0 0 8 1" || exit 4
            printf 'head\\n187\\t177\\t177\\n522\\t502\\t502\\n1030\\t1000\\t1000\\n' > flow.IO_Flow.No_0.log
            echo 'Issued_Flash_Program_CMD="1" Issued_Flash_Multiplane_Program_CMD="0"' > flow_scenario_1.xml
            echo 'Issued_Flash_Erase_CMD="0" Issued_Flash_Multiplane_Erase_CMD="0"' >> flow_scenario_1.xml
            """
        stand_in(tmp_path, "MQSim", script, monkeypatch, mqsim.PEER.variable)
        outcome = mqsim.simulate(SMALL, REQUESTS, {}, folder(tmp_path))
        assert outcome == Outcome(Latency(2, 589.0, None), Latency(1, 502.5, None), 1, 0)
        stand_in(tmp_path, "MQSim", "echo ERROR: no such file", monkeypatch, mqsim.PEER.variable)
        with pytest.raises(PeerError, match="MQSim: ERROR: no such file"):
            mqsim.simulate(SMALL, REQUESTS, {}, folder(tmp_path))


class TestSsdsim:
    def test_parameters_and_trace(self) -> None:
        lines = ssdsim.configuration(SMALL, {"queue_length": 7}).splitlines()
        assert {"chip number[1] = 1;", "t_PROG = 400000;", "t_WC = 25;", "gc hard threshold = 0.25;"} <= set(lines)
        assert [line for line in lines if line.startswith("queue_length")] == ["queue_length = 7;"]
        with pytest.raises(PeerError, match="page 64"):
            ssdsim.configuration(replace(SMALL, pages_per_block=128), {})
        trace = ssdsim.trace(SMALL, REQUESTS).split("\n")
        assert [line.split()[4] for line in trace[:2]] == ["1", "0"]
        assert (trace[2], trace[-1]) == ("2000010000 0 0 8 1", "12000030000 0 0 8 0")

    def test_its_output_is_read(self) -> None:
        output = textwrap.dedent("""\
                  arrive           lsn     size ope     begin time    response time    process time
                           0        460      8  1                0           177575     177575
                           0        460      8  0           177575           280150     280150
                  2000020000          8      8  0       2000020000       2000122575     102575
                  2000010000          0      8  1       2000010000       2000187575     177575
                  2000030000         16     16  1       2000030000       2000307575     277575
            erase count:             4
            direct erase count:             3
            write flash count:         17
            """)
        # Of 17 pages, 4 were there before (that of the first read and three of the trace), one is the first write.
        outcome = ssdsim.outcome(output, SMALL, REQUESTS)
        assert outcome == Outcome(Latency(2, 227.575, None), Latency(1, 102.575, None), 12, 4)
        with pytest.raises(PeerError, match="did it end"):
            ssdsim.outcome("", SMALL, REQUESTS)

    def test_failure_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        stand_in(tmp_path, "ssd", "kill -SEGV $$", monkeypatch, ssdsim.PEER.variable)
        with pytest.raises(PeerError, match="ended with status -11"):
            ssdsim.simulate(SMALL, REQUESTS, {}, folder(tmp_path))


def stand_in(place: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    (place / name).write_text(f"#!/bin/sh\n{textwrap.dedent(script)}")
    (place / name).chmod(0o755)
    monkeypatch.setenv(variable, str(place))


def folder(place: Path) -> Path:
    (place / "run").mkdir(exist_ok=True)
    return place / "run"


def test_idle_device_takes_what_the_datasheet_says(tmp_path: Path) -> None:
    apart = [request._replace(time_ns=request.time_ns * 1000, sectors=8) for request in REQUESTS]
    wanted = Outcome(Latency(2, 177.575, None), Latency(1, 502.575, None), 1, 0)
    assert ours.simulate(SMALL, apart, {}, tmp_path) == wanted
    for rules in comparing.RULES.values():
        assert ours.simulate(SMALL, REQUESTS, rules, tmp_path).write is not None
        assert " --set engine.concurrency=chip" in ours.command(rules)


def test_missing_peer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for peer in comparing.PEERS.values():
        monkeypatch.delenv(peer.PEER.variable, raising=False)
    with pytest.raises(MissingInputError, match="MQSim is not here; set MQSIM_DIR to the folder of a built"):
        comparing.measure(Lab({}, print))
    for peer in comparing.PEERS.values():
        monkeypatch.setenv(peer.PEER.variable, str(tmp_path))
        with pytest.raises(PeerError, match="no such program; build"):
            peer.PEER.program()


def test_larger_difference_has_the_letter_of_its_rule() -> None:
    def run(mean_us: float, p99_us: float | None, erased: int = 0) -> dict[str, Any]:
        return {"read": None, "write": {"count": 2000, "mean_us": mean_us, "p99_us": p99_us}, "pages_programmed": 3000,
                "blocks_erased": erased}  # fmt: skip

    runs = {
        "flashtwin": run(500.0, 1000.0, 40), "MQSim": run(510.0, None, 41),
        "flashtwin as MQSim": run(509.0, 1001.0, 40), "SSDsim": run(100.0, 2000.0, 50),
        "flashtwin as SSDsim": run(101.0, 1000.0, 40),
    }  # fmt: skip
    one = {"name": "heavy-writes", "light": False, "requests": {"read": 0, "write": 2001}, "runs": runs}
    failed = {**one, "name": "light-writes", "runs": {**runs, "SSDsim": {"failed": "it fell over"}}}
    data = {"scenarios": [one, failed], "commits": {}, "rules": {}}
    found = comparing.pages(data)
    assert found["table"][4] == "| one page, load 0.7 | 0.2 % | 0.0 % | 2.4 % | 1.0 % | 50.0 % d | 20.0 % |"
    assert found["lost"] == {"flashtwin": 2, "MQSim": 2, "SSDsim": 1}
    assert found["unexplained"] == ["SSDsim heavy-writes blocks_erased"]
