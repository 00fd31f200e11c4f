"""Projects in repositories, with the real sandbox and an environment folder, for tests of commands."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import EnvironmentRequest, SetupReply, Workspace
from tenure.repositories.copies import Copies
from tenure.repositories.environments import Environments
from tenure.repositories.project_tests import ProjectTests
from tenure.repositories.workspaces import Workspaces
from tenure.sandbox.base import NoSandbox
from tenure.sandbox.engine import ContainedSandbox
from tests.sandbox.conftest import made, tested
from tests.support.repositories.git import make_repository


@dataclass
class MemoryPatches:
    """Patches in memory."""

    stored: dict[str, bytes] = field(default_factory=dict)

    def save_patch(self, run: str, digest: str, patch: bytes) -> None:
        """Store a patch."""
        self.stored[digest] = patch

    def load_patch(self, run: str, digest: str) -> bytes | None:
        """Return a patch."""
        return self.stored.get(digest)


@dataclass
class Project:
    """A project with what works on it."""

    workspace: Workspace
    workspaces: Workspaces
    environments: Environments
    tests: ProjectTests
    box: ContainedSandbox

    async def set_up(self, **others: object) -> SetupReply:
        """Set the environment up."""
        return await self.environments.set_up(EnvironmentRequest(workspace=self.workspace, **others))  # type: ignore[arg-type]

    async def change(self, files: Mapping[str, str | None], workspace: Workspace | None = None) -> Workspace:
        """Return the state after files were written, or removed."""
        state = workspace or self.workspace
        async with self.workspaces.open(state) as folder:
            for name, text in files.items():
                if text is None:
                    (folder / name).unlink()
                else:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_text(text)
            return (await self.workspaces.record(state)).workspace


def find_sandbox() -> ContainedSandbox:
    """Return the sandbox of this process, or skip the test."""
    try:
        found = tested()
    except NoSandbox as error:
        pytest.skip(str(error))
    if not found.usable and not found.findings:
        pytest.skip(found.message)
    return made()


async def open_project(folder: Path, files: dict[str, str], variables: Mapping[str, str] | None = None) -> Project:
    """Return a project with some files."""
    box = find_sandbox()
    source = folder / "source"
    if not source.exists():
        make_repository(source, dict(files))
    home = folder / "home"
    workspaces = Workspaces(home, MemoryPatches(), Copies(home / "repositories"))
    copied = await workspaces.copies.copy_local(source, "HEAD", lambda path: None)
    workspace = Workspace(run=RunId("run"), repository=copied.key, commit=copied.commit)
    environments = Environments(home, box, workspaces, variables or {})
    return Project(workspace, workspaces, environments, ProjectTests(box, workspaces, environments), box)


def make_wheel(folder: Path, name: str, source: str, version: str = "1.0") -> Path:
    """Make a wheel of one module in a folder, and return the folder."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(path, text)
    folder.chmod(0o755)
    return folder
