"""Result folders for the report's tests, made once a session because replays and drawings take seconds."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import tiny

from flashtwin import report


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of the four systems, without a report; do not write to it."""
    return tiny.write_study(tmp_path_factory.mktemp("four") / "study", explained=True)


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same systems with another trace and another drive: all figures differ from those of `four`."""
    return tiny.write_study(
        tmp_path_factory.mktemp("other") / "study",
        {name: tiny.system(name, nand__channels=2, nand__pages_per_block=32) for name in tiny.FOUR},
        explained=True, requests=2000, read_share=0.7, periods=5, seed=8,
    )  # fmt: skip


@pytest.fixture(scope="session")
def unlike(four: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of systems that differ in more than their design, for all parts that a page may have; only to read."""
    folder = Path(shutil.copytree(four, tmp_path_factory.mktemp("unlike") / "study"))
    for key, value in (("write_completes", "buffered"), ("concurrency", "chip"), ("hash_lanes", 64)):
        tiny.edit_summary(folder, "rr-ssd", lambda s, key=key, value=value: s["config"]["engine"].update({key: value}))
    return folder


@pytest.fixture(scope="session")
def built(unlike: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLASHTWIN_CHARTS", "page")
        return report.build(unlike, out=tmp_path_factory.mktemp("built")).parent


@pytest.fixture
def study(four: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(four, tmp_path / "study"))


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """Makes a study as `tiny.write_study` does, in a folder of its own, which a test may change."""
    places = iter(range(99))
    return lambda *args, **kwargs: tiny.write_study(tmp_path / f"made{next(places)}", *args, **kwargs)
