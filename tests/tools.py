"""Programs of others that tests need. `python3 tests/tools.py` prints the Debian packages of those that are missing."""

import os
import shutil
import tomllib
from pathlib import Path

#: Program -> Debian package.
TOOLS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: Other names of a program. PostgreSQL's own programs are not on PATH on Debian, so `pg_config` stands for them.
OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome"), "pg_config": ("pg_ctlcluster",)}


def path_of(name: str) -> str | None:
    """The program's path, or `None` if it is not installed."""
    assert name in TOOLS, f"{name} is not in tests/tools.toml"
    return next((path for called in (name, *OTHER_NAMES.get(name, ())) if (path := shutil.which(called))), None)


def missing(*names: str) -> list[str]:
    """Those of `names` that are not installed, as a reason names them: `nbdsh (apt install python3-libnbd)`."""
    return [f"{name} (apt install {TOOLS[name]})" for name in names if path_of(name) is None]


def need(*names: str) -> None:
    """Skips the test, or the file at import, if a program is missing. With FLASHTWIN_NO_SKIPS, as in CI, it fails."""
    import pytest  # `.ci/run` calls this file before anything is installed

    if absent := missing(*names):
        reason = f"not installed: {', '.join(absent)}"
        if os.environ.get("FLASHTWIN_NO_SKIPS"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason, allow_module_level=True)


if __name__ == "__main__":
    print(*sorted({TOOLS[name] for name in TOOLS if path_of(name) is None}))  # noqa: T201
