"""The comparison with other people's simulators, without any of them: their input, how their output is
read, and that the documentation says what the data say."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from evidence.peers import __main__ as program
from evidence.peers import experiments, mqsim, ours, scenarios, section, ssdsim, workloads
from evidence.peers.device import Device
from evidence.peers.measure import Latency, Outcome, PeerError, latency
from evidence.peers.workloads import GAP_NS, Request

DATA = json.loads(program.DATA.read_text(encoding="utf-8"))
SMALL = Device(channels=2, chips_per_channel=1, dies_per_chip=1, planes_per_die=2, blocks_per_plane=8, free_blocks=2)
REQUESTS = [
    Request(10_000, 0, 8, write=False),
    Request(20_000, 8, 8, write=True),
    Request(30_000, 16, 16, write=False),
]


class TestWorkloads:
    def test_requests_are_in_order_and_apart(self) -> None:
        spaced = workloads.spaced([Request(5_000, 8, 8, True), Request(4_999, 0, 8, True), Request(50_000, 0, 8, True)])
        assert [request.time_ns for request in spaced] == [4_999, 4_999 + GAP_NS, 50_000]
        assert [request.sector for request in spaced] == [0, 8, 0]

    def test_made_requests_have_the_load_and_the_shape_asked_for(self) -> None:
        device = Device()
        gap_us = device.mean_gap_us(0.3, write_share=1.0, pages=8)
        requests = workloads.made(count=4000, mean_gap_us=gap_us, write_share=1.0, footprint_pages=800, pages=8)
        # 16 chips that take 502.575 us a page, of which a request has eight.
        busy = 8 * 502.575 / 16
        assert requests[-1].time_ns / 4000 / 1000 == pytest.approx(busy / 0.3, rel=0.05)
        assert {request.sectors for request in requests} == {64}
        assert all(request.sector % 64 == 0 and request.sector < 6400 for request in requests)
        assert requests == workloads.made(count=4000, mean_gap_us=gap_us, write_share=1.0, footprint_pages=800, pages=8)

    def test_a_device_is_filled_and_then_overwritten(self) -> None:
        requests = workloads.filled_and_overwritten(
            footprint_pages=10, overwrites=30, mean_gap_us=50, write_share=0.5, read_before=True
        )
        wanted = len(workloads.pages_read(requests[-30:]))
        assert workloads.counts(requests[:wanted]) == {"read": wanted, "write": 0}
        assert [request.sector // 8 for request in requests[wanted : wanted + 10]] == list(range(10))
        assert len(requests) == wanted + 40
        times = [request.time_ns for request in requests]
        assert all(late - early >= GAP_NS for early, late in pairwise(times))

    def test_a_sample_is_folded_and_widened(self, tmp_path: Path) -> None:
        path = tmp_path / "sample.trace"
        path.write_text("0 3 5 2 0\n10000 4 1003 8 1\n")
        whole = workloads.sample(path, name="mqsim", limit_sectors=800, whole_pages=True)
        assert [(each.sector % 8, each.sectors, each.write) for each in whole] == [(0, 8, True), (0, 16, False)]
        assert all(each.sector + each.sectors <= 800 for each in whole)
        parts = workloads.sample(path, name="mqsim", limit_sectors=800, whole_pages=False)
        assert [(each.sector, each.sectors) for each in parts] == [(5, 2), (1003 % 792, 8)]

    def test_pages_are_counted(self) -> None:
        assert workloads.pages_read(REQUESTS) == {0, 2, 3}
        assert workloads.pages_written([*REQUESTS, Request(0, 7, 2, write=True)]) == 3


def test_a_percentile_is_the_value_of_its_rank() -> None:
    assert latency(float(value) for value in range(1, 2001)) == Latency(2000, 1000.5, 1980.0)
    assert latency([3.0, 1.0]) == Latency(2, 2.0, None)
    assert latency([]) is None


class TestMqsim:
    def test_its_own_configuration_gets_our_values(self) -> None:
        values = mqsim.values(SMALL, {"Preemptible_GC_Enabled": "true"})
        template = "<Seed>321</Seed>" + "".join(f"<{key}>old</{key}>" for key in values)
        written = mqsim.configuration(template, SMALL, {"Preemptible_GC_Enabled": "true"})
        assert written.startswith("<Seed>321</Seed>")
        assert ">old<" not in written
        assert "<Flash_Channel_Count>2</Flash_Channel_Count>" in written
        assert "<Page_Program_Latency_LSB>400000</Page_Program_Latency_LSB>" in written
        assert "<GC_Exec_Threshold>0.25</GC_Exec_Threshold>" in written
        assert "<Preemptible_GC_Enabled>true</Preemptible_GC_Enabled>" in written

    def test_another_configuration_is_refused(self) -> None:
        with pytest.raises(PeerError, match=r"expected one <PCIe_Lane_Bandwidth> in ssdconfig\.xml, found 0"):
            mqsim.configuration("<Other/>", SMALL, {})

    def test_a_flow_covers_the_device(self) -> None:
        written = mqsim.flow(SMALL)
        assert "<Channel_IDs>0,1</Channel_IDs><Chip_IDs>0</Chip_IDs><Die_IDs>0</Die_IDs>" in written
        assert "<Plane_IDs>0,1</Plane_IDs>" in written

    def test_its_log_names_requests_by_their_arrival(self) -> None:
        # Ends at 522.9 and 187.575 and 1,030.001 us, in order of completion, cut to whole microseconds.
        log = "SimulationTime(us)\tReponseTime(us)\tEndToEndDelay(us)\n187\t177\t177\n522\t502\t502\n1030\t1000\t1000\n"
        assert mqsim.response_times(log, REQUESTS) == {False: [177.5, 1000.5], True: [502.5]}

    def test_a_line_of_nobody_is_refused(self) -> None:
        with pytest.raises(PeerError, match="no request arrived when"):
            mqsim.response_times("head\n187\t160\t160\n", REQUESTS)

    def test_commands_on_two_planes_are_two_pages(self) -> None:
        results = (
            'Issued_Flash_Program_CMD="7" Issued_Flash_Multiplane_Program_CMD="2" '
            'Issued_Flash_Erase_CMD="3" Issued_Flash_Multiplane_Erase_CMD="0" Issued_Flash_Program_CMD_For_Mapping="9"'
        )
        assert mqsim.flash_counts(results, SMALL) == (11, 3)
        with pytest.raises(PeerError, match="for 2 only"):
            mqsim.flash_counts(results, replace(SMALL, planes_per_die=4))


class TestSsdsim:
    def test_parameters(self) -> None:
        lines = ssdsim.configuration(SMALL, {"queue_length": 7}).splitlines()
        for line in (
            "channel number = 2;",
            "chip number = 2;",
            "chip number[1] = 1;",
            "t_PROG = 400000;",
            "t_WC = 25;",
        ):
            assert line in lines
        assert "gc hard threshold = 0.25;" in lines
        assert "static_allocation = 1;" in lines
        assert [line for line in lines if line.startswith("queue_length")] == ["queue_length = 7;"]

    def test_blocks_beyond_its_limit_are_refused(self) -> None:
        with pytest.raises(PeerError, match="page 64"):
            ssdsim.configuration(replace(SMALL, pages_per_block=128), {})

    def test_peer_trace_starts_with_one_of_each_and_an_open_line(self) -> None:
        lines = ssdsim.trace(SMALL, REQUESTS).split("\n")
        assert [line.split()[4] for line in lines[:2]] == ["1", "0"]
        assert lines[2] == "2000010000 0 0 8 1"
        assert lines[-1] == "12000030000 0 0 8 0"

    def test_its_output_is_read(self) -> None:
        output = textwrap.dedent("""\
            gc hard threshold = 0.25;
                  arrive           lsn     size ope     begin time    response time    process time
                           0        460      8  1                0           177575     177575
                           0        460      8  0           177575           280150     280150
                  2000020000          8      8  0       2000020000       2000122575     102575
                  2000010000          0      8  1       2000010000       2000187575     177575
                  2000030000         16     16  1       2000030000       2000307575     277575
            program count:            12                        include the flash write count leaded by read requests
            erase count:             4
            direct erase count:             3
            write flash count:         17
            """)
        outcome = ssdsim.outcome(output, SMALL, REQUESTS)
        # Of 17 pages, 4 were there before (that of the first read and three of the trace), one is the first write.
        assert outcome == Outcome(Latency(2, 227.575, None), Latency(1, 102.575, None), 12, 4)

    def test_output_without_its_end_is_refused(self) -> None:
        with pytest.raises(PeerError, match="did it end"):
            ssdsim.outcome("", SMALL, REQUESTS)


class TestOurs:
    def test_an_idle_device_takes_what_the_datasheet_says(self, tmp_path: Path) -> None:
        apart = [request._replace(time_ns=request.time_ns * 1000, sectors=8) for request in REQUESTS]
        outcome = ours.simulate(SMALL, apart, {}, tmp_path)
        assert outcome == Outcome(Latency(2, 177.575, None), Latency(1, 502.575, None), 1, 0)

    @pytest.mark.parametrize("rules", [ours.AS_MQSIM, ours.AS_SSDSIM], ids=["MQSim", "SSDsim"])
    def test_the_rules_of_a_peer_are_keys(self, rules: ours.Rules, tmp_path: Path) -> None:
        assert ours.simulate(SMALL, REQUESTS, rules, tmp_path).write is not None
        assert " --set engine.concurrency=chip" in ours.command(rules)


class TestPeersThatAreNotThere:
    def test_are_named_and_left_out(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        for peer in program.PEERS.values():
            monkeypatch.delenv(peer.VARIABLE, raising=False)
        assert program.available() == []
        said = capsys.readouterr().err
        assert "without MQSim; set MQSIM_DIR to the folder of a built github.com/CMU-SAFARI/MQSim" in said
        assert "without SSDsim; set SSDSIM_DIR" in said
        # What comes with a peer is missing without it, the rest is not.
        assert {each.name for each in scenarios.everything()}.isdisjoint({"wsrch", "tpcc", "example"})

    @pytest.mark.parametrize("peer", program.PEERS.values(), ids=program.PEERS)
    def test_or_not_built(self, peer: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv(peer.VARIABLE, str(tmp_path))  # type: ignore[attr-defined]
        with pytest.raises(PeerError, match="no such program; build"):
            peer.program()  # type: ignore[attr-defined]


class TestPeersThatAreThere:
    """A script stands in for each: it shows its input and leaves a peer's output."""

    def stand_in(self, folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{textwrap.dedent(script)}")
        path.chmod(0o755)
        monkeypatch.setenv(variable, str(folder))

    def test_mqsim(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        template = "".join(f"<{key}>old</{key}>" for key in mqsim.values(SMALL, {}))
        (tmp_path / "ssdconfig.xml").write_text(template)
        script = """\
            test "$1 $2 $3 $4" = "-i device.xml -w flow.xml" || exit 3
            test "$(head -1 requests.trace)" = "10000 0 0 8 1" || exit 4
            printf 'head\\n187\\t177\\t177\\n522\\t502\\t502\\n1030\\t1000\\t1000\\n' > flow.IO_Flow.No_0.log
            echo 'Issued_Flash_Program_CMD="1" Issued_Flash_Multiplane_Program_CMD="0"' > flow_scenario_1.xml
            echo 'Issued_Flash_Erase_CMD="0" Issued_Flash_Multiplane_Erase_CMD="0"' >> flow_scenario_1.xml
            """
        self.stand_in(tmp_path, "MQSim", script, monkeypatch, mqsim.VARIABLE)
        run = tmp_path / "run"
        run.mkdir()
        outcome = mqsim.simulate(SMALL, REQUESTS, {}, run)
        assert outcome == Outcome(Latency(2, 589.0, None), Latency(1, 502.5, None), 1, 0)

    def test_mqsim_says_that_something_is_wrong_and_ends_well(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        template = "".join(f"<{key}>old</{key}>" for key in mqsim.values(SMALL, {}))
        (tmp_path / "ssdconfig.xml").write_text(template)
        self.stand_in(tmp_path, "MQSim", "echo ERROR: no such file", monkeypatch, mqsim.VARIABLE)
        with pytest.raises(PeerError, match="MQSim: ERROR: no such file"):
            mqsim.simulate(SMALL, REQUESTS, {}, tmp_path)

    def test_ssdsim_fails(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.stand_in(tmp_path, "ssd", "kill -SEGV $$", monkeypatch, ssdsim.VARIABLE)
        with pytest.raises(PeerError, match="ended with status -11"):
            ssdsim.simulate(SMALL, REQUESTS, {}, tmp_path)


def run_of(mean_us: float, p99_us: float | None, erased: int = 0) -> dict[str, object]:
    return Outcome(None, Latency(2000, mean_us, p99_us), 3000, erased).as_dict()


TINY = {
    "scenarios": [
        {
            "name": "heavy-writes",
            "title": "writes",
            "light": False,
            "requests": {"read": 0, "write": 2000},
            "pages_written": 2000,
            "runs": {
                "flashtwin": run_of(500.0, 1000.0, 40),
                "MQSim": run_of(510.0, None, 41),
                "flashtwin as MQSim": run_of(509.0, 1001.0, 40),
                "SSDsim": run_of(100.0, 2000.0, 50),
                "flashtwin as SSDsim": run_of(101.0, 1000.0, 40),
            },
        },
        {
            "name": "light-writes",
            "title": "few writes",
            "light": True,
            "requests": {"read": 7, "write": 2000},
            "pages_written": 2000,
            "runs": {
                "flashtwin": run_of(500.0, 1000.0),
                "SSDsim": {"failed": "it fell over"},
                "flashtwin as SSDsim": run_of(101.0, 1000.0),
            },
        },
    ],
}


class TestTables:
    def test_response_times(self) -> None:
        head, rule, *rows = section.table(TINY).splitlines()
        assert head.count("|") == rule.count("|") == 10
        assert "| MQSim | flashtwin, MQSim's rules | off by | SSDsim |" in head
        assert rows == [
            "| writes | writes | 500.0 / 1,000 | 510.0 | 509.0 / 1,001 | -0.2 % "
            "| 100.0 / 2,000 | 101.0 / 1,000 | +1.0 % / -50.0 % d |",
            "| few writes | writes | 500.0 / 1,000 |  |  |  | fails | 101.0 / 1,000 |  |",
        ]

    def test_collection(self) -> None:
        assert section.collection_table(TINY).splitlines()[2:] == [
            "| writes | MQSim | 2,000 of 2,000 | 1.500 | 1.500 | +0.0 % | 41 | 40 | -2.4 % |",
            "| writes | SSDsim | 2,000 of 2,000 | 1.500 | 1.500 | +0.0 % | 50 | 40 | -20.0 % |",
        ]

    def test_the_section_stands_between_its_marks(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text(f"before\n{section.BEGIN}\nold\n{section.END}\nafter\n")
        section.put(page, DATA)
        text = page.read_text()
        assert text.startswith(f"before\n{section.BEGIN}\nThe same device")
        assert text.endswith(f"\n{section.END}\nafter\n")
        page.write_text("nothing")
        with pytest.raises(ValueError, match="no <!-- peers:begin -->"):
            section.put(page, DATA)


class TestData:
    """The measurements, and sentences about them."""

    def test_the_documentation_says_what_the_data_say(self) -> None:
        text = program.PAGE.read_text(encoding="utf-8")
        stands = text.partition(f"{section.BEGIN}\n")[2].partition(f"\n{section.END}")[0]
        assert stands == section.section(DATA), "run `python -m evidence.peers --docs`"

    def test_means_agree_at_light_load(self) -> None:
        found = section.light_cells(DATA)
        assert len(found) > 10
        assert [cell for cell in found if cell.off is None or abs(cell.off) > section.TOLERANCE] == []

    def test_every_larger_difference_has_its_rule(self) -> None:
        found = [cell for cell in section.cells(DATA) if not cell.agrees]
        assert found
        assert [cell for cell in found if not cell.letters()] == []

    def test_every_rule_is_shown(self) -> None:
        letters = [each["letter"] for each in section.differences()]
        assert letters == sorted(letters)
        assert {each["letter"] for each in DATA["experiments"]} == set(letters)
        for each in DATA["experiments"]:
            without = each["after"]["ours"] / each["after"]["peer"] - 1
            assert abs(without) <= section.TOLERANCE, each
            assert abs(without) <= abs(each["before"]["ours"] / each["before"]["peer"] - 1), each

    def test_data_match_todays_scenarios_and_experiments(self) -> None:
        names = {each["name"] for each in DATA["scenarios"]}
        assert {each.name for each in (*scenarios.loads(), *scenarios.shapes(), *scenarios.collection())} <= names
        shown = {(each["letter"], each["peer"], each["figure"]) for each in DATA["experiments"]}
        assert {(each.letter, each.peer, each.figure) for each in experiments.everything()} <= shown

    def test_flashtwin_serves_every_request(self) -> None:
        for scenario in DATA["scenarios"]:
            for name, run in scenario["runs"].items():
                if name.startswith("flashtwin"):
                    assert section.served(run) == section.asked(scenario), (scenario["name"], name)
