"""Every way of giving flashtwin something wrong: exit 2, one message with place and cure, nothing left."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Cli, Outcome, fiu, fiu_trace, peak_mib

NEGATIVE = "50000000 1 p 0 -8 W 8 0 " + "0" * 32


def lines(*extra: str, at: int = 500) -> bytes:
    good = fiu_trace(1000).splitlines()
    return ("\n".join([*good[:at], *extra, *good[at:]]) + "\n").encode()


def truncated_gzip() -> bytes:
    packed = gzip.compress(fiu_trace(5000).encode(), mtime=0)
    return packed[: len(packed) // 2]


def backwards() -> bytes:
    """The last request but one an hour before the first ones: no sorting window reaches that far."""
    start = 10**13
    *good, last = ((start + number * 10**6, number, "W", number) for number in range(300_001))
    return fiu([*good, (start - 3600 * 10**9, 0, "W", 1), last]).encode()


ONE_DIE = ("channels=1", "chips_per_channel=1", "dies_per_chip=1", "planes_per_die=1")
TINY_DEVICE = tuple(f"--set={key}" for key in (*ONE_DIE, "blocks_per_plane=8", "pages_per_block=16"))

MSR = "".join(f"12816637200306162{n:02},hm,0,{'Write' if n % 2 else 'Read'},{n * 4096},4096,100\n" for n in range(100))

#: How each is made, the words of the complaint, and options of the replay.
BAD_TRACES: dict[str, tuple[Callable[[], bytes], tuple[str, ...], tuple[str, ...]]] = {
    "truncated-gzip": (truncated_gzip, ("bad.trace", "gzip"), ()),
    "negative-size": (lambda: lines(NEGATIVE), ("bad.trace:501", "-8", "--on-bad-line"), ()),
    "backwards": (backwards, ("bad.trace", "300001", "sort"), ()),
    "empty": (lambda: b"", ("bad.trace", "empty"), ()),
    "no-content": (MSR.encode, ("content", "--content unique", "conventional"), ()),
    "device-too-small": (
        lambda: fiu_trace(1000, footprint=800).encode(), ("footprint", "pages", "nand.blocks_per_plane"), TINY_DEVICE
    ),
}  # fmt: skip


def complains(done: Outcome, *words: str) -> None:
    err = done.err
    assert done.status == 2, err
    assert "Traceback" not in err
    assert "panicked" not in err
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, err
    for word in words:
        assert word in errors[0], f"{word!r} is missing in {errors[0]!r}"


@pytest.mark.parametrize("case", BAD_TRACES)
def test_replay_refuses(case: str, cli: Cli, tmp_path: Path) -> None:
    make, words, options = BAD_TRACES[case]
    trace = tmp_path / "bad.trace"
    trace.write_bytes(make())
    done = cli("replay", trace, "--system", "rr-ssd", *options, "--out", "results")
    complains(done, *words)
    assert done.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.trace"]


def test_bad_lines_can_be_skipped_and_are_counted(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.trace").write_bytes(lines(NEGATIVE))
    done = cli("trace", "info", "bad.trace", "--on-bad-line", "skip", "--json", status=0)
    assert '"bad_lines_skipped": 1' in done.out


def test_the_window_for_sorting_can_be_widened(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.trace").write_bytes(backwards())
    done = cli("trace", "info", "bad.trace", "--sort-window", "2h", "--json", status=0)
    assert '"reordered_requests": 1' in done.out


def huge_requests(requests: int) -> str:
    return "".join(
        f"{128166372000000000 + n * 10_000},hm,0,{'Write' if n % 2 else 'Read'},{n << 32},{(1 << 32) - 4096},100\n"
        for n in range(requests)
    )


@pytest.mark.parametrize("requests", [65, 4097])
def test_a_few_lines_of_gigabytes_do_not_take_gigabytes(requests: int, tmp_path: Path) -> None:
    (tmp_path / "huge.csv").write_text(huge_requests(requests))
    done, peak = peak_mib(tmp_path, "trace", "info", "huge.csv", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["footprint_pages"] == requests * ((1 << 20) - 1)
    assert peak < 400
    for arguments, word in (
        (("replay", "huge.csv", "--system", "conventional"), "page operations"),
        (("trace", "sample", "huge.csv", "x.parquet", "--rate", "0.5"), "lower rate"),
    ):
        done, peak = peak_mib(tmp_path, *arguments)
        complains(done, "huge", word)
        assert peak < 1500
    assert [path.name for path in tmp_path.iterdir()] == ["huge.csv"]


def test_as_much_memory_as_is_allowed_is_taken(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(huge_requests(1))
    brief = ("--no-report", "--set=other_page_bytes=[]", "--set=time_max=1", "--set=partitions=1", "--op", "7")
    refused = cli("characterize", "long.csv", *brief, "--set", "memory_gb=0.01")
    complains(refused, "9.5 MiB is allowed", "--set memory_gb=1")
    cli("characterize", "long.csv", *brief, "--set", "memory_gb=1", "--out", "out", status=0)


def test_no_such_trace(cli: Cli, tmp_path: Path) -> None:
    complains(cli("study", "nowhere.fiu"), "nowhere.fiu", "no such file")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["study", "compare", "replay"])
def test_unwritable_folder_is_refused_before_the_work(verb: str, cli: Cli, tmp_path: Path, small_trace: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    system = ("--system", "conventional") if verb == "replay" else ("--systems", "conventional")
    complains(cli(verb, small_trace, *system, "--out", "file/results"), "file/results", "choose another folder")


@pytest.mark.parametrize("verb", ["study", "characterize"])
def test_a_folder_of_something_else_is_left_alone(verb: str, cli: Cli, tmp_path: Path, small_trace: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years of work")
    complains(cli(verb, small_trace, "--out", "thesis"), "thesis", "chapter1.tex", "empty folder")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter1.tex"]


def test_convert_does_not_overwrite(cli: Cli, tmp_path: Path, small_trace: Path) -> None:
    (tmp_path / "out.parquet").write_text("precious")
    complains(cli("trace", "convert", small_trace, "out.parquet"), "out.parquet", "--force")
    assert (tmp_path / "out.parquet").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("replay", "x", "--system", "rr-ssd", "--sett", "a=1"), ("--sett", "--set")),
        (("replay", "x", "--system", "rr-ssd", "--set", "alpha"), ("alpha", "key=value")),
        (("replay", "x"), ("--system",)),
        (("compare", "x", "--systems", "rr-ssd,rr-ssd"), ("rr-ssd", "twice")),
        (("study", "x", "--period", "fortnight"), ("fortnight", "1d")),
        (("systems", "nothing-like-it"), ("nothing-like-it", "conventional")),
        (("devices", "nothing-like-it"), ("nothing-like-it", "rr-ssd")),
        (("devices", "nowhere.toml"), ("nowhere.toml",)),
        (("systems", "rr-ssd", "--set", "hash_lanes=1_000_000_000_000"), ("engine.hash_lanes", "from 0 to 65536")),
        (("report", "nowhere"), ("nowhere", "no such folder")),
        (("trace", "fit", "x"), ("`flashtwin trace imitate`",)),
        (("trace", "sample", "x", "out.parquet", "--rate", "0"), ("--rate", "0 is not in the range 0<x<=1")),
        (("trace", "sample", "x", "out.parquet", "--rate", "1.5"), ("--rate", "1.5 is not in the range 0<x<=1")),
        (("trace", "sample", "x", "out.parquet", "--rate", "much"), ("--rate", "'much'")),
        (("characterize", "."), ("no trace",)),
        (("advise", "."), ("characterization.json",)),
        (("characterize", "nowhere.fiu"), ("nowhere.fiu", "no such file")),
        (("characterize", "a.fiu", "b.fiu"), ("a.fiu", "no such file or folder")),
        (("characterize", "x", "--sample", "0"), ("--sample",)),
        (("characterize", "x", "--partitions", "1,two"), ("1,two", "1,4,8")),
        (("characterize", "x", "--partitions", "0"), ("whole numbers",)),
        (("characterize", "x", "--page-bytes", "5000"), ("5000", "power of two")),
        (("characterize", "x", "--op", "7.5"), ("7.5",)),
        (("characterize", "x", "--op", "2000"), ("over_provisioning_percent", "from 1 to 1000")),
        (("characterize", "x", "--set", "frequency_ratio=2"), ("frequency_ratio", "wa.frequency_ratios")),
        (("characterize", "x", "--set", "frequency_ratios=0.5"), ("frequency_ratios", "from 1 to 1000000")),
        (("characterize", "x", "--set", "time_max=0"), ("locality.time_max", "from 1 to 65536")),
        (("advise", "x", "--set", "distance_max=far"), ("locality.distance_max", "far", "from 0 to 16384")),
        (("characterize", "x", "--set", "distance_max=16384", "--set", "time_max=65536"), ("1073807360 cells",)),
        (("characterize",), ("TRACE",)),
        (("advise", "nowhere.fiu"), ("nowhere.fiu", "no such file")),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: tuple[str, ...], cli: Cli, tmp_path: Path) -> None:
    complains(cli(*arguments), *words)
    assert not list(tmp_path.iterdir())
