"""Files a command writes, and what it prints on a terminal."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import pytest

from tenure.cli.terminal import check_writable, write_file
from tenure.runs.errors import InvalidRequest, TenureError
from tests.support.screen import run_on_terminal

ROOT = Path(__file__).resolve().parents[2]

HOSTILE = "a\x1b]52;c;aGk=\x07b\x9b2Jc\rd\x08e\u202ef\u200bg [link=file:///etc]x[/link] [/]"
"""Text that writes the clipboard, clears the screen and turns the direction, with markup of the console."""

PRINTING = {
    "line": "print_line(HOSTILE)",
    "note": "print_note(HOSTILE)",
    "text": "print_text(HOSTILE)",
    "json": "print_json({'text': HOSTILE})",
    "json lines": "print_json_lines(json.dumps(HOSTILE, ensure_ascii=False))",
    "markdown": "print_markdown('# ' + HOSTILE + '\\n\\n[t](https://a.org/\\x1b]0;x\\x07) &#27;[2J\\n\\n`' + HOSTILE"
    " + '`')",
    "table": "table = Table(title=HOSTILE); table.add_column(HOSTILE); table.add_row(HOSTILE);"
    " table.add_row(Text(HOSTILE)); print_table(table)",
    "progress": "display = choose_display(make_stderr_console()); display.__enter__(); display.say(HOSTILE);"
    " display.show(RunSnapshot(pending_failures=(PendingFailure(HOSTILE, 2),), ingest=IngestProgress(stage='reading',"
    " files_total=2, last_file=HOSTILE))); display.__exit__(None, None, None)",
    "usage error": "build_parser().parse_args(['start', 'q', '--effort', HOSTILE])",
    "unknown option": "build_parser().parse_args(['list', '--' + HOSTILE])",
    "error": "from tenure.cli.main import _tell; _tell(ValueError(HOSTILE), 1)",
    "log": "from tenure.logs import configure_logging; import structlog; configure_logging('INFO');"
    " structlog.get_logger().info(HOSTILE, path=HOSTILE)",
}
"""Ways in which the client shows text."""

PROGRAM = """
import json, os, sys, traceback
from rich.table import Table
from rich.text import Text
from tenure.cli.progress.display import choose_display
from tenure.runs.session.snapshot import PendingFailure, RunSnapshot
from tenure.cli.parser import build_parser
from tenure.cli.terminal import *
from tenure.cli.terminal import make_stderr_console
from tenure.contracts.evidence.corpora import IngestProgress
HOSTILE, printing = json.loads(sys.argv[1])
for way, code in printing.items():
    try:
        exec(code)
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(1, b"<end>")
"""
"""Program that shows the text in all ways, since each start of an interpreter with these modules takes 0.5 s."""

CONSOLE_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
"""Control codes that the console itself writes: colours, and movements of the cursor in the live table."""


@cache
def _show_all(*, on_terminal: bool) -> dict[str, str]:
    """Print on a pseudo-terminal or into a pipe, and return what arrives by the way of printing."""
    command = [sys.executable, "-c", PROGRAM, json.dumps([HOSTILE, PRINTING])]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "300"}
    environment.pop("NO_COLOR", None)
    if not on_terminal:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        shown = done.stdout.decode()
    else:
        shown = run_on_terminal(command, environment, 300, 24)
    return dict(zip(PRINTING, shown.split("<end>")[:-1], strict=True))


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    """The new text has the name, and no temporary file is left."""
    target = tmp_path / "report.md"
    target.write_text("old")

    write_file(target, b"new")

    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    """A file that only its owner reads, or a script, is the same to others after the write; a private one is closed."""
    target = tmp_path / "report.md"
    for mode in (0o600, 0o640, 0o755):
        target.write_text("old")
        target.chmod(mode)

        write_file(target, b"new")

        assert stat.S_IMODE(target.stat().st_mode) == mode
    write_file(target, b"secret", private=True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed(tmp_path: Path, exists: bool) -> None:
    """A chain of relative links stays, and the file that it names gets the text, whether or not it exists."""
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "report.md", tmp_path / "link.md"
    (tmp_path / "data" / "inner.md").symlink_to("report.md")
    link.symlink_to("data/inner.md")
    if exists:
        target.write_text("old")

    check_writable(link)
    write_file(link, b"new")

    assert link.is_symlink() and (tmp_path / "data" / "inner.md").is_symlink()
    assert target.read_text() == "new" and not target.is_symlink()
    assert len(list((tmp_path / "data").iterdir())) == 2


def test_a_loop_of_links_is_no_file(tmp_path: Path) -> None:
    """Links that lead to each other are reported in one line and stay."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(InvalidRequest, match="cannot be written"):
        check_writable(tmp_path / "a")
    with pytest.raises(TenureError, match="cannot be written"):
        write_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink() and (tmp_path / "b").is_symlink()


@pytest.mark.parametrize("linked", [True, False])
def test_a_pipe_is_written_into(tmp_path: Path, linked: bool) -> None:
    """The reader of a named pipe receives the text, and the pipe stays one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("pipe")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()

    check_writable(tmp_path / "link" if linked else pipe)
    write_file(tmp_path / "link" if linked else pipe, b"new")
    reader.join(30)

    assert received == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root creates devices")
def test_a_device_is_written_into(tmp_path: Path) -> None:
    """A device of this folder, with the numbers of the null device, is still one after a report went into it."""
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.open("wb").close()
    except PermissionError:
        pytest.skip("this system opens no device here")

    check_writable(device)
    write_file(device, b"new")

    assert stat.S_ISCHR(device.stat().st_mode)
    assert device.read_bytes() == b""


def test_the_file_of_standard_output_is_appended_to(tmp_path: Path) -> None:
    """A log that standard output goes to keeps its earlier lines."""
    log = tmp_path / "log"
    log.write_text("earlier\n")
    program = "from pathlib import Path\nfrom tenure.cli.terminal import check_writable, write_file\n"
    program += "check_writable(Path('/dev/stdout'))\nwrite_file(Path('/dev/stdout'), b'new')"
    with log.open("ab") as output:
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=output,
            check=True,
        )

    assert log.read_text() == "earlier\nnew"


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    """If the name is taken by a folder the error says so, and nothing is left behind."""
    target = tmp_path / "report.md"
    target.mkdir()

    with pytest.raises(TenureError, match="cannot be written"):
        write_file(target, b"new")
    assert list(tmp_path.iterdir()) == [target]


def test_unwritable_output_is_found_before_anything_runs(tmp_path: Path) -> None:
    """A folder that does not exist, or a folder as the file, is a usage error."""
    check_writable(None)
    check_writable(tmp_path / "report.md")

    with pytest.raises(InvalidRequest, match="is not a folder"):
        check_writable(tmp_path / "no" / "report.md")
    with pytest.raises(InvalidRequest, match="cannot be written"):
        check_writable(tmp_path)


@pytest.mark.parametrize("way", PRINTING)
@pytest.mark.parametrize("on_terminal", [True, False], ids=["terminal", "pipe"])
def test_no_text_acts_on_a_terminal(way: str, on_terminal: bool) -> None:
    """Whatever is shown, only the colours and movements of the console itself reach a terminal or a pipe."""
    shown = _show_all(on_terminal=on_terminal)[way]
    rest = CONSOLE_CODES.sub("", shown) if on_terminal else shown

    assert "Traceback" not in shown
    assert re.search(r"\\(x1b|u001b)", shown)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202e]", rest)
    assert "\r" not in rest.replace("\r\n", "").replace("\r", "", 3 if way == "progress" else 0)
    assert "2J" not in "".join(CONSOLE_CODES.findall(shown))
