"""Commands of the groups `archive` and `files`: move finished runs between homes, delete them, save their files."""

import re
from collections.abc import Sequence
from pathlib import Path

from tenure.algorithms.text.counts import format_count
from tenure.cli.output import Output, print_rows
from tenure.cli.terminal import check_writable, print_line, print_note, write_file
from tenure.contracts.sandbox import Artifact
from tenure.runs import archives
from tenure.runs.formatting import truncate_line
from tenure.runs.programs.files import list_artifacts, save_files
from tenure.runs.run_ids import RunName
from tenure.runs.service import Service
from tenure.settings.home import HomeSettings

_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]+")
"""Characters of an id that the name of its file does not have: the slash of `research-0f3a/ask`."""


async def export(service: Service, run: RunName, file: Path | None, output: Output) -> None:
    """Write the archive of a finished run into a file."""
    target = file or Path(_UNSAFE.sub("-", run).strip(".") + ".tenure")
    check_writable(target)
    archive = await archives.export_run(service, run)
    write_file(target, archive, private=True)
    if not output.print_json({"id": run, "file": str(target), "bytes": len(archive)}):
        print_line(f"run {run} exported to {target}: {len(archive) / 1e6:,.2f} MB")


def import_file(settings: HomeSettings, file: Path, output: Output) -> None:
    """Add the runs of a file to the archive of the home."""
    names = archives.import_file(settings, file)
    if not output.print_json({"file": str(file), "runs": names}):
        print_line(f"{format_count(len(names), 'run')} imported from {file}: {', '.join(names[:5])}")


async def delete(service: Service, run: RunName, output: Output) -> None:
    """Delete a finished run from the archive and the server."""
    deleted = await archives.delete_run(service, run)
    if not output.print_json({"id": run, "workflows": deleted}):
        print_line(f"run {run} deleted, with its follow-up questions; its corpora and memories remain")


async def show_files(service: Service, run: RunName, output: Output) -> None:
    """List the files that the programs of a run created."""
    artifacts = await list_artifacts(service, run)
    _print_files(run, artifacts, [artifact.path for artifact in artifacts], output)


async def save(service: Service, run: RunName, folder: Path, output: Output) -> None:
    """Save these files into a folder."""
    artifacts = await list_artifacts(service, run)
    _print_files(run, artifacts, list(map(str, save_files(artifacts, folder, service.settings))), output)


def _print_files(run: str, artifacts: Sequence[Artifact], locations: Sequence[str], output: Output) -> None:
    """Print files with their sizes and locations."""
    located = list(zip(artifacts, locations, strict=True))
    if output.print_json([artifact.model_dump(mode="json") | {"path": path} for artifact, path in located]):
        return
    if not located:
        print_note(f"the programs of {run} created no file")
        return
    print_rows(
        ("name", "bytes", "location"),
        ((truncate_line(file.name, 200), f"{file.bytes:,}", truncate_line(path, 400)) for file, path in located),
        numbers=("bytes",),
    )
