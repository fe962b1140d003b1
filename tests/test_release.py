"""What a release states agrees: its number, its notes, the Pythons that it is tested on, the actions that make it."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import flashtwin as ft

from .conftest import ROOT

MANIFEST = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def said(file: str, pattern: str) -> list[str]:
    return re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_one_version_everywhere() -> None:
    version = tomllib.loads(MANIFEST)["workspace"]["package"]["version"]
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    assert {one["version"] for one in locked if one["name"].startswith("flashtwin")} == {version}
    assert ft.__version__ == version, "build the core again: make build"
    [(number, date)] = re.findall(r"\A.*?^## \[(\d[^]]*)\] - (.*?)$", CHANGELOG, re.DOTALL | re.MULTILINE)
    assert (number, date) == (version, said("CITATION.cff", r"^date-released: (.*)$")[0])
    assert said("CITATION.cff", r"^version: (.*)$") == [version]


def test_pythons_are_those_that_are_tested() -> None:
    (matrix,) = said(".github/workflows/ci.yml", r"^ +python: \[(.*)\]$")
    tested = ["3.11", *re.findall(r'"([\d.]+)"', matrix)]
    named = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in PROJECT["classifiers"]]
    assert [one[1] for one in named if one] == tested
    assert PROJECT["requires-python"] == f">={tested[0]}"
    assert said("Containerfile", r"/python:([\d.]+)-slim")[0] in tested


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    uses = re.findall(r"uses: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    for one in uses:
        assert re.fullmatch(r"\S+@[0-9a-f]{40} # .+|\./\.github/workflows/\w+\.yml", one), one


@pytest.fixture(scope="module")
def notes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notes", ROOT / ".ci" / "notes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notes_are_the_section_of_the_tag(notes: ModuleType) -> None:
    manifest = '[workspace.package]\nversion = "1.2.0"\n'
    text = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2027-01-01\n\n[New](docs/new.md), [site](https://a/)\n"
    old = "\n## [1.1.0] - 2026-01-01\n\nOld\n"
    assert notes.notes("v1.2.0", text + old, manifest, "https://at/") == (
        "[New](https://at/docs/new.md), [site](https://a/)\n"
    )
    with pytest.raises(SystemExit, match=r"tag 'v1\.1\.0' is not 'v1\.2\.0'"):
        notes.notes("v1.1.0", text + old, manifest)
    with pytest.raises(SystemExit, match="has nothing under"):
        notes.notes("v1.2.0", "# Changelog\n" + old, manifest)
    assert len(notes.notes("v" + tomllib.loads(MANIFEST)["workspace"]["package"]["version"], CHANGELOG, MANIFEST)) > 500
