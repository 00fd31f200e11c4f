"""Copy the source of Tenure, change it as a developer does, and run its command line."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from temporalio.client import Client

from benchmarks.start import environment
from tenure.settings import Settings
from tenure.temporal import connection

ROOT: Final = Path(__file__).resolve().parents[2]
_PARTS: Final = ("tenure", "workflows", "activities", "worker.py", "client.py", "pyproject.toml", "docs")
_COMMAND_SECONDS: Final = 300


class SourceCopy:
    """Copy of the source with a home of its own.

    Args:
        folder: new folder, with the source, the home and the documents.
        variables: environment variables of the commands.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.source, self.home = folder / "source", folder / "home"
        self.source.mkdir(parents=True)
        for part in _PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            copy(ROOT / part, self.source / part)
        without_path = {name: value for name, value in environment(self.home).items() if name != "PYTHONPATH"}
        self.environment = {**without_path, "TENURE_DOCUMENT_ROOTS": str(folder), **variables}

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text that occurs once in a file.

        Raises:
            ValueError: it does not occur once.
        """
        file = self.source / path
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{path} does not contain {old!r} once: the change of the source has to be adapted")
        file.write_text(text.replace(old, new), encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """Run a command of `client.py` and return what it printed.

        Raises:
            RuntimeError: it failed.
        """
        ran = subprocess.run(
            [sys.executable, str(self.source / "client.py"), *arguments],
            env=self.environment,
            cwd=self.source,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
        )
        if ran.returncode:
            raise RuntimeError(f"`{' '.join(arguments)}` ended with {ran.returncode}: {ran.stderr}{ran.stdout}")
        return ran.stdout if "--json" in arguments else ran.stderr + ran.stdout

    async def connect(self) -> Client:
        """Connect to the server of the home."""
        port = int(self.environment["TENURE_TEMPORAL_PORT"])
        for name in [name for name in os.environ if name.startswith("TEMPORAL_")]:
            del os.environ[name]
        return await connection.connect(Settings(home=self.home, temporal_port=port, _env_file=None))


def reorder_workflow(copy: SourceCopy) -> None:
    """Choose the mode of a run before the search instead of after it."""
    copy.edit(
        "workflows/run/agent.py",
        "        _, routed = await asyncio.gather(self._read(), self._ask_router())\n",
        "        routed = await self._ask_router()\n        await self._read()\n",
    )


def change_algorithm(copy: SourceCopy) -> None:
    """Skip the reflection after the first report in the state machine."""
    copy.edit(
        "tenure/algorithms/control/transitions.py",
        '        case "generate_report":\n            return "reflect_on_report"\n',
        '        case "generate_report":\n            return "end"\n',
    )
