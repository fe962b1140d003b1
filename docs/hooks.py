"""What the site adds to the pages as they are: those that lie elsewhere or are made of the code.

Hooks of MkDocs (mkdocs.yml), called by name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent

# What `import flashtwin` offers, by noun.
API = {
    "Traces": ("open", "Trace", "scan", "Scan"),
    "Characterization": (
        "characterize", "Characterization", "Verdict", "characterize_many", "Batch", "options_schema",
    ),
    "Replays": ("replay", "Result", "compare", "Comparison", "study", "Study", "sweep", "Sweep"),
    "Causes": ("explain", "Explanation", "Explanations"),
    "Systems and devices": ("System", "system", "systems", "system_toml", "devices", "device_toml", "config_schema"),
    "Workloads": ("workloads", "workload", "Workload", "synthesize", "imitate", "Imitation", "recipe_schema"),
    "Twins of drives": ("fit_drive", "DriveFit"),
    "Recording": ("record", "Server", "import_log", "recover"),
    "Drives of real bytes": ("serve", "drive_info", "check_drive", "drive_system", "compare_drive"),
    "Reproduction": ("reproduce",),
    "Errors": (
        "FlashtwinError", "ConfigError", "TraceError", "SimError", "OutputError", "ReportError", "LiveError",
        "ArgumentError", "InternalError",
    ),
}  # fmt: skip


def api_page() -> str:
    """The reference of the Python package, from its docstrings."""
    parts = [
        "# Python API",
        "",
        "Everything that `import flashtwin` offers, from its docstrings; [Python](python.md) shows it at work.",
    ]
    for noun, names in API.items():
        parts += ["", f"## {noun}", ""]
        parts += [line for name in names for line in (f"::: flashtwin.{name}", "")]
    return "\n".join(parts)


def contributing_page() -> str:
    """CONTRIBUTING.md, whose links to the manual are the site's own."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.sub(r"\]\(docs/", "](", text)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that do not lie in docs/."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "api.md", content=api_page()))
    files.append(File.generated(config, "contributing.md", content=contributing_page()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leads links out of docs/ to the site's own pages."""
    # A page that begins with a comment would have no title.
    markdown = re.sub(r"\A<!--.*?-->\s*", "", markdown, flags=re.DOTALL)
    return markdown.replace("](../CONTRIBUTING.md", "](contributing.md")
