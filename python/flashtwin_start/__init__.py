"""The program `flashtwin`, from its first line on.

What the program is made of takes a tenth of a second to load, and Ctrl-C must be answered then as well. So this
is no part of the package `flashtwin`: importing any part of a package loads the package first.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line; returns its exit status."""
    try:
        from flashtwin.cli import run

        status = run(sys.argv[1:])
        import signal

        # All is done and said: an interrupt could only disturb how Python ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        # As the command line says it, of which nothing may be loaded.
        if sys.stderr is not None:
            sys.stderr.write("interrupted; no incomplete file was left\n")
        return 130
    return status
