"""Why published and measured differ, where that is known; shown beside a verdict that is not "agrees"."""

from __future__ import annotations

HASH_UNIT = (
    "One hash unit of 12 µs a page (`hash_lanes = 1`) lets 83,000 page writes a second through, whatever 64 chips"
    " could take. Where writes abound, the drive is full before its chips are: reads then queue less than "
    "published, and the mean over all requests is a wait for the hash unit, which no redirection shortens. "
    "`fair-variants` makes the test again with a unit that keeps up."
)
TABLE_III = (
    "Copies are of what was read the day before: they do nothing on the first day and nothing for values that are "
    "new, and `fair-bound` measures the most that they can reach. Table III's 80 % unique values among the reads of "
    "`homes` and `mail` are taken to be of a day. `hadoop` and `trans` repeat most of their reads; how these are "
    "concentrated on values is not published, and the recipes assume it."
)
COPIES = (
    "Tables I and V do not fit each other. By CA-SSD's Table 2, `homes` has about 404 thousand unique page writes"
    " a day and `webvm` 177 thousand; the 5.6 and 2.2 thousand daily copies of Table I are 1.4 and 1.2 % of all "
    "writes then, where Table V has 11.4 and 9.3 %. Measured is the rule as the text has it: one copy more for "
    "every read, until the space that deduplication left is used."
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
    "table-4": f"{HASH_UNIT} {TABLE_III}",
    "fair-variants": TABLE_III,
    "table-1": COPIES,
    "table-5": COPIES,
    "table-3": (
        "Some published figures exceed 100 %, so the column cannot be a reduction of time; it is read as "
        "conventional / CA-SSD - 1. Reads gain, since duplicates are not programmed. Writes are slower than on a "
        "conventional SSD wherever they wait for the one hash unit."
    ),
    "fig-1": (
        "Both published shares cannot be had at one rate of an open loop: where reads queue as much as published,"
        " chips are busy for a tenth of the time, and a write seldom waits. Writes that wait for 80 to 90 % of "
        "their time need a drive that is nearly full."
    ),
    "fig-2": (
        "Measured are means over bins of time, published are lengths at single moments; the longest queue of a "
        "moment stands in the note."
    ),
    "fig-3": (
        "The rate is that of Table IV, set by CA-SSD's reads. Writes are programmed by a conventional SSD without"
        " waiting at these rates, so that nothing is to be gained for them."
    ),
    "fig-4": (
        "Where 80 % of the values read are unique, 80 % of the reads need at least 75 % of the values that are "
        "read: Table III and Fig. 4 hold together for `mail` where Table III is of a day, and not for `homes`."
    ),
    "fig-9": TABLE_III,
    "fig-10": (
        "What more space brings depends on what was read the day before; from about 20 % on, all of that has its "
        "copies."
    ),
    "fig-11": (
        "On a drive as empty as the paper's (a terabyte for a footprint of gigabytes) erase counts and free pages"
        " hardly differ between chips, so that the score has little to choose by: a copy on any other chip lets a"
        " read evade. PBLRU makes its copies during the day, so that they compete with the host, but know of what"
        " is hot today."
    ),
    "fig-12": (
        "A copy that is programmed during the day keeps its die from reading for 400 µs, and idle time is short "
        "where reads queue. The paper names the same cost for writes; here reads pay it, too."
    ),
    "fig-13": (
        "The 99th percentile of all requests is one of writes, which are slower than reads and more than a "
        "hundredth of the requests. Redirection does not touch them."
    ),
    "sensitivity": TABLE_III,
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

SHORT_TRACES = (
    "The lowest numbers are those of short traces: SWC's shortest have 10,000 requests (Table 1), the recipes 0.09 "
    "to 2 million at their default size. The table judges the first 10,000 requests of each trace by the same rule."
)

SWC = {
    "fig-1a": SHORT_TRACES,
    "fig-1b": SHORT_TRACES,
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
    """What is known about an item; empty where nothing is."""
    return ALL[paper].get(item, "")
