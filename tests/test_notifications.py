"""Telling people outside: signed requests over loopback, commands in real processes."""

import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure import notifications as notices
from tenure.contracts.run.notifications import Notice
from tenure.notifications import SIGNATURE, NoticeDelayed, NoticeRefused, Notifier, document, environment, signature
from tenure.settings import Settings

NOTICE = Notice(
    delivery="d-1",
    id="code-what is/this",
    occasion="finished",
    status="done",
    question='Why"; touch broken; `touch broken`?',
    at="2026-01-02T03:04:05+00:00",
    ui="http://127.0.0.1:8233/namespaces/default/workflows/",
)


class Receiver:
    """An address on loopback that keeps what it is sent, and answers as it is told."""

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
                """Keep standard error to the tests."""

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
    """Who knows the secret can prove where a request comes from; it says no more than which run stands how."""
    await Notifier(receiver.url, b"s3cret").post(NOTICE)

    [(headers, body)] = receiver.received
    assert headers[SIGNATURE] == signature(b"s3cret", body) != signature(b"other", body)
    assert headers[SIGNATURE].startswith("sha256=") and len(headers[SIGNATURE]) == 7 + 64
    assert json.loads(body) == {
        "delivery": "d-1",
        "event": "finished",
        "id": "code-what is/this",
        "status": "done",
        "question": NOTICE.question,
        "url": "http://127.0.0.1:8233/namespaces/default/workflows/code-what%20is%2Fthis",
        "at": "2026-01-02T03:04:05+00:00",
    }


async def test_without_a_secret_nothing_is_signed(receiver: Receiver) -> None:
    """No header claims what nobody can check, and a run whose page is not known has no address."""
    await Notifier(receiver.url).post(NOTICE.model_copy(update={"ui": ""}))

    [(headers, body)] = receiver.received
    assert SIGNATURE not in headers
    assert json.loads(body)["url"] == ""


@pytest.mark.parametrize(
    ("status", "error"), [(500, NoticeDelayed), (429, NoticeDelayed), (404, NoticeRefused), (302, NoticeRefused)]
)
async def test_what_the_receiver_says_decides_about_another_try(
    receiver: Receiver, status: int, error: type[Exception]
) -> None:
    """A busy receiver is asked again, one that refuses is not, and no error repeats the address."""
    receiver.answers = [status]

    with pytest.raises(error, match=f"answers with status {status}") as raised:
        await Notifier(receiver.url).post(NOTICE)
    assert "token" not in str(raised.value)


async def test_an_address_where_nobody_is_delays(receiver: Receiver) -> None:
    """A receiver that is away may be back; an address that is none never will."""
    with Receiver() as gone:
        url = gone.url
    with pytest.raises(NoticeDelayed, match="does not answer: ConnectError"):
        await Notifier(url).post(NOTICE)
    with pytest.raises(NoticeRefused, match="none of HTTP"):
        await Notifier("ftp://127.0.0.1/x").post(NOTICE)


async def test_a_command_finds_the_notice_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a question is ever read by a shell, and the worker's keys are not passed on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    program = "import json, os; json.dump(dict(os.environ), open('seen.json', 'w'))"
    await Notifier(command=f'{sys.executable} -c "{program}"').execute(NOTICE)

    seen = json.loads(Path("seen.json").read_text())
    assert seen["RUN_QUESTION"] == NOTICE.question
    assert (seen["RUN_ID"], seen["RUN_EVENT"], seen["RUN_STATUS"]) == (NOTICE.id, "finished", "done")
    assert "OPENAI_API_KEY" not in seen
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seen.json"]


def test_an_environment_holds_no_zero_bytes() -> None:
    """What no process can be given is left out, instead of failing the command for ever."""
    told = environment(NOTICE.model_copy(update={"question": "a\0b"}), {"PATH": "/bin", "KEY": "x"})

    assert (told["RUN_QUESTION"], told["PATH"]) == ("ab", "/bin")
    assert "KEY" not in told


async def test_a_command_that_fails_says_why() -> None:
    """The last line that it printed is the reason."""
    with pytest.raises(NoticeDelayed, match="ends with 3: no bell"):
        await Notifier(command="echo trying; echo no bell >&2; exit 3").execute(NOTICE)
    with pytest.raises(NoticeDelayed, match=r"ends with 1$"):
        await Notifier(command="false").execute(NOTICE)


async def test_a_command_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command may take so long, and everything it has begun ends with it."""
    monkeypatch.setattr(notices, "COMMAND_SECONDS", 0.2)

    with pytest.raises(NoticeDelayed, match="takes longer"):
        await Notifier(command="sleep 600 | cat").execute(NOTICE)


async def test_nothing_set_up_tells_nobody() -> None:
    """Without an address and a command nothing happens, and a run does not even begin to tell."""
    notifier = Notifier.from_settings(Settings(_env_file=None))
    await notifier.post(NOTICE)
    await notifier.execute(NOTICE)

    assert not Settings(_env_file=None).tells


async def test_settings_set_both_ways_up(receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address, secret and command come from the settings."""
    monkeypatch.setenv("TENURE_NOTIFY_URL", receiver.url)
    monkeypatch.setenv("TENURE_NOTIFY_SECRET", "s3cret")
    monkeypatch.setenv("TENURE_NOTIFY_COMMAND", f"touch {tmp_path / 'rung'}")
    settings = Settings(_env_file=None)
    notifier = Notifier.from_settings(settings)
    await notifier.post(NOTICE)
    await notifier.execute(NOTICE)

    assert settings.tells
    assert (tmp_path / "rung").exists()
    [(headers, body)] = receiver.received
    assert headers[SIGNATURE] == signature(b"s3cret", body)
    assert json.loads(body) == document(NOTICE)
