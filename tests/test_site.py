"""The manual as a site: it builds without a warning, nothing in it leads nowhere or elsewhere, and it can be read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from matplotlib import image

import flashtwin as ft

from .browser import chromium
from .conftest import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Names(HTMLParser):
    """The names that a page has, and where its links and its parts lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.parts: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a":
            self.links += [found["href"]] if "href" in found else []
        else:
            self.parts += [found[name] for name in ("href", "src") if name in found]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Names]:
    return {page: Names(page) for page in site.rglob("*.html") if page.name != "404.html"}


def test_nothing_leads_nowhere(site: Path, pages: dict[Path, Names]) -> None:
    broken = []
    for page, found in pages.items():
        for link in [*found.links, *found.parts]:
            where = urlsplit(link)
            if where.scheme:
                continue
            target = (page.parent / unquote(where.path)).resolve() if where.path else page
            there = target.exists() and target.is_relative_to(site)
            named = not where.fragment or target not in pages or unquote(where.fragment) in pages[target].names
            broken += [] if there and (named or where.fragment == "__skip") else [f"{page.name}: {link}"]
    assert not broken


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Names]) -> None:
    fetched = [part for found in pages.values() for part in found.parts if urlsplit(part).scheme not in ("", "data")]
    assert not fetched
    styles = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert not re.findall(r"url\(['\"]?https?:|@import", styles)


def test_all_pages_are_ordered_and_all_public_names_listed(site: Path, pages: dict[Path, Names]) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    tabs = re.findall(r'class="md-tabs__link">\s*(.*?)\s*</a>', home)
    assert [tab for tab in tabs if tab] == [
        "The manual", "Start", "Guides", "Reference", "How it works", "Evidence",
    ]  # fmt: skip
    names = pages[site / "api.html"].names
    assert [name for name in ft.__all__ if name != "__version__" and f"flashtwin.{name}" not in names] == []
    text = (site / "api.html").read_text(encoding="utf-8")
    assert text.count(">&gt;&gt;&gt; <") > 10, "examples are blocks of code"


def test_tables_of_figures_can_be_had_as_files(site: Path) -> None:
    made = {path.name for path in (ROOT / "docs" / "evidence").glob("*.json")}
    assert made <= {path.name for path in (site / "evidence").iterdir()}


def test_the_search_works_from_the_file_system(site: Path, tmp_path: Path) -> None:
    address = f"{(site / 'index.html').as_uri()}?q=hash+unit"
    dump = chromium(address, tmp_path / "none", tmp_path / "profile", "--virtual-time-budget=10000", "--dump-dom")
    assert re.search(r"[1-9]\d* matching documents", dump)
    found = set(re.findall(r'href="[^"]*?([a-z-]+\.html)\?h=[^"]*" class="md-search-result__link"', dump))
    assert {"results.html", "model.html"} <= found


@pytest.mark.parametrize("name", ["index", "comparison"])
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (400, False), (1400, True)])
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
