"""The papers: published and measured results, item by item (docs/reproduction.md)."""

from collections.abc import Sequence
from difflib import get_close_matches

from flashtwin.errors import FlashtwinError
from flashtwin.papers.model import Item, Paper


def papers() -> dict[str, Paper]:
    """All papers by their names, in the order of the manual."""
    from flashtwin.papers import ca_ssd, ds_ftl, rr_ssd, swc

    return {paper.id: paper for paper in (rr_ssd.PAPER, ca_ssd.PAPER, ds_ftl.PAPER, swc.PAPER)}


def choose(paper: str | None = None, items: Sequence[str] = ()) -> list[tuple[Paper, tuple[Item, ...]]]:
    """The papers and items of these names; all where none is named."""
    known = papers()
    if paper is None:
        return [(one, one.items) for one in known.values()]
    if paper not in known:
        raise FlashtwinError(f"no paper is called '{paper}'; {_near(paper, list(known))}")
    chosen = known[paper]
    by_id = {item.id: item for item in chosen.items}
    for name in items:
        if name not in by_id:
            raise FlashtwinError(f"{paper}: no item is called '{name}'; {_near(name, list(by_id))}")
    return [(chosen, tuple(by_id[name] for name in dict.fromkeys(items)) or chosen.items)]


def _near(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known)}"
