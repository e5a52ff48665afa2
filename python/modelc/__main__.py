"""The command line: `python -m modelc`, and the script `modelc`."""

import os
import sys

from . import _modelc


def main() -> None:
    """Runs the command line on the arguments of this process."""
    sys.stdout.flush()
    # What the command line left running ends with it.
    os._exit(_modelc.main(["modelc", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
