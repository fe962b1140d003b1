"""Hooks of MkDocs (mkdocs.yml), called by name: CONTRIBUTING.md becomes a page, links out of docs/ lead to the site."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds CONTRIBUTING.md, whose links to the manual become the site's own."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "contributing.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leads links out of docs/ to the site's own pages."""
    # A page that begins with a comment would have no title.
    markdown = re.sub(r"\A<!--.*?-->\s*", "", markdown, flags=re.DOTALL)
    return markdown.replace("](../CONTRIBUTING.md", "](contributing.md")
