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
OPEN_LOOP = (
    "Requests arrive as published on average (Table 3: a few a second over three weeks), in trains that the recipes "
    "assume, and the 16 chips are idle most of the time: there is little waiting that a better place could save. "
    "`load` has faster clocks, and the same without comparisons."
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
        "Queues grow with the pages of a train that lie on one chip, eight in a row here. With four times as many the "
        "ratio is as published or above (last note)."
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
        "ahead on most all the same: idle time is long enough at these rates."
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
        "hangs on the rate, which is not published (second table)."
    ),
    "sensitivity": EMPTY_DRIVE,
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
    "fig-2": ("The workload of the published picture is not named; measured is the one that differs most."),
    "fig-4": "Published are the planes of one drive, measured are those of eight workloads.",
    "fig-10a": OPEN_LOOP,
    "fig-10b": OPEN_LOOP,
    "load": (
        "No clock brings the published means. What waiting reads gain is merging of those of one page, which all "
        "schemes do here, as the paper's simulator does; the last table tells it from where pages lie and from the "
        "merging of twins. Dynamic allocation and HIPA place a page where nothing waits, DS-FTL by its content; what "
        "its writes lose to them remains with equal pages known at no cost."
    ),
    "sensitivity": OPEN_LOOP,
    "fig-11": (
        "Measured is redundancy among the valid pages of a plane at the end (docs/model.md). The published shares"
        " are as large as those of Fig. 4, which are of pages written, and are probably of these: most duplicates"
        " are overwritten before the end."
    ),
    "fig-14": (
        "Channels are idle most of the time at these rates, so that their utilisation hardly differs in points."
    ),
    "fig-13": (
        "A read goes to another page than its own only when that one's chip is less loaded, and at these rates "
        "chips are idle."
    ),
}

SWC = {
    "fig-1a": (
        "Recipes overwrite by one law each, so that they differ less than recorded traces do; recorded traces "
        "that are short have fewer temperatures."
    ),
    "fig-1b": (
        "Recipes overwrite by one law each, so that they differ less than recorded traces do; recorded traces "
        "that are short have fewer temperatures."
    ),
    "fig-1c": (
        "Recipes overwrite by one law each, so that they differ less than recorded traces do; recorded traces "
        "that are short have fewer temperatures."
    ),
    "fig-3": (
        "Recipes overwrite pages in random order; recorded workloads overwrite neighbours together, which leaves "
        "blocks that are wholly invalid."
    ),
    "fig-4": "Small traces have few blocks, so that a partition fewer is worth more than published.",
    "fig-7": (
        "The published highest is over 66 traces; where overwrites are random, neighbours seldom share their fate."
    ),
    "fig-9": "Small traces have few blocks, so that a partition fewer is worth more than published.",
    "fig-18": (
        "The discount takes every request as a small one whose neighbour may be cached. Where most bytes are read"
        " in requests larger than a page, the estimate is close to 1 and nothing is left to save."
    ),
}

ALL: dict[str, dict[str, str]] = {"rr-ssd": RR_SSD, "ca-ssd": CA_SSD, "ds-ftl": DS_FTL, "swc": SWC}


def why_different(paper: str, item: str) -> str:
    """What is known about an item; empty where nothing is."""
    return ALL[paper].get(item, "")
