"""Commands `backup` and `restore`: copy a home while it is in use, and restore it elsewhere."""

from pathlib import Path

from tenure.cli.output import Output
from tenure.cli.terminal import print_line, print_note
from tenure.installation import PROGRAM
from tenure.settings.home import HomeSettings
from tenure.temporal.stack.backup import Backup, create_backup, restore_backup


def back_up(settings: HomeSettings, folder: Path, output: Output) -> None:
    """Run `backup`."""
    backup = create_backup(settings.home.absolute(), folder.absolute())
    _print(backup, folder, f"{settings.home} copied to {folder}", output)
    if not Path(settings.knowledge_uri).is_relative_to(settings.home.absolute()):
        print_note(f"the knowledge base is outside of the home and was not copied: {settings.knowledge_uri}")


def restore(settings: HomeSettings, folder: Path, output: Output) -> None:
    """Run `restore`."""
    backup = restore_backup(folder.absolute(), settings.home.absolute())
    _print(backup, folder, f"{folder} restored to {settings.home}; `{PROGRAM} up` continues its runs", output)


def _print(backup: Backup, folder: Path, message: str, output: Output) -> None:
    facts = {"files": len(backup.files), "bytes": backup.total_bytes, "created_at": backup.created_at}
    if not output.print_json(facts | {"folder": str(folder)}):
        size = f"{len(backup.files):,} files, {backup.total_bytes / 1e6:,.1f} MB"
        print_line(f"{message}: {size}, {backup.created_at[:19]} UTC")
