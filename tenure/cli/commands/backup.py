"""Commands `backup` and `restore`: copy a home while it is in use, and restore it elsewhere."""

from argparse import Namespace
from pathlib import Path

from tenure.cli.terminal import print_json, print_line, print_note
from tenure.installation import PROGRAM
from tenure.runs.errors import TenureError
from tenure.settings.home import HomeSettings
from tenure.temporal.stack.backup import Backup, BackupError, create_backup, restore_backup


def back_up(arguments: Namespace, settings: HomeSettings) -> int:
    """Run `backup`."""
    try:
        backup = create_backup(settings.home.absolute(), arguments.folder.absolute())
    except BackupError as error:
        raise TenureError(str(error)) from error
    _print(arguments, backup, f"{settings.home} copied to {arguments.folder}")
    if not Path(settings.knowledge_uri).is_relative_to(settings.home.absolute()):
        print_note(f"the knowledge base is outside of the home and was not copied: {settings.knowledge_uri}")
    return 0


def restore(arguments: Namespace, settings: HomeSettings) -> int:
    """Run `restore`."""
    try:
        backup = restore_backup(arguments.folder.absolute(), settings.home.absolute())
    except BackupError as error:
        raise TenureError(str(error)) from error
    _print(arguments, backup, f"{arguments.folder} restored to {settings.home}; `{PROGRAM} up` continues its runs")
    return 0


def _print(arguments: Namespace, backup: Backup, message: str) -> None:
    if arguments.json:
        facts = {"files": len(backup.files), "bytes": backup.total_bytes, "created_at": backup.created_at}
        print_json(facts | {"folder": str(arguments.folder)})
    else:
        size = f"{len(backup.files):,} files, {backup.total_bytes / 1e6:,.1f} MB"
        print_line(f"{message}: {size}, {backup.created_at[:19]} UTC")
