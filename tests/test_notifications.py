"""Tests of notifications: signed requests to a local server, commands in real processes."""

import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure import notifications
from tenure.contracts.base import RunId
from tenure.contracts.run.notifications import Notification
from tenure.notifications import (
    SIGNATURE_HEADER,
    NotificationRejected,
    NotificationUnavailable,
    Notifier,
    build_environment,
    build_payload,
    sign_body,
)
from tenure.settings import Settings

NOTIFICATION = Notification(
    delivery="d-1",
    id=RunId("code-what is/this"),
    event="finished",
    status="done",
    question='Why"; touch broken; `touch broken`?',
    at="2026-01-02T03:04:05+00:00",
    ui_url_prefix="http://127.0.0.1:8233/namespaces/default/workflows/",
)


class Receiver:
    """HTTP server on loopback that records requests and answers with given statuses."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.received: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Answering(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append((dict(self.headers), body))
                self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing to standard error."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook?token=secret"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> "Receiver":
        self._thread.start()
        return self

    def __exit__(self, *exit: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as one:
        yield one


async def test_a_request_is_signed_over_its_body(receiver: Receiver) -> None:
    """The secret proves the origin of a request; the body contains only the state of the run."""
    await Notifier(receiver.url, b"s3cret").post_webhook(NOTIFICATION)

    [(headers, body)] = receiver.received
    assert headers[SIGNATURE_HEADER] == sign_body(b"s3cret", body) != sign_body(b"other", body)
    assert headers[SIGNATURE_HEADER].startswith("sha256=") and len(headers[SIGNATURE_HEADER]) == 7 + 64
    assert json.loads(body) == {
        "delivery": "d-1",
        "event": "finished",
        "id": "code-what is/this",
        "status": "done",
        "question": NOTIFICATION.question,
        "url": "http://127.0.0.1:8233/namespaces/default/workflows/code-what%20is%2Fthis",
        "at": "2026-01-02T03:04:05+00:00",
    }


async def test_without_a_secret_requests_are_unsigned(receiver: Receiver) -> None:
    """There is no signature header, and no URL if the run's page is unknown."""
    await Notifier(receiver.url).post_webhook(NOTIFICATION.model_copy(update={"ui_url_prefix": ""}))

    [(headers, body)] = receiver.received
    assert SIGNATURE_HEADER not in headers
    assert json.loads(body)["url"] == ""


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (500, NotificationUnavailable),
        (429, NotificationUnavailable),
        (404, NotificationRejected),
        (302, NotificationRejected),
    ],
)
async def test_the_status_decides_about_a_retry(receiver: Receiver, status: int, error: type[Exception]) -> None:
    """A busy receiver is tried again, a refusing one is not, and no error repeats the URL."""
    receiver.answers = [status]

    with pytest.raises(error, match=f"answers with status {status}") as raised:
        await Notifier(receiver.url).post_webhook(NOTIFICATION)
    assert "token" not in str(raised.value)


async def test_an_unreachable_receiver_is_tried_again(receiver: Receiver) -> None:
    """An unreachable receiver may come back; an invalid URL never works."""
    with Receiver() as gone:
        url = gone.url
    with pytest.raises(NotificationUnavailable, match="does not answer: ConnectError"):
        await Notifier(url).post_webhook(NOTIFICATION)
    with pytest.raises(NotificationRejected, match="not an HTTP URL"):
        await Notifier("ftp://127.0.0.1/x").post_webhook(NOTIFICATION)


async def test_a_command_reads_the_notification_from_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No text of a question is interpreted by a shell, and the worker's keys are not passed on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    program = "import json, os; json.dump(dict(os.environ), open('seen.json', 'w'))"
    await Notifier(command=f'{sys.executable} -c "{program}"').run_command(NOTIFICATION)

    seen = json.loads(Path("seen.json").read_text())
    assert seen["RUN_QUESTION"] == NOTIFICATION.question
    assert (seen["RUN_ID"], seen["RUN_EVENT"], seen["RUN_STATUS"]) == (NOTIFICATION.id, "finished", "done")
    assert "OPENAI_API_KEY" not in seen
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seen.json"]


def test_an_environment_contains_no_null_bytes() -> None:
    """Null bytes are removed, since no process accepts them."""
    told = build_environment(NOTIFICATION.model_copy(update={"question": "a\0b"}), {"PATH": "/bin", "KEY": "x"})

    assert (told["RUN_QUESTION"], told["PATH"]) == ("ab", "/bin")
    assert "KEY" not in told


async def test_a_failing_command_reports_its_last_line() -> None:
    """The last line of its output is the reason."""
    with pytest.raises(NotificationUnavailable, match="exits with 3: no bell"):
        await Notifier(command="echo trying; echo no bell >&2; exit 3").run_command(NOTIFICATION)
    with pytest.raises(NotificationUnavailable, match=r"exits with 1$"):
        await Notifier(command="false").run_command(NOTIFICATION)


async def test_a_hanging_command_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command has a timeout, and its child processes are killed with it."""
    monkeypatch.setattr(notifications, "COMMAND_TIMEOUT_SECONDS", 0.2)

    with pytest.raises(NotificationUnavailable, match="takes longer"):
        await Notifier(command="sleep 600 | cat").run_command(NOTIFICATION)


async def test_without_settings_there_are_no_notifications() -> None:
    """Without a URL and a command nothing is sent or requested."""
    notifier = Notifier.from_settings(Settings(_env_file=None))
    await notifier.post_webhook(NOTIFICATION)
    await notifier.run_command(NOTIFICATION)

    assert not Settings(_env_file=None).has_notifications


async def test_settings_configure_the_notifier(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """URL, secret and command come from the settings."""
    monkeypatch.setenv("TENURE_NOTIFY_URL", receiver.url)
    monkeypatch.setenv("TENURE_NOTIFY_SECRET", "s3cret")
    monkeypatch.setenv("TENURE_NOTIFY_COMMAND", f"touch {tmp_path / 'rung'}")
    settings = Settings(_env_file=None)
    notifier = Notifier.from_settings(settings)
    await notifier.post_webhook(NOTIFICATION)
    await notifier.run_command(NOTIFICATION)

    assert settings.has_notifications
    assert (tmp_path / "rung").exists()
    [(headers, body)] = receiver.received
    assert headers[SIGNATURE_HEADER] == sign_body(b"s3cret", body)
    assert json.loads(body) == build_payload(NOTIFICATION)
