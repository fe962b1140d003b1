"""Real bytes are served and recorded on Linux alone: the one place that asks whether the core can."""

from __future__ import annotations

import sys

from flashtwin import _core
from flashtwin.errors import LiveError

#: The system that this is, as people call it.
HERE = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)


def expect_linux(what: str) -> None:
    """Refuses functions that need Linux; `what` names the function."""
    if hasattr(_core, "Server"):
        return
    cure = "use WSL, or a Linux machine" if HERE == "Windows" else "use a Linux machine, or a virtual one"
    raise LiveError(f"{what} takes Linux: {HERE} lacks calls of the system that real bytes are kept with; {cure}")
