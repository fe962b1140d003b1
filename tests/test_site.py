"""The manual as a site: it builds without a warning about links, fetches nothing, and can be read."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

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


@pytest.mark.parametrize(
    ("name", "width", "dark"), [("index", 1400, False), ("comparison", 400, False), ("index", 1400, True)]
)
def test_a_page_can_be_read(name: str, width: int, dark: bool, site: Path, tmp_path: Path) -> None:
    """Fits the window, and text stands out from its background, on a desk, on a phone and in the dark."""
    page = (site / f"{name}.html").read_text(encoding="utf-8")
    probe = """<script>addEventListener("load", () => {
      const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map((x) => {
        const c = x / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const text = light(getComputedStyle(document.querySelector("article p")).color);
      const behind = light(getComputedStyle(document.body).backgroundColor);
      const contrast = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
      const fits = document.documentElement.scrollWidth <= innerWidth;
      document.title = `PROBE ${fits} ${contrast.toFixed(1)} ${behind < 0.2}`;
    });</script></body>"""
    copy = site / f"probe-{name}-{width}-{dark}.html"
    copy.write_text(page.replace("</body>", probe), encoding="utf-8")
    options = ["--virtual-time-budget=5000", *(["--blink-settings=preferredColorScheme=0"] if dark else [])]
    dump = chromium(copy, tmp_path / "none", tmp_path / "profile", *options, "--dump-dom", width=max(width, 500))
    found = re.search(r"PROBE (\w+) ([\d.]+) (\w+)", dump)
    assert found, "the page's load event did not come"
    assert (found[1], found[3]) == ("true", str(dark).lower())
    assert float(found[2]) > 7, "of WCAG 2.1, AAA"
    shot = tmp_path / "shot.png"
    chromium(copy, shot, tmp_path / "other", *options, f"--screenshot={shot}", width=width, height=1200)
    copy.unlink()
    assert all(band.std() > 0.01 for band in np.array_split(image.imread(shot)[:, :, :3], 3)), "blank somewhere"
