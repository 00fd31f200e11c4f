"""How people outside are told of a run: by a request to an address of theirs, and by a command of theirs.

A request is signed with HMAC-SHA256 over its body, so that whoever receives it knows that it comes from here, and its
body is the same for every attempt, so that it can be told apart from a second notice. What a run is about never
becomes part of a command line: the command finds it in its environment.

NoticeError              a notice was not delivered
├── NoticeRefused        the receiver does not take it as it is; a person has to change something
└── NoticeDelayed        the receiver cannot take it now
"""

import asyncio
import hashlib
import hmac
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote

import httpx

from tenure.contracts.run.notifications import Notice
from tenure.settings import Settings

SIGNATURE = "X-Tenure-Signature"
"""Header with `sha256=` and the signature of the body in hexadecimal digits."""

POST_SECONDS = 20.0
"""How long a request may take."""

COMMAND_SECONDS = 60.0
"""How long a command may take."""

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "SHELL")
"""What of the worker's environment a command gets: none of its keys."""
_PASSING = (408, 425, 429)
_TOLD = 200


class NoticeError(Exception):
    """A notice was not delivered."""


class NoticeRefused(NoticeError):
    """The receiver does not take it as it is."""


class NoticeDelayed(NoticeError):
    """The receiver cannot take it now."""


class Notifier:
    """Tells people outside, in the ways that are set up."""

    def __init__(
        self, url: str = "", secret: bytes = b"", command: str = "", transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """Use an address, a secret and a command, each empty for none."""
        self._url, self._secret, self._command = url, secret, command
        self._transport = transport

    @classmethod
    def from_settings(cls, settings: Settings) -> "Notifier":
        """Return what the settings set up."""
        secret = settings.notify_secret.get_secret_value().encode() if settings.notify_secret else b""
        url = settings.notify_url.get_secret_value() if settings.notify_url else ""
        return cls(url, secret, settings.notify_command)

    async def post(self, notice: Notice) -> None:
        """Send a notice to the address, where there is one.

        Raises:
            NoticeRefused: it is not taken as it is.
            NoticeDelayed: it cannot be taken now.
        """
        if not self._url:
            return
        body = json.dumps(document(notice), ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json"}
        if self._secret:
            headers[SIGNATURE] = signature(self._secret, body)
        try:
            # The address is a secret of its own with many services: no error repeats it.
            async with httpx.AsyncClient(transport=self._transport, timeout=POST_SECONDS, trust_env=False) as client:
                answer = await client.post(self._url, content=body, headers=headers)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise NoticeRefused("the address for notices is none of HTTP") from None
        except httpx.HTTPError as error:
            raise NoticeDelayed(f"the address for notices does not answer: {type(error).__name__}") from None
        if answer.status_code >= 500 or answer.status_code in _PASSING:
            raise NoticeDelayed(f"the address for notices answers with status {answer.status_code}")
        if not answer.is_success:
            raise NoticeRefused(f"the address for notices answers with status {answer.status_code}")

    async def execute(self, notice: Notice) -> None:
        """Run the command with a notice in its environment, where there is one.

        Raises:
            NoticeDelayed: it fails, or takes too long.
        """
        if not self._command:
            return
        process = await asyncio.create_subprocess_shell(
            self._command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(notice, os.environ),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError:
            raise NoticeDelayed(f"the command for notices takes longer than {COMMAND_SECONDS:.0f} s") from None
        finally:
            # Whatever it has begun ends with it; usually there is nothing left.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if process.returncode:
            last = output.decode("utf-8", "replace").strip().splitlines()[-1:]
            words = f": {last[0][:_TOLD]}" if last else ""
            raise NoticeDelayed(f"the command for notices ends with {process.returncode}{words}")


def document(notice: Notice) -> dict[str, str]:
    """Return the body of a request."""
    return {
        "delivery": notice.delivery,
        "event": notice.occasion,
        "id": notice.id,
        "status": notice.status,
        "question": notice.question,
        "url": f"{notice.ui}{quote(notice.id, safe='')}" if notice.ui else "",
        "at": notice.at,
    }


def signature(secret: bytes, body: bytes) -> str:
    """Return the value of the header that proves where a body comes from."""
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


def environment(notice: Notice, ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: a notice, a path and a home."""
    kept = {name: ours[name] for name in _PASSED_ON if name in ours}
    told = {f"RUN_{name.upper()}": value.replace("\0", "") for name, value in document(notice).items()}
    return kept | told
