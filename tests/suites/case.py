"""A case of a suite, and what the suites share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ..live.serving import run

SYSTEMS = ("ca-ssd", "rr-ssd", "ds-ftl", "conventional")


class Case(NamedTuple):
    """One program of a suite on one system: an error is a failure, a skip of pytest is one."""

    name: str
    run: Callable[[], object]


def source(variable: str, repository: str, file: str) -> Path:
    """The clone of a suite, which a variable of the environment names; skips the suite without it."""
    folder = Path(os.environ.get(variable) or "/nowhere")
    if not (folder / file).exists():
        pytest.skip(f"{variable}=DIR names no clone of {repository} with {file}")
    return folder


def git_version(folder: Path) -> str:
    return run("git", "-c", "safe.directory=*", "-C", folder, "log", "-1", "--format=%cs-%h").strip()
