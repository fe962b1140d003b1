"""Why published and measured differ, where that is known; shown beside a verdict that is not "agrees"."""

from __future__ import annotations

DAY_BEFORE = (
    "RR-SSD copies what was read the day before. `fair-bound` gives a copy on every chip to all of that, at no "
    "cost: what it does not reach either are reads of other values and of the first day, for which there are no "
    "copies. Table III and II.C say how many these are; the recipes are made of that."
)
COPIES = (
    "Measured is one copy more for every read, until the space that deduplication left is used: the simplest "
    "reading of II.D, which gives no number. The last table of `table-5` makes fewer: with one copy for two reads, or "
    "copies of what is read twice alone, replica writes fall to less than half, and most of the gain goes with them."
)
EMPTY_DRIVE = (
    "Here the drive holds what the trace reads before it writes it, so that little is collected. The published "
    "traditional SSD began full: its victims hold 33 of 64 valid pages, although its 4 GB are twice the footprint of "
    "`web`. `begins-full` measures again on such drives."
)
OPEN_ORDER = (
    "The paper names neither the order of its allocations nor the one below DS-FTL's own, and both decide the sign: "
    "`set-ups` has every choice. Where channels take turns page by page (`CWDP`) no queue forms in a train, and a page "
    "that moves for its content only meets others. With neighbours on one chip (`PDWC`) and HIPA below, DS-FTL's reads "
    "and writes gain on all three."
)

RR_SSD = {
    "table-4": DAY_BEFORE,
    "recorded-rate": DAY_BEFORE,
    "fair-variants": (
        "This item is itself the run: it takes one choice of the set-up back at a time. Without neighbouring pages on"
        " one chip no read waits, and Oracle gains nothing; without writes that are complete when hashed, all "
        "requests together gain a fraction of what reads gain."
    ),
    "table-1": COPIES,
    "table-5": COPIES,
    "table-3": (
        "CA-SSD spares the writes that are not unique, so the fewer are unique the more it saves. The published "
        "column has another order: most for `desktop`, least for `mail`. The first note counts the orders that hold "
        "under each of three readings of it. Where CA-SSD alone answers writes from RAM (last rows of the table), all "
        "save the same."
    ),
    "fig-2": (
        "A queue is as long as the pages of a train that lie on one chip: eight in a row here, four times as many in "
        "the last note. Which 100 s the figure shows is not said; measured are the busiest."
    ),
    "fig-4": (
        "Where 80 % of the values read are unique, 80 % of the reads need at least 75 % of the values that are read: "
        "Table III and Fig. 4 hold together for `mail` where Table III is of a day, and not for `homes`."
    ),
    "fig-9": DAY_BEFORE,
    "fig-11": (
        "The score piles copies up: it takes the chip with the least mean popularity, one copy hardly moves a mean "
        "over all its pages, and so the next hundred copies go to the same chip, neighbours among them. "
        "`fig-11-causes` switches that off: with the score among the chips with the fewest copies, reads gain what "
        "they gain with copies at random. Twice as much is gained by no reading of the score, on an empty drive or a "
        "full one."
    ),
    "fig-11-causes": (
        "This item is itself the run. Evenly spread copies (`even-score`) gain what random ones do: what the score "
        "loses on a large drive is the pile-up. On a drive that is full there is none, since free pages bind, and it "
        "gains as much as random placement. Equals in no order help both alike. Placement has no factor of "
        "two to give: a read evades its chip wherever its copy is."
    ),
    "fig-12": (
        "Copies made on-line serve the same day, those of the day's end only the next. The paper's on-line copies "
        "slow down writes; here writes do not wait for their programs. Where they do (last table), on-line copies are "
        "not behind either."
    ),
    "degrees": (
        "A second copy lets a read evade nearly as well as ten do, and the space goes further: `table-5` shows that "
        "with two copies at most reads gain as much as with one for each read, or more."
    ),
}

CA_SSD = {
    "fig-2": (
        "Half of the writes of `homes` need at least 24.7 % of its values when 66.37 % are unique (Table 2, seven"
        " days); the published 14.44 % is of one day."
    ),
    "fig-4": (
        "The recipes meet the LRU positions that the text gives (Fig. 3); how often the popular half comes again "
        "is published for 64 K entries only, of one day."
    ),
    "fig-6": EMPTY_DRIVE,
    "fig-7a": EMPTY_DRIVE,
    "fig-7b": EMPTY_DRIVE,
    "fig-7c": EMPTY_DRIVE,
    "begins-full": (
        "Writes and erases are cut by equal shares in all three workloads, so both drives had no free block at the "
        "beginning; and CA-SSD erased 2,876 blocks under `mail` without copying a page, so what its drive began with "
        "was not valid. With a traditional SSD that begins full of valid pages and a CA-SSD that begins without, the "
        "published cuts of writes and erases follow; with both full they do not. How much of the response time is cut "
        "hangs on the rate, which the paper gives away by one absolute time (`anchor`)."
    ),
    "sensitivity": EMPTY_DRIVE,
    "set-ups": EMPTY_DRIVE,
    "value-locality": (
        "The recipes read each value from one page: how many pages of those read hold one value is not published. On "
        "the captured traces, whose contents are real, reads of `webvm`, `mail` and `homes` hit by value far more "
        "often than by address."
    ),
    "hm-values": (
        "The published numbers do not fit Table 3 of the paper: half of the writes of `hm` are fewer writes than 4.5 M "
        "values need, and a fall by 71 % needs another exponent than 0.4 (notes)."
    ),
    "cache-size": (
        "The recipes' values come again within the positions of Fig. 3; 16 K entries keep less of `homes` than "
        "its one-day trace let expect."
    ),
    "fig-8": (
        "A cut of 25 times needs a traditional SSD that cannot keep up: it is a matter of the rate and the bursts"
        " of `financial`, which the paper does not give."
    ),
}

DS_FTL = {
    "fig-2": "The workload of the published picture is not named; measured is the one that differs most.",
    "fig-4": "Published are the planes of one drive, measured are those of eight workloads.",
    "fig-10a": OPEN_ORDER,
    "fig-10b": OPEN_ORDER,
    "load": (
        f"{OPEN_ORDER} What waiting reads gain is merging of those of one page, which all schemes do here, as the "
        "paper's "
        "simulator does; the last table tells it from where pages lie and from the merging of twins."
    ),
    "sensitivity": OPEN_ORDER,
    "set-ups": OPEN_ORDER,
    "fig-11": (
        "Static allocation has the published redundancy where all equal pages written to a plane count, versions of "
        "one logical page included; the table has other ways to count. Where pages take turns over 64 planes, as under "
        "dynamic allocation, fewer of them meet than published: contents come again later here, or the paper's "
        "groups are larger than a plane."
    ),
    "fig-14": (
        "The recipes overwrite pages all over the drive, so that channels differ by chance alone: the deviation falls "
        "with the square root of the number of requests (`--scale quick` has about three times that of the default)."
    ),
    "fig-13": (
        "A read goes to another page than its own only when that has a twin, compared in idle time, and its own die is "
        "more loaded. `set-ups` shows what moves the share."
    ),
}

HOT_PAGES = (
    "Recipes overwrite by one law each, whose first pages are far hotter than the rest. Among the 123 traces of SWC "
    "are some that overwrite all pages alike, and short ones. The table has the first 10,000 requests of each trace, "
    "and each trace with all pages overwritten alike."
)

SWC = {
    "fig-1a": HOT_PAGES,
    "fig-1b": HOT_PAGES,
    "fig-1c": (
        "Recipes overwrite by one law each, so that they differ less than recorded traces do; recorded traces "
        "that are short have fewer temperatures."
    ),
    "fig-3": (
        "Recipes overwrite pages one by one in random order. The table has the same traces with 4, 16 and 32 "
        "neighbours always overwritten together, up to a request of 128 KB: blocks become wholly invalid, and write "
        "amplification converges."
    ),
    "fig-4": (
        "In a recipe two pages of one temperature are written a different number of times by chance, and partitions "
        "are cut by these numbers: finer ones then separate nothing, and whether write amplification falls is a "
        "matter of a hundredth. The table has the same writes with those of each page evenly spaced, so that the "
        "numbers are no accident."
    ),
    "fig-7": (
        "The published highest is over 66 traces; where overwrites are random, neighbours seldom share their fate."
    ),
    "fig-9": "As for Fig. 4: partitions are cut by numbers of writes that differ by chance.",
    "fig-12": (
        "By SWC's Table 2 a request of 4 KB costs 305.6 µs on one-sector pages and 160.2 µs as a partial read of a "
        "16 KB page: 0.52 of it, whatever the workload. A request of 8 KB costs 0.45. Most recipes read 4 KB at a "
        "time, as the nine FIU traces among SWC's 123 do. The table has every request twice as large."
    ),
    "fig-18": (
        "The discount takes every request as a small one whose neighbour may be cached. Where most bytes are read"
        " in requests larger than a page, the estimate is close to 1 and nothing is left to save."
    ),
}

ALL: dict[str, dict[str, str]] = {"rr-ssd": RR_SSD, "ca-ssd": CA_SSD, "ds-ftl": DS_FTL, "swc": SWC}


def why_different(paper: str, item: str) -> str:
    """The explanation of an item; empty where there is none."""
    return ALL[paper].get(item, "")
