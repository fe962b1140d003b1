"""Addresses beside those that fio writes."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from flashtwin.drives.patterns import Pattern
from flashtwin.errors import DriveError

MIB, BLOCK = 1 << 20, 4096


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize(("exponent", "size_mib"), [(0.8, 60), (0.8, 64), (1.2, 60)])
def test_addresses_are_spread_and_as_popular_as_those_of_fio(exponent: float, size_mib: int, tmp_path: Path) -> None:
    asked = {
        "name": "z", "ioengine": "null", "rw": "randwrite", "bs": BLOCK, "filesize": f"{size_mib}m",
        "size": f"{size_mib}m", "io_size": f"{10 * size_mib}m", "random_distribution": f"zipf:{exponent}",
        "norandommap": 1, "write_iolog": "log",
    }  # fmt: skip
    subprocess.run(["fio", *(f"--{key}={value}" for key, value in asked.items())], cwd=tmp_path, check=True,
                   capture_output=True)  # fmt: skip
    lines = (line.split() for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines())
    fio = np.array([int(line[3]) // BLOCK for line in lines if len(line) > 3 and line[2] == "write"])
    pages = size_mib * MIB // BLOCK
    ours = Pattern("fiozipf", exponent=exponent).addresses(pages, fio.size, np.random.default_rng(0))
    first, second = (np.bincount(drawn, minlength=pages) for drawn in (fio, ours))
    assert (first > 0).mean() == pytest.approx((second > 0).mean(), rel=0.02)
    for many in (1, 10, 100, 1000):
        shares = (np.sort(counts)[::-1][:many].sum() / fio.size for counts in (first, second))
        assert next(shares) == pytest.approx(next(shares), rel=0.03)
    # fio begins anywhere; from there on hot addresses lie as ours do.
    apart = (np.argsort(-first)[:4] - np.argsort(-second)[:4]) % pages
    assert len(set(apart)) == 1


@pytest.mark.parametrize(
    ("pattern", "details"),
    [
        ("uniform", ""),
        ("sequential-shuffle", ""),
        ("zipf-shuffle", "0.8"),
        ("zns", ""),
        ("fiozipf", "1.2"),
        ("zones", "s0.2 f0 s0.8 f1"),
    ],
)
def test_a_pattern_is_read_as_it_is_written(pattern: str, details: str) -> None:
    found = Pattern.read(pattern, details)
    assert (found.name, found.details) == (pattern, details)


def test_fio_has_no_exponent_of_one() -> None:
    with pytest.raises(DriveError, match="fio has no exponent of 1"):
        Pattern.read("fiozipf", "1.0")


@pytest.mark.parametrize("exponent", [0.2, 0.8, 1.0, 1.2])
def test_the_first_groups_are_as_popular_as_their_ranks(exponent: float) -> None:
    """On the 20 pages that stand for 40,000 ranks, beside a sum over all of them."""
    weights = np.arange(1, 40_001, dtype=float) ** -exponent
    known = weights.reshape(20, -1).sum(axis=1) / weights.sum()
    drawn = Pattern("zipf", exponent=exponent).addresses(20, 400_000, np.random.default_rng(1), ranks=40_000)
    assert np.bincount(drawn, minlength=20) / drawn.size == pytest.approx(known, abs=0.003)


def test_the_first_page_of_fio_stands_for_its_ranks() -> None:
    weights = np.arange(1, 4_000_001, dtype=float) ** -0.8
    drawn = Pattern("fiozipf", exponent=0.8).addresses(4000, 400_000, np.random.default_rng(1), ranks=4_000_000)
    first = np.bincount(drawn).max() / drawn.size
    assert first == pytest.approx(weights[:1000].sum() / weights.sum(), rel=0.03)
