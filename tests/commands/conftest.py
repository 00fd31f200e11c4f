"""A running stack with the stand-in worker, and the command line as a process against it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tenure.settings import Settings
from tenure.stack import local
from tests.stack.conftest import free_ports

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class CommandLine:
    """Runs `client.py` for a home, in a process of its own."""

    settings: Settings

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "TEMPORAL_"))}
        kept.pop("OPENAI_API_KEY", None)
        kept.pop("OPENAI_BASE_URL", None)
        return kept | {
            "TENURE_HOME": str(self.settings.home),
            "TENURE_TEMPORAL_PORT": str(self.settings.temporal_port),
            "TENURE_UI_PORT": str(self.settings.ui_port),
            "NO_COLOR": "1",
            **(extra or {}),
        }

    def popen(self, *arguments: str, extra: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "client.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environment(extra),
            cwd=self.settings.home.parent,
        )

    def __call__(self, *arguments: str, extra: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        with self.popen(*arguments, extra=extra) as process:
            out, err = process.communicate(timeout=45)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def no_stack(home: Path) -> CommandLine:
    """Return the command line of a home on whose ports nothing runs."""
    port, ui_port = free_ports(2)
    return CommandLine(Settings(home=home, temporal_port=port, ui_port=ui_port, _env_file=None))


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """The command line of a home whose stack runs the stand-in worker."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("TENURE_", "TEMPORAL_", "OPENAI_")):
                patch.delenv(name)
        patch.setenv("PYTHONPATH", str(ROOT))
        line = no_stack(tmp_path_factory.mktemp("commands") / "home")
        local.up(line.settings, worker_command=[sys.executable, str(Path(__file__).parent / "stand_in_worker.py")])
    yield line
    local.down(line.settings)
