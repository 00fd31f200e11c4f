"""Run the command line of an installation: `tenure --help`, or `python -m tenure --help`."""

from tenure.installation import ROOT, extend_import_path


def run() -> None:
    """Run a command and end the process."""
    extend_import_path(ROOT)
    from tenure.cli.main import leave, main

    leave(main())


if __name__ == "__main__":
    run()
