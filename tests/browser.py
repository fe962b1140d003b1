"""Pages are looked at in a real browser, where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

_QUIETLY = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
)  # fmt: skip


def chromium(file: Path | str, shot: Path, scratch: Path, *more: str, width: int = 1280, height: int = 2400) -> str:
    """A screenshot of a page, a file or an address, in a headless browser; returns the browser's log."""
    program = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.skip("no chromium on this machine: the page cannot be looked at")
    address = file if isinstance(file, str) else file.as_uri()
    size = (f"--user-data-dir={scratch}", f"--window-size={width},{height}")
    done = subprocess.run(
        [program, *_QUIETLY, *size, *more, address], check=True, capture_output=True, text=True, timeout=120
    )
    (shot.parent / "log").write_text(done.stderr)
    return done.stderr + done.stdout


#: Asks the browser of each drawing that it shows: how small its smallest letters are, how many pairs of words in it
#: overlap, and whether it is within its frame.
PROBE = """
  const seen = [...document.querySelectorAll(".chart svg")].filter((svg) => svg.getBoundingClientRect().width > 0);
  const words = (svg) => [...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect());
  const least = Math.min(...seen.flatMap((svg) => [...svg.querySelectorAll("text")].map((text) =>
    parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)));
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const over = seen.filter((svg) => { const all = words(svg);
    return all.some((a, i) => all.slice(i + 1).some((b) => meet(a, b))); });
  const right = (element) => element.getBoundingClientRect().right;
  const framed = seen.every((svg) => right(svg) <= right(svg.closest("figure")));
  const names = over.map((svg) => svg.closest("figure").id).join(",");
  const sized = seen.map((svg) => svg.getBoundingClientRect()).every((box) => box.width > 280 && box.height > 60);
  const fits = document.documentElement.scrollWidth <= innerWidth;
"""


def look(page_file: Path, scratch: Path, width: int, ask: str) -> str:
    """Runs a script in a copy of the page (which has none) in a frame of a width, and returns its answer."""
    text = page_file.read_text(encoding="utf-8")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    # The same pictures once more as <img>: the load event waits for those, so nothing has to be waited for.
    pictures = re.findall(r'xlink:href="(data:image/[^"]+)"', text)
    text += "".join(f'<img class="probe" alt="" style="position:absolute;width:1px" src="{uri}">' for uri in pictures)
    script = f'addEventListener("load", () => {{ {PROBE} parent.postMessage(`PROBE ${{{ask}}}`, "*"); }});'
    (scratch / "framed.html").write_text(f"{text}<script>{script}</script>", encoding="utf-8")
    # A window is 500 pixels wide at least; a frame is as narrow as a phone.
    outer = scratch / "outer.html"
    outer.write_text(
        '<script>addEventListener("message", (event) => { document.title = event.data; });</script>'
        f'<iframe src="framed.html" style="border:0;width:{width}px;height:2000px"></iframe>'
    )
    dump = chromium(outer, scratch / "none", scratch / "profile", "--dump-dom", "--virtual-time-budget=9000")
    found = re.search(r"<title>PROBE (.*?)</title>", dump)
    assert found, "the page's load event did not come"
    return found[1]


#: The most lines in a row of each table, and how far it reaches, with all details open.
_ROWS = """(() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const lines = (cell) => { const range = document.createRange(); range.selectNodeContents(cell);
    const ends = [...range.getClientRects()].filter((box) => box.width > 0).map((box) => box.bottom);
    return ends.sort((a, b) => a - b).filter((end, place) => place === 0 || end - ends[place - 1] > 5).length; };
  return [...document.querySelectorAll("table")].filter((one) => one.offsetWidth > 0).map((table) =>
    [Math.max(...[...table.rows].flatMap((row) => [...row.cells].map(lines))),
      Math.ceil(table.getBoundingClientRect().right)].join(" ")).join();
})()"""


def printed_tables(page_file: Path, scratch: Path, width_mm: float) -> list[tuple[int, int]]:
    """Of each table of a page laid out for paper: the lines of its highest row, and the pixels beyond the edge."""
    text = page_file.read_text(encoding="utf-8")
    text = text.replace("@media screen", "@media speech").replace("@media print", "@media all")
    printed = scratch / "printed.html"
    printed.write_text(text, encoding="utf-8")
    # The page's style has margins of 14 mm.
    width = int((width_mm - 2 * 14) / 25.4 * 96)
    tables = [table.split(" ") for table in look(printed, scratch, width, _ROWS).split(",")]
    return [(int(lines), int(right) - width) for lines, right in tables]


def readable(page_file: Path, scratch: Path, width: int) -> int:
    """How many charts a page shows at a width, all of which can be read: no letter below 9 pixels, no words overlap."""
    ask = "[seen.length, sized, fits, framed, least.toFixed(2), names].join(' ')"
    count, sized, fits, framed, least, *over = look(page_file, scratch, width, ask).split(" ")
    assert (sized, fits, framed) == ("true", "true", "true")
    assert float(least) >= 9.0
    assert over == [""], "words overlap"
    return int(count)
