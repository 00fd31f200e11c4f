"""Run the command line of an installation: `tenure --help`, or `python -m tenure --help`.

In a checkout, `uv run tenure` runs this folder instead of an installed command.
"""

import sys
from pathlib import Path

if not __package__ and __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from tenure.installation import ROOT, extend_import_path


def run() -> None:
    """Run a command and end the process."""
    extend_import_path(ROOT)
    from tenure.cli.main import leave, main

    leave(main())


if __name__ == "__main__":
    run()
