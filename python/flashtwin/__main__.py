"""`python -m flashtwin`: the command line, where the script of that name is not on the path."""

import sys

from flashtwin_start import main

if __name__ == "__main__":
    sys.exit(main())
