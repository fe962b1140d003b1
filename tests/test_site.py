"""The manual as a site: it builds without a warning about links, fetches nothing, and can be read."""

import os
import re
import sys
from pathlib import Path

import pytest

import flashtwin as ft

from .browser import chromium
from .conftest import ROOT, finished


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    quiet = {"cwd": ROOT, "env": {**os.environ, "NO_MKDOCS_2_WARNING": "1"}}
    done = finished(sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder, **quiet)
    assert done.status == 0, done.out + done.err
    return folder


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        parts = re.findall(r'<(?!a )[^>]*?(?:src|href)="(https?:[^"]*)"', page.read_text(encoding="utf-8"))
        assert not parts, page.name
    styles = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert not re.findall(r"url\(['\"]?https?:|@import", styles)


def test_all_public_names_and_records_are_there(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    assert [name for name in ft.__all__ if name != "__version__" and f'id="flashtwin.{name}"' not in text] == []
    assert text.count(">&gt;&gt;&gt; <") > 10, "examples are blocks of code"
    made = {path.name for path in (ROOT / "docs" / "evidence").glob("*.json")}
    assert made <= {path.name for path in (site / "evidence").iterdir()}


def test_the_search_works_from_the_file_system(site: Path, tmp_path: Path) -> None:
    address = f"{(site / 'index.html').as_uri()}?q=hash+unit"
    dump = chromium(address, tmp_path / "none", tmp_path / "profile", "--virtual-time-budget=10000", "--dump-dom")
    assert re.search(r"[1-9]\d* matching documents", dump)
    found = set(re.findall(r'href="[^"]*?([a-z-]+\.html)\?h=[^"]*" class="md-search-result__link"', dump))
    assert {"results.html", "model.html"} <= found
