"""Pages are looked at in a real browser, where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def chromium(file: Path | str, shot: Path, scratch: Path, *more: str, width: int = 1280, height: int = 2400) -> str:
    """A screenshot of a page, a file or an address, in a headless browser; returns what the browser logged."""
    program = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.skip("no chromium on this machine: the page cannot be looked at")
    done = subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={scratch}",
            f"--window-size={width},{height}",
            *more,
            file if isinstance(file, str) else file.as_uri(),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    (shot.parent / "log").write_text(done.stderr)
    return done.stderr + done.stdout
