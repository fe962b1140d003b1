"""The font of charts: DejaVu Sans, cut to the letters of charts once a process, because each PDF would cut it anew.

Letters beyond these, in the name of a trace for example, come from the whole font.
"""

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import font_manager

WHOLE = "DejaVu Sans"
#: The name of the cut font, so that nothing else in the process is drawn with it.
CUT = "flashtwin Sans"
#: Latin, Greek, signs, arrows, mathematics.
_LETTERS = [*range(0x20, 0x250), *range(0x370, 0x400), *range(0x2000, 0x2300)]


@lru_cache(maxsize=1)
def families() -> tuple[str, ...]:
    """The fonts of charts, the preferred first; known to Matplotlib from here on, until the process ends."""
    folder = TemporaryDirectory(prefix="flashtwin-fonts-")
    _KEPT.append(folder)
    for weight in ("normal", "bold"):
        whole = font_manager.findfont(font_manager.FontProperties(family=WHOLE, weight=weight))
        path = Path(folder.name) / f"{weight}.ttf"
        _cut(whole, path)
        font_manager.fontManager.addfont(path)
    return CUT, WHOLE


#: Taken away when the process ends.
_KEPT: list[TemporaryDirectory[str]] = []


def _cut(whole: str, path: Path) -> None:
    options = subset.Options(
        layout_features=[], legacy_kern=True, hinting=True, notdef_outline=True, glyph_names=True, name_IDs=["*"],
        recalc_timestamp=False,
    )  # fmt: skip
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "FFTM"]
    with TTFont(whole, recalcTimestamp=False) as font:
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=_LETTERS)
        cutter.subset(font)
        for record in font["name"].names:
            if record.nameID in (1, 3, 4, 6, 16):
                plain = CUT if record.nameID in (1, 16) else CUT.replace(" ", "") + path.stem.capitalize()
                record.string = plain
        font.save(path)
