"""Command `apply`, and the options of `start` that write the files of a program."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure.cli.output import Output
from tenure.cli.terminal import check_writable, print_note, write_file
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import StartRequest
from tenure.runs.programs.repository import is_server_url
from tenure.runs.programs.write_back import check_accepted, check_files, commit_to_branch, write_files
from tenure.runs.run_ids import RunName
from tenure.runs.service import Service


@dataclass(frozen=True)
class WriteBack:
    """Destinations of the files of a program; nothing is written without an option."""

    apply: bool = False
    """Whether they replace the files that were given."""
    patch: Path | None = None
    """File for a patch."""
    branch: str | None = None
    """New branch of Git."""
    to: Path | None = None
    """Folder instead of the one of the given files."""
    failing: bool = False
    """Whether a program is written that is not accepted."""

    def __post_init__(self) -> None:
        """Check, before anything runs, that the patch can be written.

        Raises:
            InvalidRequest: it cannot.
        """
        check_writable(self.patch)

    @property
    def is_wanted(self) -> bool:
        """Whether anything is written."""
        return bool(self.apply or self.patch or self.branch)

    def check(self, request: StartRequest, *, detach: bool) -> None:
        """Check, before a run starts, that its program can be written.

        Raises:
            InvalidRequest: it cannot.
        """
        if self.is_wanted and detach:
            raise InvalidRequest(
                f"--apply, --patch and --branch need the end of the run: leave --detach out, or use `{PROGRAM} apply` "
                "after it"
            )
        if (self.apply or self.branch) and not (request.files or self.to or request.repo):
            raise InvalidRequest("it is not known where the program belongs: give --files, or its folder with --to DIR")
        if (self.apply or self.branch) and request.repo and is_server_url(str(request.repo)) and not self.to:
            raise InvalidRequest("the repository is on a server: name the folder of its clone with --to DIR")

    def write(self, result: Result) -> dict[str, Any]:
        """Write the files of a program, print what was done, and return it.

        Raises:
            TenureError: there is no accepted program, or a file has changed, and nothing is written; or Git refuses the
                branch, and a patch is written already.
        """
        if not (self.failing and (result.files or result.patch)):
            check_accepted(result)
        if self.apply:
            check_files(result, self.to)
        done: dict[str, Any] = {"id": result.id}
        if self.patch:
            write_file(self.patch, result.patch.encode())
            done["patch"] = str(self.patch)
            print_note(f"patch written to {self.patch}: `git apply {self.patch}` carries it out")
        if self.branch:
            done["commit"] = commit_to_branch(result, self.branch, self.to)
            print_note(f"committed to branch {self.branch} as {done['commit'][:12]}; your files are not changed")
        if self.apply:
            done["files"] = [str(path) for path in write_files(result, self.to)]
            for path in done["files"]:
                print_note(f"written: {path}")
            if not done["files"]:
                print_note("the files are as the program has them already")
        return done


async def apply(service: Service, run: RunName, write_back: WriteBack, output: Output) -> None:
    """Write the files of the program of a finished run."""
    chosen = write_back if write_back.is_wanted else WriteBack(True, to=write_back.to, failing=write_back.failing)
    result = await service.read_result(run)
    output.print_json(chosen.write(result))
