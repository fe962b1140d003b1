"""Counters of host and medium from each way in which nvme-cli prints them."""

from pathlib import Path

import pytest

from flashtwin.drives.counters import parsed, written
from flashtwin.errors import DriveError

SMART_TEXT = """Smart Log for NVME device:nvme1n1 namespace-id:ffffffff
critical_warning                    : 0
data_units_read                     : 203,913,228
data_units_written                  : 64,663,716
host_read_commands                  : 7,207,810,975
"""
NEWER_TEXT = """Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
Data Units Read                         : 10 (5.12 MB)
Data Units Written                      : 64663716 (33.11 TB)
"""
OCP_TEXT = """SMART Cloud Attributes :-
  Physical media units written -   \t        1 2068700589752320
  Physical media units read    -   \t        0 17
"""


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [
        (SMART_TEXT, "smart", 64_663_716 * 512_000),
        (NEWER_TEXT, "smart", 64_663_716 * 512_000),
        ('{"data_units_written": 464403132, "data_units_read": 1}', "smart", 464_403_132 * 512_000),
        ('{"data_units_written": "464403132"}', "smart", 464_403_132 * 512_000),
        (OCP_TEXT, "ocp", (1 << 64) + 2_068_700_589_752_320),
        ("Data Units Written : 64.663.716 (33,11 TB)", "smart", 64_663_716 * 512_000),
        ("Data Units Written : 64 663 716 (33,11 TB)", "smart", 64_663_716 * 512_000),
        ("Data Units Written : 64\u202f663\u202f716", "smart", 64_663_716 * 512_000),
        ("Data Units Written : 6,46,63,716 [33.1 TB]", "smart", 64_663_716 * 512_000),
        ("Data Units Written : 0x3dab424", "smart", 0x3DAB424 * 512_000),
        ('{"nvme_smart_health_information_log": {"data_units_written": 5}}', "smart", 5 * 512_000),
        ('{"Host Bytes Written": "0x75980000000"}', "smart", 8_080_980_967_424),
        ('{"Physical Media Units Written": {"hi": "0x1", "lo": "0x93a"}}', "ocp", (1 << 64) + 0x93A),
        ('{"log": {"nand_bytes_written": {"normalized": 100, "raw": 3}}}', "ocp", 3 << 25),
        ("Physical Media Units Written                 : 1,234,567", "ocp", 1_234_567),
        ("  Physical media units written\t\t\t: 1234567", "ocp", 1_234_567),
        ('{"Physical media units written": {"hi": 2, "lo": 5}}', "ocp", (2 << 64) + 5),
        ('{"physical_media_units_written": {"hi": 0, "lo": 5}}', "ocp", 5),
    ],
)
def test_each_way_of_printing_is_read(text: str, kind: str, count: int) -> None:
    assert parsed(text, kind, "x") == count


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('{"data_units_wri', "smart", "the JSON is cut or damaged.*nvme smart-log"),
        ("[" * 100_000, "smart", "the JSON is cut or damaged"),
        ("", "ocp", "not an OCP log.*nvme ocp smart-add-log"),
        ('{"data_units_written": -1}', "smart", "data_units_written is '-1': a whole number is expected"),
        ('{"data_units_written": 1e400}', "smart", "a whole number is expected"),
        ('{"Physical media units written": {"hi": 0}}', "ocp", "a whole number is expected"),
        ("Physical media units written : many", "ocp", "is 'many': a whole number is expected"),
        ('[{"data_units_written": 5}]', "smart", "not a SMART log"),
        ('{"data_units_written": 64.66}', "smart", "data_units_written is '64.66': a whole number.*LC_ALL=C nvme"),
        ("Data Units Written : 64.66 M", "smart", "is '64.66 M': a whole number is expected"),
        ("Data Units Written : -5", "smart", "a whole number is expected"),
    ],
)
def test_a_log_that_cannot_be_read_says_the_command(text: str, kind: str, message: str) -> None:
    with pytest.raises(DriveError, match=message):
        parsed(text, kind, "x")


def log(folder: Path, moment: str, count: int) -> None:
    (folder / f"job.{moment}.smart.json").write_text(f'{{"data_units_written": {count}}}')


def test_a_counter_moves_forward_and_is_read_twice(tmp_path: Path) -> None:
    assert written(tmp_path, "job", "smart") is None
    log(tmp_path, "before", 10)
    with pytest.raises(DriveError, match=r"job\.json: the counter of the host's bytes after the job is missing"):
        written(tmp_path, "job", "smart")
    log(tmp_path, "after", 6)
    with pytest.raises(DriveError, match="host's bytes goes backwards, from 5,120,000 to 3,072,000"):
        written(tmp_path, "job", "smart")
    log(tmp_path, "after", 12)
    (tmp_path / "job.before.ocp.txt").write_text(OCP_TEXT)
    (tmp_path / "job.after.ocp.txt").write_text(OCP_TEXT.replace("2320", "2325"))
    assert written(tmp_path, "job", "smart") == 2 * 512_000
    assert written(tmp_path, "job", "ocp") == 5
