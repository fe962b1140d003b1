"""The command line: `flashtwin VERB`. One file a verb; shared code is in the underscored modules.

Data goes to stdout, talk to stderr. Exit status: 0 done, 1 flashtwin itself failed, 2 wrong usage
or bad input, 130 interrupted.
"""

import difflib
import importlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from click.shell_completion import shell_complete

from flashtwin import __version__
from flashtwin.cli._talk import error, say
from flashtwin.errors import FlashtwinError, IgnoredKeyWarning

#: The verbs in the order of the help, which is printed without loading them. `name` is the function of that name in the
#: module of that name.
VERBS = {
    "study": "Replay a trace on several systems and report the best choice.",
    "explain": "Find a trace's bottleneck, the change that removes it, and the gain.",
    "characterize": "Measure the properties of traces that matter to an SSD.",
    "advise": "Advise on partitions, page size, deduplication and more for a trace.",
    "replay": "Replay a trace on one system.",
    "compare": "Compare systems on a trace, or saved results.",
    "sweep": "Replay traces over a grid of settings, or search for the best.",
    "reproduce": "Re-run a paper's experiments and compare with its numbers.",
    "fit": "Fit a twin to your drive, from fio results.",
    "measure": "Run the drive experiments of `fit` on a twin.",
    "systems": "List the systems, or print all keys of one.",
    "devices": "List the NAND devices, or print one.",
    "workloads": "List synthetic workloads, print one, or check it.",
    "trace": "Inspect, convert, cut, sample, make and imitate traces.",
    "record": "Record a block trace, with page contents, from a live workload.",
    "serve": "Serve a simulated drive that stores real bytes.",
    "drive": "Inspect or check the image of a served drive.",
    "report": "Write the HTML report of saved results.",
    "cache": "List or delete cached aged drives.",
    "version": "Print the version.",
}
_MODULES = {"devices": "systems"}
#: Set by a shell that asks for completions, as Click has it: `eval "$(_FLASHTWIN_COMPLETE=bash_source flashtwin)"`.
COMPLETE = "_FLASHTWIN_COMPLETE"


class Verbs(click.Group):
    """Loads a verb's module when it is asked for, and names the nearest verb when there is none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(f"flashtwin.cli.{_MODULES.get(name, name)}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, of which none is loaded."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the verb, or says which one was likely meant."""
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(VERBS)}"
            ctx.fail(f"no verb is called '{args[0]}'; {hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@click.option("--no-cache", is_flag=True, help="Do not use the cache of aged drives (see `flashtwin cache`).")
@click.version_option(__version__, message="flashtwin %(version)s", help="Print the version.")
@click.pass_context
def flashtwin(ctx: click.Context, debug: bool, no_cache: bool) -> None:
    """Replay block traces, with page contents, on simulated SSDs that deduplicate, replicate and redirect.

    \b
    Example:
      flashtwin study mail.fiu.zst --out mail-study
    """
    ctx.obj = {"debug": debug}
    if no_cache:
        from flashtwin.replays import aged

        # Processes that this one starts are to hear of it, too.
        os.environ[aged.VARIABLE] = aged.OFF


def run(args: list[str]) -> int:
    """Runs one command line; returns its exit status. Every way to fail ends here, in one line."""
    if sys.stdout is None:
        error("standard output is closed, but results go there; send it to a file, or to /dev/null")
        return 2
    _take_any_letter()
    if asked := os.environ.get(COMPLETE):
        return shell_complete(flashtwin, {}, "flashtwin", COMPLETE, asked)
    return _invoked(args)


def _invoked(args: list[str]) -> int:
    try:
        with _notes(), flashtwin.make_context("flashtwin", list(args) or ["--help"]) as ctx:
            status: int = flashtwin.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as wrong:
        return _usage(wrong)
    except click.ClickException as wrong:
        error(wrong.format_message())
        return 2
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed it.
        _drop_output()
        return 0
    except OSError as failure:
        if not _is_of_output(failure):
            return _failed(failure, debug="--debug" in args)
        _drop_output()
        reason = (failure.strerror or str(failure)).lower()
        error(f"standard output: cannot be written to ({reason}); send it elsewhere")
        return 2
    except KeyboardInterrupt:
        say("interrupted; no incomplete file was left")
        return 130
    except Exception as failure:  # noqa: BLE001 - the last resort: one line instead of a traceback
        return _failed(failure, debug="--debug" in args)
    return status


@contextmanager
def _notes() -> Iterator[None]:
    """Warnings about keys are notes on the command line."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def note(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, IgnoredKeyWarning):
                say(f"note: {message}")
            else:
                others(message, category, *where, **more)

        warnings.simplefilter("always", IgnoredKeyWarning)
        warnings.showwarning = note
        yield


def _take_any_letter() -> None:
    """Makes stdout replace letters that its encoding lacks; for example, Windows writes files in a small one."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and out.errors == "strict":
        out.reconfigure(encoding="utf-8" if sys.platform == "win32" else None, errors="backslashreplace")


def _is_of_output(failure: OSError) -> bool:
    """Whether results could not be printed.

    Trying again would not tell, for what could not be written is gone by then. But only `click.echo` and
    the last flush of `_invoked` write to stdout, and talk that cannot be written to stderr is no error.
    """
    *_, (innermost, _) = traceback.walk_tb(failure.__traceback__)
    return innermost.f_code in (click.echo.__code__, _invoked.__code__)


def _drop_output() -> None:
    """Drops output that cannot be written; Python would complain once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(wrong: click.UsageError) -> int:
    if isinstance(wrong, click.exceptions.NoArgsIsHelpError):
        say(wrong.format_message())
        return 2
    error(wrong.format_message())
    if wrong.ctx is not None:
        say(f"try `{wrong.ctx.command_path} --help`")
    return 2


def _failed(failure: Exception, *, debug: bool) -> int:
    if isinstance(failure, FlashtwinError):
        error(str(failure))
        return 2
    if debug:
        traceback.print_exception(failure)
    place = "" if debug else "; `flashtwin --debug ...` shows where"
    error(f"internal error: {type(failure).__name__}: {' '.join(str(failure).split())}; please report it{place}")
    return 1
