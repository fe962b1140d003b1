"""`flashtwin version`."""

import platform

from flashtwin import __version__
from flashtwin.cli._bridge import verb
from flashtwin.cli._options import Json
from flashtwin.cli._talk import data, data_json


@verb()
def version(*, json: Json = False) -> None:
    """Print the version of flashtwin, which every result records.

    \b
    Example:
      flashtwin version
    """
    if json:
        data_json({"flashtwin": __version__, "python": platform.python_version(), "machine": platform.machine()})
    else:
        data(f"flashtwin {__version__}")
