"""The experiments that measure a drive, as a shell script of fio jobs and lines of `nvme-cli`.

The script leaves one folder that `results.read_results` reads. Job files have variables in place of the device and of
sizes; fio takes them from its environment, so that each file is written once and is used for all depths or rates.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
SIZES_KIB = tuple(2**power for power in range(2, 11))
#: Zones take more than ten overwrites until they are settled.
_ZONE_OVERWRITES = 12.0
#: What times are told for, where no size is given, and how fast such a drive is thought to be.
USUAL_BYTES = 960_000_000_000
_SEQUENTIAL_MB_S, _RANDOM_MB_S = 1500.0, 400.0


@dataclass(frozen=True)
class Step:
    """One line of the script: a job with its variables, or another command."""

    #: Name of the result, without the number that orders it; empty where there is no job.
    name: str
    command: str = ""
    variables: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Probe:
    """One experiment: a job file, the steps that use it, and its purpose."""

    job: str
    title: str
    tells: str
    seconds: float
    text: str
    steps: Sequence[Step]
    only_reads: bool = False


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
            raise ArgumentError(
                f"{self.destroys!r} is no name of a device: it has a line's end or another control code"
            )

    @property
    def bytes(self) -> int:
        """The size for which the script gives times."""
        return self.size_bytes or USUAL_BYTES


def probes(plan: ProbePlan) -> list[Probe]:
    """The experiments, in order: the drive is filled, then come those that only read, then those that write."""
    if plan.destroys is None:
        return list(_reading(plan))
    return [_whole_fill(plan), *_reading(plan), *_alone_writes(plan), *_fills(plan), _open_loop(plan), *_skewed(plan)]


def job_files(plan: ProbePlan) -> dict[str, str]:
    """The text of each job file, by name."""
    return {probe.job: probe.text for probe in probes(plan)}


def _job(tag: str, options: str, sections: str = "", *, size: str = "SIZE") -> str:
    """A job file: common options, then its own."""
    name = tag.split(" ", 1)[0]
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
    return f"{common}{options.strip()}\n{sections.strip() or f'[{name}]'}\n"


def _timed(seconds: float, ramp: float = 5) -> str:
    return f"time_based=1\nruntime={seconds:g}\nramp_time={min(ramp, seconds / 4):.3g}s\n"


def _reading(plan: ProbePlan) -> Iterator[Probe]:
    timed = _timed(plan.seconds)
    yield Probe(
        "read-alone", "Reads of 4 KB, one at a time", "fixed delay and tR; modes of the histogram are page types",
        plan.seconds, _job("read-alone", f"rw=randread\nbs=4k\niodepth=1\n{timed}"), [Step("read-alone")],
        only_reads=True,
    )  # fmt: skip
    yield Probe(
        "read-depth", "Reads of 4 KB, 1 to 1,024 under way", "parallel units (dies or planes) and their service time",
        plan.seconds * len(DEPTHS),
        _job("read-depth depth=${DEPTH}", f"rw=randread\nbs=4k\niodepth=${{QUEUE}}\nnumjobs=${{JOBS}}\n{timed}"),
        [
            Step(f"read-depth-{depth:04}", variables={"DEPTH": depth, "QUEUE": depth // jobs, "JOBS": jobs})
            for depth in DEPTHS
            for jobs in (max(min(depth // 8, 16), 1),)
        ],
        only_reads=True,
    )  # fmt: skip
    short = max(plan.seconds / 2, 1)
    yield Probe(
        "read-size", "Reads of 4 KB to 1 MB, one at a time", "rate of a channel's bus, stripe, rate of the link",
        short * len(SIZES_KIB),
        _job("read-size size=${BYTES}", f"rw=randread\nbs=${{KIB}}k\niodepth=1\n{_timed(short)}"),
        [Step(f"read-size-{kib:04}k", variables={"KIB": kib, "BYTES": kib * 1024}) for kib in SIZES_KIB],
        only_reads=True,
    )  # fmt: skip


def _whole_fill(plan: ProbePlan) -> Probe:
    return Probe(
        "sequential", "Sequential writes over the whole drive, from the erased drive on, rate by second",
        "overhead of a program (parity, metadata); an SLC cache, if there is one. The reads below need a full drive: "
        "what was never written is not read from flash",
        _seconds(plan, 1, _SEQUENTIAL_MB_S), _sequential_job(), [_erase("whole"), _sequential("whole", 100)],
    )  # fmt: skip


def _sequential_job() -> str:
    options = "rw=write\nbs=1M\niodepth=32\nwrite_bw_log=${NAME}\nlog_avg_msec=1000\n"
    return _job("sequential series=${SERIES} fill=${FILL}", options, size="FILL")


def _sequential(series: str, fill: int) -> Step:
    return Step(f"sequential-{series}-{fill:03}", variables={"SERIES": series, "FILL": f"$(share {fill})"})


def _erase(series: str) -> Step:
    return Step("", f"once erase-{series} erase")


def _alone_writes(plan: ProbePlan) -> Iterator[Probe]:
    yield Probe(
        "write-alone", "Writes of 4 KB, one at a time", "latency of the buffer that writes go to", plan.seconds,
        _job("write-alone", f"rw=randwrite\nbs=4k\niodepth=1\n{_timed(plan.seconds)}"), [Step("write-alone")],
    )  # fmt: skip
    seconds = min(plan.seconds, 20)
    yield Probe(
        "spikes", "Writes with reads between them, each latency logged",
        "size of the buffer: writes from one slow read to the next", seconds,
        _job("spikes", f"rw=randrw\nrwmixread=50\nbs=4k\niodepth=1\ntime_based=1\nruntime={seconds}\n"
             "write_lat_log=${NAME}\ndisable_slat=1\n"), [Step("spikes")],
    )  # fmt: skip


def _writing_job(tag: str, options: str = "") -> str:
    """A part of a run of random writes; four threads of depth 64, which a part is divided among."""
    tags = f"{tag} series=${{SERIES}} fill=${{FILL}} part=${{PART}} of={PARTS}"
    return _job(tags, f"rw=randwrite\nbs=4k\niodepth=64\nnumjobs=4\nio_size=${{PART_BYTES}}\n{options}", size="FILL")


def _parts(name: str, series: str, fill: int, overwrites: float) -> list[Step]:
    # io_size is that of each of the four threads.
    share = overwrites / PARTS / 4
    return [
        Step(
            f"{name}-{fill:03}-part-{part}",
            variables={
                "SERIES": series, "FILL": f"$(share {fill})", "PART": part,
                "PART_BYTES": f"$(part {fill} {share:.6f})",
            },
        )
        for part in range(1, PARTS + 1)
    ]  # fmt: skip


def _fills(plan: ProbePlan) -> Iterator[Probe]:
    steps: list[Step] = [_erase("uniform")]
    for fill in FILLS:
        steps += [_sequential("uniform", fill), *_parts("uniform", "uniform", fill, plan.overwrites)]
    filled = sum(FILLS) / 100
    yield Probe(
        "uniform", f"Random writes to steady state with {', '.join(map(str, FILLS))} % of the drive in use",
        "spare space and overhead (from write amplification), tPROG and flash page (from rate and amplification)",
        _seconds(plan, filled, _SEQUENTIAL_MB_S) + _seconds(plan, filled * plan.overwrites, _RANDOM_MB_S),
        _writing_job("uniform"), steps,
    )  # fmt: skip


def _open_loop(plan: ProbePlan) -> Probe:
    """On the full drive, in the steady state that the run before leaves."""
    bulk = (
        "# Seven threads: one at a fixed rate with half reads, six with exponential gaps and 1 % reads.\n"
        "[fixed]\ngroup_reporting=0\nrwmixread=50\nrate_iops=5000,5000\n"
        "[bulk]\nnew_group\nnumjobs=6\nrwmixread=1\nrate_process=poisson\nrate_iops=${READS},${WRITES}"
    )
    return Probe(
        "open-loop", "Open loop at 10 to 120 % of the saturated rate",
        "priority of reads, suspension, size of a program, slots and arbitration",
        2 * plan.seconds * len(RATES),
        _job(
            "open-loop offered=${OFFERED} fill=${SIZE}",
            f"rw=randrw\nbs=4k\niodepth=64\n{_timed(2 * plan.seconds, 15)}", bulk,
        ),
        [Step("", "saturated_rate"), *(Step(f"open-loop-{rate:03}", f"offer {rate} && ") for rate in RATES)],
    )  # fmt: skip


def _skewed(plan: ProbePlan) -> Iterator[Probe]:
    both = _seconds(plan, 1, _SEQUENTIAL_MB_S)
    yield Probe(
        "zipf", "Random writes by zipf 0.8 of fio, whose hot addresses lie in clusters", "separation of hot and cold",
        both + _seconds(plan, plan.overwrites, _RANDOM_MB_S),
        _writing_job("zipf exponent=0.8", "random_distribution=zipf:0.8\n"),
        [_erase("zipf"), _sequential("zipf", 100), *_parts("zipf", "zipf", 100, plan.overwrites)],
    )  # fmt: skip
    overwrites = max(plan.overwrites, _ZONE_OVERWRITES)
    yield Probe(
        "zones", f"Random writes, 95 % of them to 5 % of the addresses, {overwrites:g} times over (it settles slowly)",
        "rule by which victims are chosen, separation of hot and cold",
        both + _seconds(plan, overwrites, _RANDOM_MB_S),
        _writing_job("zones hot=5 writes=95", "random_distribution=zoned:95/5:5/95\n"),
        [_erase("zones"), _sequential("zones", 100), *_parts("zones", "zones", 100, overwrites)],
    )  # fmt: skip


def _seconds(plan: ProbePlan, times: float, mb_s: float) -> float:
    return times * plan.bytes / 1e6 / mb_s


def script(plan: ProbePlan) -> str:
    """The script that runs the experiments in order."""
    found = probes(plan)
    lines = [*_head(plan, sum(probe.seconds for probe in found)), "", _FUNCTIONS.strip()]
    lines += [] if plan.destroys is None else ["", _WRITING_FUNCTIONS.strip()]
    texts = job_files(plan)
    for name, text in texts.items():
        lines += ["", f"cat > jobs/{name}.fio <<'JOB'", text.rstrip(), "JOB"]
    number = 0
    for probe in found:
        lines += ["", f"# {probe.title}: about {_length(probe.seconds)}."]
        lines += textwrap.wrap(f"It tells: {probe.tells}.", 100, initial_indent="# ", subsequent_indent="# ")
        for step in probe.steps:
            number += bool(step.name)
            lines.append(_line(step, number, texts))
    return "\n".join([*lines, "", 'echo "done; now: flashtwin fit $RESULTS" >&2', ""])


def _line(step: Step, number: int, texts: Mapping[str, str]) -> str:
    if not step.name:
        return step.command
    job = max((name for name in texts if step.name.startswith(name)), key=len)
    settings = [f'{key}="{value}"' if "$" in str(value) else f"{key}={value}" for key, value in step.variables.items()]
    call = " ".join(["run", f"{number:03}-{step.name}", job, *settings])
    return f"{step.command}{call}" + (' "${OFFER[@]}"' if step.command else "")


def _length(seconds: float) -> str:
    """A time as people say it."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{max(math.ceil(seconds), 1)} s"


def _head(plan: ProbePlan, seconds: float) -> Iterator[str]:
    size = "a drive of 960 GB" if plan.size_bytes is None else f"{plan.size_bytes / 1e9:,.4g} GB"
    yield "#!/usr/bin/env bash"
    yield "# Experiments on a drive, for `flashtwin fit`. Times are guesses for " + size + "."
    if plan.destroys is None:
        yield "# These jobs only read. Nothing tells from reads alone how the drive writes: `flashtwin fit jobs"
        yield "# --destroys-data DEVICE` prints all jobs; they ERASE the device. Reads tell of flash only where data"
        yield "# was written: run them on a drive that is full, and not mounted."
        yield f"# Usage: bash FILE DEVICE [RESULTS]. It takes about {_length(seconds)}."
    else:
        yield f"# THIS SCRIPT DESTROYS ALL DATA ON {plan.destroys}. It writes the drive over many times."
        yield f"# Usage: sudo bash FILE [RESULTS]. It takes about {_length(seconds)}. If it stops, run it again: it"
        yield "# goes on where it stopped. It needs fio 3.0 or later and nvme-cli; without the drive's OCP counters"
        yield "# (`nvme ocp smart-add-log`) write amplification stays unknown."
    yield "set -eu"
    yield ""
    if plan.destroys is None:
        yield f"DEVICE=${{1:-{PLACEHOLDER}}}"
        yield "RESULTS=${2:-results}"
    else:
        yield f"DEVICE={shlex.quote(plan.destroys)}"
        yield "RESULTS=${1:-results}"
    yield "ENGINE=${ENGINE:-libaio}"
    if plan.size_bytes is None:
        yield 'SIZE=${SIZE:-$(blockdev --getsize64 "$DEVICE" 2>/dev/null || stat -c %s "$DEVICE")}'
    else:
        yield f"SIZE={plan.size_bytes}"
    yield f"FIO=(fio{' --readonly' if plan.destroys is None else ''} --output-format=json+)"


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
