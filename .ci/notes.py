"""Prints the changelog's section of a version, for the page of a release: `python .ci/notes.py v0.2.0`.

Refuses a tag that is not the version of Cargo.toml, so that no release has another number than its program.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Links of the changelog lead to pages of the repository as it was when it was tagged.
PAGE = re.compile(r"\]\((?!https?:)([^)]+)\)")


def notes(tag: str, changelog: str, manifest: str, address: str = "") -> str:
    version = tomllib.loads(manifest)["workspace"]["package"]["version"]
    if tag != f"v{version}":
        raise SystemExit(f"error: tag '{tag}' is not 'v{version}', the version of Cargo.toml")
    found = re.search(rf"^## \[{re.escape(version)}\] - .*?\n(.*?)(?=^## \[|\Z)", changelog, re.DOTALL | re.MULTILINE)
    if found is None or not found[1].strip():
        raise SystemExit(f"error: CHANGELOG.md has nothing under '## [{version}] - DATE'; write it before the tag")
    return PAGE.sub(rf"]({address}\1)", found[1].strip()) + "\n"


if __name__ == "__main__":
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "Cargo.toml")]
    print(notes(sys.argv[1], *texts, *sys.argv[2:]), end="")
