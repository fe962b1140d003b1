"""Where things are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The measurements, one file a stage; part of the project.
DATA = ROOT / "docs" / "evidence"
#: Every replay as it was made, so that an interrupted run goes on; may be deleted at any time.
SCRATCH = ROOT / "out" / "evidence"
#: Pages with figures, as templates.
PAGES = Path(__file__).resolve().parent / "pages"
