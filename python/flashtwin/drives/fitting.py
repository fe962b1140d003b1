"""From the measurements of a drive to its twin.

One least squares over keys with bounds (`model.py`): by the laws first, then with the twin's differences from them,
until the twin is as near as loads of seconds can tell. The intervals are those of a bootstrap over rows and seeds.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flashtwin.drives import history, measuring, parallelism, twin, writes
from flashtwin.drives.drive import PROGRAM_PAGES, RESUME_US, FittedDrive, conventional, read_us, settings, usual_dies
from flashtwin.drives.estimates import BOUNDS, FIFO, ROUND_ROBIN, SPREAD, STALL, Estimate, Estimates
from flashtwin.drives.laws import Array, amplification
from flashtwin.drives.model import BUSY, TURN, DriveModel, Telling, at_bound
from flashtwin.drives.tables import FITTED, STEADY_OVERWRITES, Measurements, OverwriteRun, SteadyWrites
from flashtwin.errors import DriveError
from flashtwin.progress import Notify

#: Rounds of measuring the twin; before each but the first, the keys move. The most that one moves by, as a logarithm.
#: Before them only its saturated rate is measured, because near it all percentiles depend on nothing else.
ROUNDS, RATE_ROUNDS, _REACH = 3, 4, math.log(1.5)
#: Rates that differ by less are the same, as logarithms.
_SAME_RATE = 0.03
#: Farther than this from the law a percentile of the twin is that of another load, as a logarithm.
_ELSEWHERE = math.log(2.5)
#: Loss that more rounds do not better: it is that of another seed.
_NEAR = 0.004
#: Victim rules among which a fit chooses, and skewed runs that decide.
VICTIMS, _DECIDING = ("greedy", "cost-benefit", "d-choices", "fifo"), 6
#: Physical space by the space that the host has, where nothing tells: flash of 1,024 GiB and its spare for the 960 GB
#: that drives of one write a day offer.
_USUAL_SPACE = 1.2
#: Two page types must explain the rest to this share at most.
_TWO_TYPES_GAIN = 0.7
#: Where writes of a queue that sends few wait less than this share of the others' time, queues take turns.
_IN_TURN = 0.85
#: Reads take this share of the time of writes at least where both share one queue, and that at most where they pass.
_SHARED, _PASSED = 0.5, 0.12
#: Reads of a drive that is not idle take at most this many times as long as NAND, at the lightest load.
_LIGHTEST = 5.0
#: A miss of the laws at a bound by which a drive is none that the model can be, as a logarithm.
_NONE = 0.4
#: Draws of the bootstrap, and deviations of a twin's figures from seed to seed, as logarithms. That of amplifications
#: is chosen such that intervals of space hold on drives drawn at random.
_DRAWS, _SEED_DEVIATION, _AMPLIFIED_DEVIATION = 60, 0.02, 0.004
#: Of the 99.9th percentile: one seed deviates by 2.6 % (four drives of the round trip, three rates, six seeds), and two
#: are compared.
_TAIL_DEVIATION = 0.036
#: Deviation of a normal distribution by the median of its absolute values.
_TO_DEVIATION = 1.4826
#: Keys that people know by another name.
_NAMES = {"idle_read_us": "nand.read_us", "slow_page_more_us": "nand.read_us", "space_gib": "spare"}
_RESUME = "engine.resume_us"
_READ_KEYS = ("idle_read_us", "engine.suspend_us", "engine.suspend_slice_us", "busy_share")
_TYPE_KEYS = ("idle_read_spread", "fast_page_share", "slow_page_more_us")


def fit_drive(measured: Measurements, note: Notify = lambda _: None, *, seed: int = 0) -> FittedDrive:
    """The twin of a drive.

    Args:
        measured: measurements of the drive; the open loop at two rates below its saturation at least.
        note: called with each step.
        seed: of the loads on the twin.

    Raises:
        DriveError: the measurements do not tell enough, and the message names the experiment that would; or the drive
            is none that the model can be, and it names key, row and bound.
    """
    note("the laws of the drive")
    case = prepared(measured)
    case.expect_nand()
    case = replace(case, model=DriveModel(case.model.telling, case.keys))
    note("write amplification")
    case = case.with_patterns(measured, seed)
    note("the saturated rate of the twin")
    for _ in range(RATE_ROUNDS):
        figures, _ = case.of_twin(seed, is_saturated=True)
        off = np.abs((figures - case.model.measured)[case.model.rates])
        case = case.shifted(figures).solved(_REACH)
        if np.nanmax(off) < _SAME_RATE:
            break
    nearest, best, reach = math.inf, (case, np.zeros(0)), _REACH
    for number in range(ROUNDS):
        note(f"the twin, round {number + 1} of {ROUNDS}")
        figures, errors = case.of_twin(seed)
        distance = case.model.distance(figures)
        if distance < nearest:
            nearest, best = distance, (case.shifted(figures), errors)
        else:
            # Too far a step: half of it from where the twin was nearest.
            reach /= 2
        if nearest < _NEAR:
            break
        case = best[0].solved(reach)
    case, errors = best
    note("intervals")
    return FittedDrive(measured.drive, case.with_intervals(errors, seed), case.seen)


@dataclass(frozen=True)
class FitCase:
    """A drive on its way to a twin."""

    model: DriveModel
    keys: Mapping[str, float]
    #: The keys that the figures tell, and the experiment behind each number.
    free: Sequence[str]
    sources: Mapping[str, str]
    #: Differences of the twin's figures from the laws.
    shifts: Array
    #: What is not solved for: reads at several depths, the knee, the victim rule.
    others: Estimates
    seen: Measurements

    @property
    def used_gib(self) -> float:
        return self.model.telling.used_gib

    def estimates(self, keys: Mapping[str, float] | None = None) -> Estimates:
        """Everything that is known, and the keys of the configuration."""
        numbers = settings(keys or self.keys, self.model.telling.dies, self.sources, self.used_gib)
        return self.others.with_all(numbers)

    def solved(self, reach: float | None = None) -> FitCase:
        """With the keys that are nearest."""
        if reach is not None:
            # The share of busy dies is no key of a twin: what it does to the figures is in the shifts.
            free = [key for key in self.free if key != "busy_share"]
            return replace(self, keys=self.model.solve(self.keys, free, self.shifts, reach=reach).keys)
        of_reads = [key for key in self.free if key in (*_READ_KEYS, *_TYPE_KEYS)]
        tries = (self.model.solve(start, of_reads, self.shifts) for start in _starts(self.keys, self.free))
        best = min(tries, key=lambda one: one.cost).keys
        return replace(self, keys=self.model.solve(best, self.free, self.shifts).keys)

    def expect_nand(self) -> None:
        """Nothing if the drive may have NAND.

        Raises:
            DriveError: a key lies at its bound, and the figures that tell it are far off.
        """
        model = self.model
        solution = model.solve(self.keys, self.free, self.shifts)
        misses = model.measured - model.by_laws(solution.keys)
        if read_us(solution.keys) > BOUNDS["nand.read_us"].high:
            # Of pages of two types the slow ones are beyond.
            lightest = model.telling.below[0]
            raise DriveError(not_nand("nand.read_us", f"{lightest}: read p50", lightest.read_us["50p"]))
        for at, key in enumerate(self.free):
            name = _NAMES.get(key, key)
            end = at_bound(key, solution.keys, model.telling.most_gib)
            if end is None or not BOUNDS[name].is_physical:
                continue
            pull = np.nan_to_num(np.abs(solution.slopes[: misses.size, at] * misses))
            worst = int(pull.argmax())
            if abs(misses[worst]) > _NONE:
                place, figure = model.places()[worst]
                raise DriveError(not_nand(name, f"{place}: {figure}", math.exp(model.measured[worst])))

    def of_twin(self, seed: int, *, is_saturated: bool = False) -> tuple[Array, Array]:
        """The figures of the twin as logarithms, or only those of its saturation, and their standard errors."""
        telling, estimates = self.model.telling, self.estimates()
        little, space = twin.small(conventional(estimates)), estimates.number("space_gib")
        below = [
            replace(row, read_us={}) if is_saturated
            else twin.open_loop(little, row, space, seed=seed, tells_holds=False) for row in telling.below
        ]  # fmt: skip
        saturated, alone, error = None, None, 0.0
        if telling.saturated is not None:
            saturated = twin.open_loop(little, telling.saturated, space, seed=seed)
            error = twin.STANDARD_ERROR
        if telling.alone_per_s is not None:
            alone = twin.saturated_per_s(little, telling.used_gib, space, seed=seed)
        runs = len(telling.runs)
        # Amplification hardly moves from here on.
        amplified = self.model.by_laws(self.keys)[:runs] + self.shifts[:runs]
        figures = self.model.of_rows(amplified.tolist(), below, saturated, alone)
        errors = np.full(figures.size, _SEED_DEVIATION)
        errors[:runs], errors[-2:] = _AMPLIFIED_DEVIATION, error
        errors[np.flatnonzero(self.model.reads)[len(FITTED) - 1 :: len(FITTED)]] = _TAIL_DEVIATION
        return figures, errors

    def shifted(self, figures: Array) -> FitCase:
        """With the differences of these figures of the twin from the laws."""
        shifts = figures - self.model.by_laws(self.keys)
        is_near = np.isfinite(shifts) & ~(self.model.reads & (np.abs(shifts) > _ELSEWHERE))
        return replace(self, shifts=np.where(is_near, shifts, self.shifts))

    def with_patterns(self, measured: Measurements, seed: int) -> FitCase:
        """With the victim rule whose ratios between patterns come nearest, and with the rate of writes alone.

        A common factor of all rates is that of writes alone, and tells nothing of victims. What the twin's controller
        amplifies beyond the law of FIFO is a shift.
        """
        some = _few(measured)
        patterns = [row.pattern for row in some.overwritten] + [row.pattern for row in some.steady]
        is_skewed = any(pattern.is_skewed for pattern in patterns)
        plays = {rule: self._played(some, rule, seed) for rule in (VICTIMS if is_skewed else VICTIMS[:1])}
        victim, source = VICTIMS[0], "no skewed pattern: usual"
        if is_skewed:
            errors = {rule: self._pattern_error(rows) for rule, rows in plays.items()}
            victim, *_ = ranks = sorted(errors, key=errors.__getitem__)
            told = ", ".join(f"{rule} {errors[rule]:.0%}" for rule in ranks)
            source = f"ratios between patterns; mean error of each: {told}"
        found = [Estimate("ftl.gc.victim", victim, source=source, is_measured=is_skewed)]
        runs, shifts, laws = list(self.model.telling.runs), self.shifts.copy(), self.model.by_laws(self.keys)
        for row, value in plays[victim]:
            if isinstance(row, OverwriteRun) and row in runs:
                shifts[runs.index(row)] = math.log(value * self.keys["overhead"]) - laws[runs.index(row)]
        case = replace(self, shifts=shifts)
        if rates := self._budgets(plays[victim]):
            alone = [math.exp(rate) / self._uniform_us for rate in rates]
            found.append(Estimate("writes_alone_per_s", statistics.median(alone), "1/s", min(alone), max(alone),
                                  f"{len(rates)} runs of writes alone"))  # fmt: skip
            telling = replace(self.model.telling, alone_per_s=found[-1].number)
            case = replace(case, model=DriveModel(telling, self.keys))
            if telling.saturated is not None:
                source = "writes alone beside writes among reads"
                case = replace(case, free=[*self.free, _RESUME], sources={**self.sources, _RESUME: source})
        seen = replace(self.seen, steady=some.steady)
        return replace(case, others=self.others.with_all(found), seen=seen).solved(_REACH)

    def _played(self, measured: Measurements, victim: str, seed: int) -> list[_PlayedRow]:
        drive = conventional(self.estimates().with_all([Estimate("ftl.gc.victim", victim)]))
        return list(history.amplified(drive, measured, self.used_gib, self.keys["space_gib"], seed=seed))

    @property
    def _uniform_us(self) -> float:
        """Time of the dies for a uniform write."""
        amplified = float(amplification(self.keys["space_gib"], self.used_gib))
        return self.model.write_us(self.keys, amplified)

    def _pattern_error(self, rows: Sequence[_PlayedRow]) -> float:
        """Mean error of skewed runs: of amplification, where it was counted, or else of the rate beside the others."""
        counted = [
            abs(math.log(row.amplification / (value * self.keys["overhead"]))) for row, value in rows
            if isinstance(row, OverwriteRun) and row.pattern.is_skewed and row.amplification
        ]  # fmt: skip
        others = [(row, value) for row, value in rows if not getattr(row, "amplification", None)]
        off = self._budgets(others)
        if off and not any(row.pattern.kind == "uniform" for row, _ in others):
            off.append(math.log(self.model.telling.knee_per_s * self._uniform_us))
        return statistics.fmean([*counted, *(abs(one - statistics.median(off)) for one in off)])

    def _budgets(self, rows: Sequence[_PlayedRow]) -> list[float]:
        """The time of the dies that runs took a second, as logarithms; of a fill in order nothing tells it."""
        return [math.log(row.writes_per_s * self.model.write_us(self.keys, value)) for row, value in rows
                if row.writes_per_s and row.pattern.kind != "sequential"]  # fmt: skip

    def with_intervals(self, errors: Array, seed: int) -> Estimates:
        """The estimates with what 95 of 100 draws of rows and seeds give."""
        random, free = np.random.default_rng(seed), [key for key in self.free if key != "busy_share"]
        errors = self._with_repeats(errors)
        draws: dict[str, list[float]] = {}
        of_writes = [one for one in self.others if one.key in self.keys]
        for _ in range(_DRAWS):
            weights = self._drawn_rows(random)
            shifts = self.shifts + random.normal(size=errors.size) * errors
            start = {**self.keys, **{one.key: random.normal(one.number, one.deviation) for one in of_writes}}
            keys = self.model.solve(start, free, shifts, reach=4 * _REACH, rows=weights).keys
            for estimate in self.estimates(keys):
                if isinstance(estimate.value, int | float):
                    draws.setdefault(estimate.key, []).append(estimate.number)
        final = []
        for estimate in self.estimates():
            values = draws.get(estimate.key, [])
            is_open = estimate.is_measured and estimate.low is None and not estimate.key.startswith("ftl.")
            end = at_bound(estimate.key, self.keys, self.model.telling.most_gib) if estimate.key in self.free else None
            if end is not None:
                # The others might be beyond it, so that draws tell no interval.
                estimate = replace(estimate, source=f"{estimate.source}; at its bound of {end:.4g}")  # noqa: PLW2901
            elif is_open and len(values) == _DRAWS and min(values) < max(values):
                ends = np.quantile(values, (0.025, 0.975))
                # Where percentiles step, many draws are the value itself. No time is told better than seeds repeat it.
                least = _SEED_DEVIATION * estimate.number if estimate.unit == "us" else 0.0
                low, high = min(ends[0], estimate.number - least), max(ends[1], estimate.number + least)
                estimate = estimate.with_interval(float(low), float(high))  # noqa: PLW2901
            final.append(estimate)
        return Estimates(final)

    def _with_repeats(self, errors: Array) -> Array:
        """Errors of which those of reads are at least what rows of one percentile miss the twin by.

        Two loads of seconds differ in a 99.9th percentile by 5 % and more, and no seed tells it of a drive.
        """
        misses = (self.model.by_laws(self.keys) + self.shifts - self.model.measured)[self.model.reads]
        by_name = np.abs(misses.reshape(len(self.model.telling.below), -1))
        by_name[:, np.isnan(by_name).all(axis=0)] = 0.0
        # Steps of a median are no repeats: the middle of the misses counts.
        repeats = _TO_DEVIATION * np.nanmedian(by_name, axis=0)
        final = errors.copy()
        final[self.model.reads] = np.maximum(errors[self.model.reads], np.tile(repeats, len(by_name)))
        return final

    def _drawn_rows(self, random: np.random.Generator) -> Array:
        """Weights of the figures for rows that are drawn again; those of few rows are drawn as well."""
        telling = self.model.telling
        weights = random.exponential(size=len(telling.runs) + len(telling.below) + 5)
        runs, below = len(telling.runs), len(telling.below)
        of_reads = np.repeat(weights[runs : runs + below], self.model.reads.sum() // max(below, 1))
        drawn = np.concatenate([weights[:runs], weights[-5:-4], of_reads, weights[-4:]])
        return np.asarray(np.sqrt(drawn))


_PlayedRow = tuple[OverwriteRun | SteadyWrites, float]


def _few(measured: Measurements) -> Measurements:
    """Runs that decide the victim rule: of many skewed ones some, with the series that they stand in."""
    steady = [row for row in measured.steady if row.pattern.is_known]
    series = history.playable(measured.overwritten)
    every = max(math.ceil((len(steady) + len(series)) / _DECIDING), 1)
    uniform = [row for row in steady if row.pattern.kind == "uniform"][:1]
    kept = [row for row in steady if row.pattern.is_skewed][::every]
    return replace(measured, steady=(*uniform, *kept), overwritten=tuple(itertools.chain.from_iterable(series)))


def every_other(measured: Measurements) -> Measurements:
    """Half of the rows: every other rate and pattern, and of uniform writes the least and the greatest fill."""
    fills = sorted({row.fill_gib for row in measured.overwritten if row.pattern.kind == "uniform"})
    kept = {fills[0], fills[-1]} if fills else set()
    skewed = [row for row in measured.overwritten if row.pattern.is_skewed and row.pattern.is_known][::2]
    series = {row.series for row in skewed}
    return replace(
        measured,
        open_loop=measured.open_loop[::2],
        overwritten=tuple(
            row for row in measured.overwritten
            if (row in skewed if row.pattern.is_skewed else row.fill_gib in kept or row.series in series)
        ),
        steady=measured.steady[::2],
    )  # fmt: skip


def not_nand(key: str, place: str, value: float) -> str:
    """Why a drive is none that the model can be."""
    low, high, unit, _ = BOUNDS[key]
    ends = f"{low:g} to {high:g} {unit}".rstrip()
    return (
        f"{place} is {value:,.4g}, which no {key} from {ends} gives: this is not a drive that the model can be, for "
        "example a hard disk or Optane, or the row is in another unit"
    )


def prepared(measured: Measurements) -> FitCase:
    """What the measurements tell, and where the search begins."""
    if not measured.open_loop:
        raise DriveError(
            f"{measured.drive}: no response times at offered rates (`latency.csv`), which tell how "
            "reads and programs meet; a fit needs them at two rates at least"
        )
    sources: dict[str, str] = {}
    controller = _controller(measured, sources)
    knee = measured.knee
    below = [row for row in measured.below(knee.number) if "50p" in row.read_us]
    if len(below) < 2:
        raise DriveError(
            f"open loop: {len(below)} of {len(measured.open_loop)} rates lie below the saturated rate of "
            f"{knee.number:,.0f} writes/s; suspension needs two at least. Measure more rates between 10 % and 90 % of "
            "that"
        )
    sources |= {key: f"read percentiles of open loop at {len(below)} rates" for key in _READ_KEYS}
    used = measured.used_gib
    # Uniform runs whose amplification was counted in the steady state.
    runs = [row for row in measured.overwritten if row.pattern.kind == "uniform" and row.amplification is not None
            and row.overwrites >= STEADY_OVERWRITES]  # fmt: skip
    keys = {
        "space_gib": _USUAL_SPACE * used, "overhead": 1.0, "nand.program_us": 1000.0,
        "engine.controller_us": controller, "idle_read_us": min(row.read_us["50p"] for row in below),
        "engine.suspend_us": 30.0, "engine.suspend_slice_us": 90.0, "busy_share": BUSY, "engine.resume_us": RESUME_US,
    }  # fmt: skip
    of_writes = writes.batches(below) or writes.holds(below, measured.saturated, knee.number)
    of_writes += writes.spread(below)
    keys |= {one.key: one.number for one in of_writes}
    sources |= {one.key: one.source for one in of_writes}
    # The median has some of the spread.
    keys["engine.controller_us"] -= writes.MEDIAN * keys.get(SPREAD, 0.0)
    others = Estimates([knee, *of_writes, *parallelism.estimates(measured)])
    fills, sequential, free = {row.fill_gib for row in runs}, None, [*_READ_KEYS]
    if runs:
        free.append("space_gib")
        sources["space_gib"] = f"write amplification of uniform writes at {len(fills)} fills"
    if len(fills) < 2:
        ordered = [row.amplification for row in measured.overwritten if row.amplification is not None
                   and row.pattern.kind == "sequential" and not row.pattern.is_shuffled]  # fmt: skip
        sequential = statistics.median(ordered) if ordered else None
    if len(fills) > 1 or sequential is not None:
        free.append("overhead")
        sources["overhead"] = "write amplification of sequential writes" if sequential else sources["space_gib"]
    units = next((one for one in others if one.key == "parallel_units"), None)
    most = max([used, *(row.fill_gib for row in measured.overwritten)])
    # The laws have no reads that wait for slots.
    of_slots = writes.queued(below) if "engine.slots" in sources else ()
    telling = Telling(runs, sequential, below, None, knee.number, None, used, most, 1, is_counted=bool(runs),
                      queued=of_slots)  # fmt: skip
    if known := [key for key in ("space_gib", "overhead") if key in free]:
        zeros = _zeros(telling)
        counters = np.where(np.arange(zeros.size) <= len(runs), 1.0, 0.0)
        keys.update(DriveModel(telling).solve(keys, known, zeros, rows=counters).keys)
    is_counted = units is not None and units.is_measured
    if is_counted:
        sources["parallel_units"] = units.source  # type: ignore[union-attr]
    telling = replace(telling, dies=int(units.number) if is_counted else usual_dies(keys["space_gib"]))  # type: ignore[union-attr]
    # Reads for collection are a share of the dies' time, so that the law of reads needs a program of about this length.
    busy_us = telling.dies * 1e6 / knee.number / float(amplification(keys["space_gib"], used, keys["overhead"]))
    keys["nand.program_us"] = min(max(0.8 * busy_us * PROGRAM_PAGES, 200.0), 9000.0)
    free.append("nand.program_us")
    sources["nand.program_us"] = f"{knee.source}, for these dies"
    telling = front_end(measured, telling, keys, free, sources)
    if telling.saturated is None:
        telling = replace(telling, alone_per_s=knee.number)
    case = FitCase(DriveModel(telling), keys, free, sources, _zeros(telling), others, _seen(measured, telling))
    return _with_page_types(case, measured)


def _zeros(telling: Telling) -> Array:
    return np.zeros(DriveModel(telling).measured.size)


def _controller(measured: Measurements, sources: dict[str, str]) -> float:
    """Time of a write that RAM takes at once.

    Raises:
        DriveError: at no rate a read or a write takes as long as on a drive with NAND.
    """
    rows = [row for row in measured.open_loop if row.is_reached] or list(measured.open_loop)
    reads = min((row for row in rows if "50p" in row.read_us), key=lambda row: row.read_us["50p"], default=rows[0])
    low, high, *_ = BOUNDS["nand.read_us"]
    if not low <= reads.read_us.get("50p", low) <= _LIGHTEST * high:
        raise DriveError(not_nand("nand.read_us", f"{reads}: read p50", reads.read_us["50p"]))
    writes = min((row for row in rows if "50p" in row.write_us), key=lambda row: row.write_us["50p"], default=None)
    if writes is None:
        return 10.0
    sources["engine.controller_us"] = "median of writes at light load"
    if writes.write_us["50p"] > BOUNDS["engine.controller_us"].high:
        raise DriveError(not_nand("engine.controller_us", f"{writes}: write p50", writes.write_us["50p"]))
    return max(writes.write_us["50p"], BOUNDS["engine.controller_us"].low)


def front_end(
    measured: Measurements, telling: Telling, keys: dict[str, float], free: list[str], sources: dict[str, str]
) -> Telling:
    """Slots and arbitration; no limit where reads pass writes and all writes wait alike, or where nothing tells."""
    rows = [row for row in measured.saturated if "50p" in row.read_us and row.write_us.get("50p")]
    if not rows:
        return telling
    row = replace(
        rows[len(rows) // 2], writes_per_s=statistics.median(one.writes_per_s for one in rows),
        reads_per_s=statistics.median(one.reads_per_s for one in rows),
        read_us={"50p": statistics.median(one.read_us["50p"] for one in rows)},
        write_us={"50p": statistics.median(one.write_us["50p"] for one in rows)},
    )  # fmt: skip
    telling = replace(telling, saturated=row)
    read, write = row.read_us["50p"], row.write_us["50p"]
    source = f"medians of reads and writes at {row.offered_per_s:,.0f}/s, saturated"
    # Only a write holds a slot for long.
    held = max((write - read) * row.writes_per_s / 1e6, 1.0)
    # Behind a batch full queues write again as soon as it ends and wait for all of the next, one that is not full less.
    if STALL not in keys and write < _IN_TURN * row.bulk_write_us.get("50p", write):
        turn_us = max(read - DriveModel(telling).served_us, 1.0) / TURN
        keys["pages_of_a_turn"] = min(max(turn_us * row.writes_per_s / 1e6, 4.0), 3000.0)
        free.append("pages_of_a_turn")
        sources["pages_of_a_turn"] = f"reads at {row.offered_per_s:,.0f}/s wait for programs that free slots"
        telling = replace(telling, arbitration=ROUND_ROBIN)
    elif read >= _SHARED * write:
        telling = replace(telling, arbitration=FIFO)
    else:
        if "engine.slots" in sources:
            return telling
        doubt = "" if read <= _PASSED * write else "; reads are neither near writes nor far below them: uncertain"
        if not doubt:
            sources["engine.slots"] = f"{source}: reads pass, writes wait alike"
        return telling
    keys["engine.slots"] = min(held, 4000.0)
    free.append("engine.slots")
    sources["engine.slots"] = source
    return telling


def _seen(measured: Measurements, telling: Telling) -> Measurements:
    """The rows that the fit looks at: none near the knee, none that it cannot play, and of fills what it needs."""
    saturated = measured.saturated if telling.saturated is not None else ()
    rows = tuple(row for row in measured.open_loop if row in telling.below or row in saturated)
    runs = [row for row in itertools.chain.from_iterable(history.playable(measured.overwritten))
            if row.pattern.kind != "sequential" or telling.sequential is not None]  # fmt: skip
    return replace(measured, open_loop=rows, overwritten=tuple(runs))


def _with_page_types(case: FitCase, measured: Measurements) -> FitCase:
    """With one type of flash page whose times spread, or two; as reads one at a time tell, or else the better."""
    alone = measured.alone_of("read")
    modes = alone.times.modes() if alone is not None else ()
    spread = {**case.keys, "idle_read_spread": 0.08}
    two = {**case.keys, "fast_page_share": 0.6, "slow_page_more_us": 0.4 * case.keys["idle_read_us"]}
    sources = {**case.sources, "fast_page_share": "rise of the median of reads"}
    sources |= {"slow_page_more_us": sources["fast_page_share"], "idle_read_spread": sources["fast_page_share"]}
    case = replace(case, sources=sources)
    if len(modes) in (1, 2):
        known = "modes of reads one at a time"
        free = [key for key in case.free if key != "idle_read_us"]
        keys = {**case.keys, "idle_read_us": modes[0].time_us}
        if len(modes) == 2:
            keys |= {"fast_page_share": modes[0].share, "slow_page_more_us": modes[1].time_us - modes[0].time_us}
        told = dict.fromkeys(("idle_read_us", "fast_page_share", "slow_page_more_us"), known)
        return replace(case, keys=keys, free=free, sources={**sources, **told}).solved()
    kinds = [
        replace(case, keys=keys, free=[*case.free, *more]).solved()
        for keys, more in ((spread, ["idle_read_spread"]), (two, ["fast_page_share", "slow_page_more_us"]))
    ]
    even, apart = (kind.model.misfit(kind.keys) for kind in kinds)
    return kinds[1] if apart < _TWO_TYPES_GAIN * even else kinds[0]


def _starts(keys: Mapping[str, float], free: Sequence[str]) -> Iterator[dict[str, float]]:
    """Places to begin at: percentiles step, so that there is more than one valley."""
    shares = (0.3, 0.6, 0.9) if "fast_page_share" in free else (keys.get("fast_page_share", 1.0),)
    for suspend_us, share in itertools.product((10.0, 60.0), shares):
        more = {"fast_page_share": share} if "fast_page_share" in keys else {}
        yield {**keys, "engine.suspend_us": suspend_us, **more}


def predicted(drive: FittedDrive, asked: Measurements, note: Notify = lambda _: None, *, seed: int = 1) -> Measurements:
    """The rows that are asked for, as the twin of a fitted drive has them; another seed than that of the fit."""
    return measuring.measure(drive.system, asked, note, seed=seed)
