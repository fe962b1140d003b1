"""Result folders for the report's tests, made up once a session because drawing takes seconds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic

from flashtwin import report


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of the four systems, without a report; do not write to it."""
    return synthetic.write_study(tmp_path_factory.mktemp("four"))


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of four systems of the same names, all figures of which differ from those of `four`."""
    return synthetic.write_study(
        tmp_path_factory.mktemp("other"), synthetic.OTHER_FOUR, requests=90_000, read_share=0.7, periods=5, seed=8
    )


@pytest.fixture(scope="session")
def built(four: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report of `four`."""
    return report.build(four, out=tmp_path_factory.mktemp("built")).parent


@pytest.fixture
def study(four: Path, tmp_path: Path) -> Path:
    """A copy of `four` that a test may change."""
    return Path(shutil.copytree(four, tmp_path / "study"))


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """Makes a study as `synthetic.write_study` does, in a folder of its own."""
    return lambda *args, **kwargs: synthetic.write_study(tmp_path / "made", *args, **kwargs)
