"""`flashtwin advise`: which mechanisms pay on a workload, in plain words."""

from flashtwin.characterization.measuring import Characterization, measure
from flashtwin.cli._bridge import verb
from flashtwin.cli._characterizing import MeasuringOptions
from flashtwin.cli._options import Json, TracePath
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import data, data_json, say
from flashtwin.traces import sources
from flashtwin.traces.reading import Reading


@verb()
def advise(path: TracePath, *, reading: Reading, measuring: MeasuringOptions, json: Json = False) -> None:
    """Advise on partitions, page size, deduplication, replication and waiting for TRACE.

    TRACE is a file, - for standard input, or a folder from `characterize` or `study`, whose results are used as they
    are; measured replays of a study come first. Each piece of advice gives the numbers, an action and the command, or
    says that the trace cannot tell. docs/report.md explains each sentence.

    \b
    Example:
      flashtwin advise mail.fiu.zst
      flashtwin advise mail-workload --json
    """
    if sources.is_results(path):
        found = Characterization.read(path)
        usual = MeasuringOptions()
        if reading != Reading() or measuring.stream or measuring.options != usual.options:
            say(f"{path}: advice is from what was measured; options of reading and measuring do not apply")
    else:
        with Bars() as bars:
            found = measure(
                path,
                measuring.options,
                reading,
                stream=measuring.stream,
                progress=bars.named("characterizing", "steps"),
            )
    if json:
        data_json({"trace": found.name, "advice": [entry.as_json() for entry in found.advice]})
        return
    for entry in found.advice:
        done = entry.action
        data(f"{entry.topic}: {entry.answer}\n  {entry.sentence}")
        if done:
            data(f"  do: {done.told}\n      {done.command}")
