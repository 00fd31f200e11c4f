"""Fixtures: a running stack with the stub worker, and the command line as a process."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from tenure.cli import main as client
from tenure.settings import Settings
from tenure.temporal.stack import local
from tests.support.ports import free_ports

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class CommandLine:
    """Runs commands for a home."""

    settings: Settings

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "TEMPORAL_"))}
        kept.pop("OPENAI_API_KEY", None)
        kept.pop("OPENAI_BASE_URL", None)
        return kept | {
            "TENURE_HOME": str(self.settings.home),
            "TENURE_TEMPORAL_PORT": str(self.settings.temporal_port),
            "TENURE_UI_PORT": str(self.settings.ui_port),
            "TENURE_SITE_PORT": str(self.settings.site_port),
            "NO_COLOR": "1",
            **(extra or {}),
        }

    @contextmanager
    def popen(self, *arguments: str, extra: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
        """Start a command in a process of its own, as a person does; a test that fails does not wait for it."""
        with subprocess.Popen(
            [sys.executable, str(ROOT / "client.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environment(extra),
            cwd=self.settings.home.parent,
        ) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def __call__(self, *arguments: str, extra: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in this process, which spares the imports."""
        return run_client(arguments, self.environment(extra), self.settings.home.parent)


def run_client(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, both: io.StringIO | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, in a thread, since its event loop is its own; `both` receives both outputs."""
    out, err = both or io.StringIO(), both or io.StringIO()
    with (
        patch.dict(os.environ, environment, clear=True),
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        ThreadPoolExecutor(1) as thread,
    ):
        code = thread.submit(_get_exit_code, arguments).result()
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def _get_exit_code(arguments: Sequence[str]) -> int:
    """Return the exit code of a command, also of one that argparse refuses."""
    try:
        return client.main(arguments)
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        return ended.code


def no_stack(home: Path) -> CommandLine:
    """Return the command line of a home on whose ports nothing runs, and whose stack serves no page."""
    port, ui_port = free_ports(2)
    return CommandLine(Settings(home=home, temporal_port=port, ui_port=ui_port, site_port=0, _env_file=None))


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """Command line of a home whose stack runs the stub worker."""
    with pytest.MonkeyPatch.context() as without:
        for name in list(os.environ):
            if name.startswith(("TENURE_", "TEMPORAL_", "OPENAI_")):
                without.delenv(name)
        without.setenv("PYTHONPATH", str(ROOT))
        line = no_stack(tmp_path_factory.mktemp("commands") / "home")
        local.start_stack(line.settings, worker_command=[sys.executable, str(Path(__file__).parent / "stub_worker.py")])
    assert line("up").returncode == 0  # returns when the worker asks for work
    yield line
    local.stop_stack(line.settings)
