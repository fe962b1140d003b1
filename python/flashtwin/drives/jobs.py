"""The experiments that measure a drive, as a shell script of fio jobs and lines of `nvme-cli`.

The script leaves one folder that `results.read_results` reads. Job files have variables in place of the device and of
sizes; fio takes them from its environment, so that each file is written once and is used for all depths or rates.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flashtwin.errors import ArgumentError

#: The placeholder of a device where none is named.
PLACEHOLDER = "/dev/nvmeXnY"
#: Shares of the drive in use at which random writes are brought to their steady state, in percent.
FILLS = (50, 70, 85, 100)
#: Parts of a run of random writes; between them the drive's counters are read.
PARTS = 8
#: Offered rates of the open loop, in percent of the saturated rate.
RATES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120)
DEPTHS = tuple(2**power for power in range(11))
#: Zones take more than ten overwrites until they are settled.
_ZONE_OVERWRITES = 12.0
#: What times are told for, where no size is given, and how fast such a drive is thought to be.
_USUAL_BYTES = 960_000_000_000
_SEQUENTIAL_MB_S, _RANDOM_MB_S = 1500.0, 400.0


@dataclass(frozen=True)
class Probe:
    """One experiment: a job file, the lines of the script that use it, and its purpose."""

    job: str
    title: str
    tells: str
    seconds: float
    text: str
    lines: Sequence[str]


@dataclass(frozen=True)
class ProbePlan:
    """The options of the experiments."""

    #: None: only jobs that read.
    destroys: str | None = None
    #: Bytes of the drive to use; None: all, as the script finds out.
    size_bytes: int | None = None
    #: Seconds of each job that ends by time.
    seconds: int = 60
    #: How often random writes go over the addresses in use.
    overwrites: float = 4.0

    def __post_init__(self) -> None:
        """A device's name stands in a comment of the script, which a line's end would leave."""
        if self.destroys is not None and not self.destroys.isprintable():
            raise ArgumentError(f"{self.destroys!r} is no name of a device: it has a line's end or a control code")

    def seconds_of(self, sequential: float, random: float = 0.0) -> float:
        """About how long it takes to write the drive so many times, in order and at random."""
        megabytes = (self.size_bytes or _USUAL_BYTES) / 1e6
        return megabytes * (sequential / _SEQUENTIAL_MB_S + random / _RANDOM_MB_S)


def probes(plan: ProbePlan) -> list[Probe]:
    """The experiments, in order: the drive is filled, then come those that only read, then those that write."""
    if plan.destroys is None:
        return list(_reading(plan))
    fill = Probe(
        "sequential", "Sequential writes over the whole drive, from the erased drive on, rate by second",
        "overhead of a program (parity, metadata); an SLC cache, if there is one. The reads below need a full drive: "
        "what was never written is not read from flash",
        plan.seconds_of(1),
        _job("sequential series=${SERIES} fill=${FILL}",
             "rw=write\nbs=1M\niodepth=32\nwrite_bw_log=${NAME}\nlog_avg_msec=1000\n", size="FILL"),
        _filled("whole", 100, is_first=True),
    )  # fmt: skip
    return [fill, *_reading(plan), *_writing(plan)]


def job_files(plan: ProbePlan) -> dict[str, str]:
    """The text of each job file, by name."""
    return {probe.job: probe.text for probe in probes(plan)}


def _job(tag: str, options: str, sections: str = "", *, size: str = "SIZE") -> str:
    """A job file: common options, then its own."""
    common = (
        "[global]\n"
        f"description=flashtwin experiment={tag} drive=${{DRIVE}}\n"
        "filename=${DEVICE}\n"
        "ioengine=${ENGINE}\n"
        "direct=1\n"
        "thread=1\n"
        # From submission on, as the tables count.
        "lat_percentiles=1\n"
        # Another order of addresses in each run, and each address as likely as any other every time.
        "randrepeat=0\n"
        "norandommap=1\n"
        "random_generator=tausworthe64\n"
        "group_reporting=1\n"
        f"size=${{{size}}}\n"
    )
    return f"{common}{options.strip()}\n{sections or f'[{tag.split(maxsplit=1)[0]}]'}\n"


def _timed(seconds: float, ramp: float = 5) -> str:
    return f"time_based=1\nruntime={seconds:g}\nramp_time={min(ramp, seconds / 4):.3g}s\n"


def _run(name: str, job: str, **variables: str | int) -> str:
    """A line of the script, whose number is not known yet."""
    settings = [f'{key}="{value}"' if "$" in str(value) else f"{key}={value}" for key, value in variables.items()]
    return " ".join([f"run #{name}", job, *settings])


def _reading(plan: ProbePlan) -> Iterator[Probe]:
    timed = _timed(plan.seconds)
    yield Probe(
        "read-alone", "Reads of 4 KB, one at a time", "fixed delay and tR; modes of the histogram are page types",
        plan.seconds, _job("read-alone", f"rw=randread\nbs=4k\niodepth=1\n{timed}"), [_run("read-alone", "read-alone")],
    )  # fmt: skip
    yield Probe(
        "read-depth",
        "Reads of 4 KB, 1 to 1,024 under way",
        "parallel units (dies or planes) and their service time",
        plan.seconds * len(DEPTHS),
        _job("read-depth depth=${DEPTH}", f"rw=randread\nbs=4k\niodepth=${{QUEUE}}\nnumjobs=${{JOBS}}\n{timed}"),
        [
            _run(f"read-depth-{depth:04}", "read-depth", DEPTH=depth, QUEUE=depth // jobs, JOBS=jobs)
            for depth in DEPTHS
            for jobs in (max(min(depth // 8, 16), 1),)
        ],
    )


def _writing(plan: ProbePlan) -> Iterator[Probe]:
    yield Probe(
        "write-alone", "Writes of 4 KB, one at a time", "latency of the buffer that writes go to", plan.seconds,
        _job("write-alone", f"rw=randwrite\nbs=4k\niodepth=1\n{_timed(plan.seconds)}"),
        [_run("write-alone", "write-alone")],
    )  # fmt: skip
    yield _overwriting(
        plan, "uniform", f"Random writes to steady state with {', '.join(map(str, FILLS))} % of the drive in use",
        "spare space and overhead (from write amplification), tPROG and flash page (from rate and amplification)",
        FILLS, plan.overwrites,
    )  # fmt: skip
    yield _open_loop(plan)
    yield _overwriting(
        plan, "zipf exponent=0.8", "Random writes by zipf 0.8 of fio, whose hot addresses lie in clusters",
        "separation of hot and cold", (100,), plan.overwrites, "zipf:0.8",
    )  # fmt: skip
    overwrites = max(plan.overwrites, _ZONE_OVERWRITES)
    yield _overwriting(
        plan, "zones hot=5 writes=95",
        f"Random writes, 95 % of them to 5 % of the addresses, {overwrites:g} times over (it settles slowly)",
        "rule by which victims are chosen, separation of hot and cold", (100,), overwrites, "zoned:95/5:5/95",
    )  # fmt: skip


def _overwriting(
    plan: ProbePlan, tag: str, title: str, tells: str, fills: Sequence[int], overwrites: float, law: str = "random"
) -> Probe:
    """Runs of random writes in parts; four threads of depth 64, which a part is divided among."""
    name, share = tag.split(maxsplit=1)[0], overwrites / PARTS / 4
    lines: list[str] = []
    for fill in fills:
        lines += _filled(name, fill, is_first=fill == fills[0])
        lines += [
            _run(f"{name}-{fill:03}-part-{part}", name, SERIES=name, FILL=f"$(share {fill})", PART=part,
                 PART_BYTES=f"$(part {fill} {share:.6f})")
            for part in range(1, PARTS + 1)
        ]  # fmt: skip
    tags = f"{tag} series=${{SERIES}} fill=${{FILL}} part=${{PART}} of={PARTS}"
    options = f"rw=randwrite\nbs=4k\niodepth=64\nnumjobs=4\nio_size=${{PART_BYTES}}\nrandom_distribution={law}\n"
    filled = sum(fills) / 100
    return Probe(
        name, title, tells, plan.seconds_of(filled, filled * overwrites), _job(tags, options, size="FILL"), lines
    )


def _filled(series: str, fill: int, *, is_first: bool) -> list[str]:
    """The drive filled in order; before the first fill of a series it is erased."""
    line = _run(f"sequential-{series}-{fill:03}", "sequential", SERIES=series, FILL=f"$(share {fill})")
    return [f"once erase-{series} erase", line] if is_first else [line]


def _open_loop(plan: ProbePlan) -> Probe:
    """On the full drive, in the steady state that the run before leaves."""
    threads = (
        "# Seven threads: one at a fixed rate with half reads, six with exponential gaps and 1 % reads.\n"
        "[fixed]\ngroup_reporting=0\nrwmixread=50\nrate_iops=5000,5000\n"
        "[bulk]\nnew_group\nnumjobs=6\nrwmixread=1\nrate_process=poisson\nrate_iops=${READS},${WRITES}"
    )
    options = f"rw=randrw\nbs=4k\niodepth=64\n{_timed(2 * plan.seconds, 15)}"
    return Probe(
        "open-loop", "Open loop at 10 to 120 % of the saturated rate",
        "priority of reads, suspension, size of a program, slots and arbitration",
        2 * plan.seconds * len(RATES), _job("open-loop offered=${OFFERED} fill=${SIZE}", options, threads),
        ["saturated_rate",
         *(f'offer {rate} && {_run(f"open-loop-{rate:03}", "open-loop")} "${{OFFER[@]}}"' for rate in RATES)],
    )  # fmt: skip


def script(plan: ProbePlan) -> str:
    """The script that runs the experiments in order."""
    found = probes(plan)
    lines = [_head(plan, sum(probe.seconds for probe in found)), _FUNCTIONS.strip()]
    lines += [] if plan.destroys is None else ["", _WRITING_FUNCTIONS.strip()]
    for name, text in job_files(plan).items():
        lines += ["", f"cat > jobs/{name}.fio <<'JOB'", text.rstrip(), "JOB"]
    number = itertools.count(1)
    for probe in found:
        lines += ["", f"# {probe.title}: about {_length(probe.seconds)}."]
        lines += textwrap.wrap(f"It tells: {probe.tells}.", 100, initial_indent="# ", subsequent_indent="# ")
        lines += [re.sub("(?<=run )#", lambda _: f"{next(number):03}-", line) for line in probe.lines]
    return "\n".join([*lines, "", 'echo "done; now: flashtwin fit $RESULTS" >&2', ""])


def _length(seconds: float) -> str:
    """A time as people say it."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{max(math.ceil(seconds), 1)} s"


def _head(plan: ProbePlan, seconds: float) -> str:
    size = "a drive of 960 GB" if plan.size_bytes is None else f"{plan.size_bytes / 1e9:,.4g} GB"
    takes, destroys = _length(seconds), plan.destroys
    bytes_ = plan.size_bytes or '${SIZE:-$(blockdev --getsize64 "$DEVICE" 2>/dev/null || stat -c %s "$DEVICE")}'
    about = _ABOUT_READING if destroys is None else f"# THIS SCRIPT DESTROYS ALL DATA ON {destroys}. {_ABOUT_WRITING}"
    return f"""#!/usr/bin/env bash
# Experiments on a drive, for `flashtwin fit`. Times are guesses for {size}. They take about {takes}.
{about}
set -eu

DEVICE={"${1:-" + PLACEHOLDER + "}" if destroys is None else shlex.quote(destroys)}
RESULTS=${{{1 if destroys else 2}:-results}}
ENGINE=${{ENGINE:-libaio}}
SIZE={bytes_}
FIO=(fio{"" if destroys else " --readonly"} --output-format=json+)
"""


_ABOUT_READING = """# These jobs only read. Nothing tells from reads alone how the drive writes: `flashtwin fit jobs
# --destroys-data DEVICE` prints all jobs; they ERASE the device. Reads tell of flash only where data
# was written: run them on a drive that is full, and not mounted.
# Usage: bash FILE DEVICE [RESULTS]."""
_ABOUT_WRITING = """It writes the drive over many times.
# Usage: sudo bash FILE [RESULTS]. If it stops, run it again: it goes on where it stopped. It needs fio 3.0 or later
# and nvme-cli; without the drive's OCP counters (`nvme ocp smart-add-log`) write amplification stays unknown."""

_FUNCTIONS = r"""
DEVICE=$(readlink -f "$DEVICE")
mkdir -p "$RESULTS/jobs"
cd "$RESULTS"
RESULTS=$PWD
# Counters and results have digits without groups.
export LC_ALL=C

# What the drive says of itself; its model and the end of its number name it.
nvme id-ctrl "$DEVICE" -o json > drive.json 2>/dev/null || rm -f drive.json
field() { sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p" drive.json 2>/dev/null | head -n 1; }
NUMBER=$(field sn | tr -cd 'A-Za-z0-9')
NAMED=$(printf '%s %s' "$(field mn)" "${NUMBER: -4}" | tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-' | sed 's/^-*//; s/-*$//')
DRIVE=${DRIVE:-${NAMED:-my-drive}}
export DEVICE DRIVE ENGINE SIZE

# counters NAME: what the drive has counted so far, of the host's bytes and of the medium's.
counters() {
  nvme smart-log "$DEVICE" -o json > "$1.smart.json" 2>/dev/null || rm -f "$1.smart.json"
  nvme ocp smart-add-log "$DEVICE" -o json > "$1.ocp.json" 2>/dev/null || rm -f "$1.ocp.json"
}

# run NAME JOB [VARIABLE=VALUE]...: one job, with the counters before and after; not again if it is done.
run() {
  local name=$1 job=$2
  shift 2
  [ -s "$name.json" ] && ! grep -q '"error" : [1-9]' "$name.json" && return
  echo "$(date +%T) $name" >&2
  rm -f "$name"_*.log
  counters "$name.before"
  env NAME="$name" "$@" "${FIO[@]}" --output="$name.part" "jobs/$job.fio" 2> "$name.messages" || {
    mv "$name.part" "$name.json"
    echo "$name failed; $RESULTS/$name.messages says why" >&2
    exit 1
  }
  counters "$name.after"
  mv "$name.part" "$name.json"
}
"""

_WRITING_FUNCTIONS = r"""
if lsblk -nro MOUNTPOINT "$DEVICE" 2>/dev/null | grep -q .; then
  echo "$DEVICE, or a part of it, is in use; these jobs would destroy what is on it" >&2
  exit 1
fi

# share PERCENT: bytes of a share of the drive, in whole blocks of 1 MiB.
share() { echo $((SIZE / 1048576 * $1 / 100 * 1048576)); }
# part PERCENT TIMES: bytes of so many times that share, in pages of 4 KiB.
part() { awk -v bytes="$(share "$1")" -v times="$2" 'BEGIN { printf "%.0f", int(bytes * times / 4096 + 0.5) * 4096 }'; }
# once NAME COMMAND: not again if it is done.
once() { [ -e ".done-$1" ] || { "${@:2}" && touch ".done-$1"; }; }
erase() {
  echo "$(date +%T) erasing $DEVICE" >&2
  [ -b "$DEVICE" ] || return 0
  nvme format "$DEVICE" --ses=1 --force || blkdiscard -f "$DEVICE"
  sleep 60
}
# saturated_rate: writes a second of the last part of random writes on the full drive.
saturated_rate() {
  KNEE=$(awk '/"write" : \{/ { on = 1 } on && /"iops" :/ { sub(/,/, "", $3); printf "%d", $3; exit }' \
    *-uniform-100-part-8.json)
  echo "$(date +%T) the saturated rate is $KNEE writes/s" >&2
}
# offer PERCENT: variables of the open loop at a share of that; false where the fixed thread alone is more.
offer() {
  local rate=$((KNEE * $1 / 100))
  [ "$rate" -ge 10600 ] || { echo "skipped: $rate/s is less than the fixed 10,000/s and six others" >&2; return 1; }
  OFFER=(OFFERED=$rate READS=$(((rate - 10000) / 600)) WRITES=$(((rate - 10000) * 99 / 600)))
}
"""
