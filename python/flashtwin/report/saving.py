"""How a figure becomes files: the same figure gives the same bytes (no dates, a fixed salt), and text stays text."""

import io
import re
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from . import drawing, fitting, fonts, tips
from .colours import GRID, INK, MUTED, PAGE_PAIRS, SURFACE
from .declared import Frame, Medium

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
#: Dots an inch of a PNG, and of heat maps, which are pictures in all files.
PNG_DPI, HEAT_DPI = 250, 120

#: As an SVG names the fonts that it was laid out in.
_FAMILIES = re.compile(f"('{fonts.CUT}', )?'{fonts.WHOLE}'")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_PATH = re.compile(r' d="([^"]*)"')
_TAG = re.compile(r"<[^>]*>")
_TIP = re.compile(f'<g id="{tips.TIP}([^"]*)">')


def saved(frame: Frame | None, medium: Medium, *, page_only: bool) -> dict[str, str | bytes]:
    """The files of a chart on a medium, by what follows its name; for a page alone only the SVG."""
    if frame is None:
        return {}
    with drawing.styled(embedded=not page_only):
        fig = drawing.figure(frame)
        found: dict[str, str | bytes] = {f"{medium.suffix}.svg": svg(fig)}
        if not page_only:
            found[f"{medium.suffix}.pdf"] = pdf(fig)
            if not medium.suffix:
                found[".png"] = png(fig)
    return found


def svg(fig: Figure) -> str:
    """The figure as a stand-alone SVG document, in light colours, text kept as text."""
    buffer = io.StringIO()
    with drawing.styled():
        canvas: Any = FigureCanvasSVG(fig)  # its methods carry no types
        fitting.lay_out(fig)
        fig.set_dpi(HEAT_DPI)
        canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    text = re.sub(r"<!DOCTYPE.*?>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = _TIP.sub(r"<g><title>\1</title>", text)
    # A hundredth of a point is finer than any screen or printer.
    text = _TAG.sub(lambda tag: _NUMBER.sub(_hundredths, tag[0].replace(" \n", " ")), text)
    # Text was laid out in DejaVu Sans, which is wide: any system font fits in its place.
    return _FAMILIES.sub(FONT, text)


def _hundredths(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def pdf(fig: Figure) -> bytes:
    buffer = io.BytesIO()
    with drawing.styled():
        canvas: Any = FigureCanvasPdf(fig)
        fitting.lay_out(fig)
        fig.set_dpi(HEAT_DPI)
        canvas.print_pdf(buffer, metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return buffer.getvalue()


def png(fig: Figure, dpi: int = PNG_DPI) -> bytes:
    buffer = io.BytesIO()
    with drawing.styled():
        canvas: Any = FigureCanvasAgg(fig)
        fitting.lay_out(fig)
        fig.set_dpi(dpi)
        # Optimizing would take twice as long and save a fiftieth.
        canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def themed(document: str, name: str) -> str:
    """An SVG document made fit to stand inside the page: no prologue, unique ids, colours as CSS variables.

    `--c0`, `--c1`, ... are those of `PAGE_PAIRS`; the page's style sheet decides size and font.
    """
    body = document[document.index("<svg") :]
    body = body.replace(f" font-family: {FONT};", "")
    # What nothing refers to needs no name, nor a place.
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r">\s+<", "><", body)
    body = _PATH.sub(_without_letters, body)
    while "<g></g>" in body or "<g/>" in body:
        body = body.replace("<g/>", "").replace("<g></g>", "")
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    for colour, variable in ((INK, "ink"), (MUTED, "muted"), (GRID, "grid"), (SURFACE, "paper")):
        body = body.replace(colour, f"var(--{variable})")
    for place, (light, _) in enumerate(PAGE_PAIRS):
        body = body.replace(light, f"var(--c{place})")
    return body


def _without_letters(path: re.Match[str]) -> str:
    """A path of straight lines with one letter a stroke: what follows a place is a line to the next."""
    if not set(re.findall("[A-Za-z]", path[1])) <= {"M", "L"}:
        return path[0]
    places = re.sub(r"\s*L\s*", " ", path[1]).strip()
    return f' d="{places}"'
