"""`python -m feedwatch` is the command line."""

import sys

from feedwatch.cli import main

if __name__ == "__main__":
    sys.exit(main())
