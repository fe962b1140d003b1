"""The one family of errors. Written in Python, raised by Python and by the core alike.

Modules that only read results (`flashtwin.report`) raise errors of the family without loading the core.
"""


class FlashtwinError(ValueError):
    """Bad input, in one message: the fault, its place, and the cure. The parent of all others.

    >>> import flashtwin as ft
    >>> try:
    ...     ft.system("rr-sdd")
    ... except ft.FlashtwinError as error:
    ...     print(error)
    there is no system 'rr-sdd'; did you mean 'rr-ssd'? There are: ...
    """


class TraceError(FlashtwinError):
    """A trace cannot be read, or not in the way asked for."""


class ConfigError(FlashtwinError):
    """A system, a device or a key of the configuration is wrong."""


class SimError(FlashtwinError):
    """A system cannot replay this trace, or results cannot be written."""


class OutputError(FlashtwinError):
    """A folder cannot be written to or read from, or holds something else."""


class ReportError(FlashtwinError):
    """Results cannot be reported on; the message gives the fault, its place and the cure."""


class LiveError(FlashtwinError):
    """Serving or recording is impossible, or has failed; the message gives the fault, its place and the cure."""


class DriveError(FlashtwinError):
    """Measurements of a drive cannot be read, or are not enough; the message names the job and the cure."""


class ArgumentError(FlashtwinError, TypeError):
    """An argument of a function is of the wrong kind; the message names the expected one."""


class IgnoredKeyWarning(UserWarning):
    """A key was set that a system does not look at: no value of it changes what that system does.

    >>> import warnings
    >>> import flashtwin as ft
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     system = ft.system("ca-ssd", settings={"replication.alpha": 0.2})
    >>> print(caught[0].message)
    ftl.replication.alpha is not looked at by ca-ssd, because ftl.replication.policy is "none"
    """


class InternalError(RuntimeError):
    """A mistake in flashtwin itself; please report it with the message."""


# Tracebacks and pickles name an error as people import it, whichever file it is written in.
for _error in (
    FlashtwinError, TraceError, ConfigError, SimError, OutputError, ReportError, LiveError, DriveError, ArgumentError,
):  # fmt: skip
    _error.__module__ = "flashtwin"
InternalError.__module__ = IgnoredKeyWarning.__module__ = "flashtwin"


def cannot_be_written(path: object, reason: str) -> str:
    """The message for a file or a folder that cannot be written: place, cause, cure."""
    cure = "free some space, or choose a folder on another disk" if "no space" in reason else "choose another folder"
    return f"{path}: cannot be written ({reason}); {cure}"


def not_installed(what: str, library: str, package: str) -> FlashtwinError:
    """An error about a library that only a few verbs need: `not_installed("a fit", "SciPy", "scipy")`."""
    return FlashtwinError(
        f"{what} needs {library}, which is not installed; run `make extras` in your clone of flashtwin, "
        f"or `pip install {package}`"
    )
