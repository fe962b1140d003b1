"""The copy of the sources that is changed; the sources themselves never are."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

#: Where the copies and what is built from them are.
WORK = Path("target") / "mutants"
SWITCH = Path(__file__).with_name("switch.rs")


def copy(root: Path, to: Path, changed: Mapping[str, bytes], *, switched: bool = True) -> None:
    """Makes `to` what git knows of `root`, as it is in the working tree, with the texts of `changed` files.

    A file that is as it was keeps its time, so that cargo builds only what has changed.
    """
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    texts = {name: path for name in names if name and (path := root / name).is_file()}
    more = with_switch(root) if switched else {}
    wanted = texts.keys() | more.keys()
    for name in wanted:
        text = more.get(name) or changed.get(name)
        put(to / name, text if text is not None else texts[name].read_bytes())
    for path in [path for path in to.rglob("*") if path.is_file()]:
        if str(path.relative_to(to)) not in wanted:
            path.unlink()


def with_switch(root: Path) -> dict[str, bytes]:
    """The files of the crate that all others depend on, with the switch in it."""
    library = "crates/bits/src/lib.rs"
    module = b"\n/// Which change is active.\npub mod mutant;\n"
    return {library: (root / library).read_bytes() + module, "crates/bits/src/mutant.rs": SWITCH.read_bytes()}


def put(path: Path, text: bytes) -> None:
    """Writes a file unless it says so already."""
    if path.is_file() and path.read_bytes() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
