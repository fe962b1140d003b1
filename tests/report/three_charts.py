"""Draws a heat map, bars and curves of a study in all their files, for tests of bytes: `three_charts.py STUDY OUT`."""

import os
import sys
from pathlib import Path

from flashtwin.report import files, page, rendering
from flashtwin.results import names
from flashtwin.results.reading import load

THREE = ("queues", "response", "requests")


def draw(study: Path, out: Path) -> Path:
    os.environ[rendering.VARIABLE] = "files"
    results = load(study)
    rendered = [rendering.render(chart, results) for chart in page.charts(results) if chart.name in THREE]
    files.make_folder(out / names.CHARTS)
    rendering.write(out, rendered)
    files.write(out / names.REPORT, page.page(results, rendered))
    return out


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
    assert "matplotlib.pyplot" not in sys.modules
