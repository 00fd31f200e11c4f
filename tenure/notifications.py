"""Notify people of runs by an HTTP request (webhook) or a command.

A request is signed with HMAC-SHA256 over its body. The body is the same for every delivery attempt, so that receivers
can drop duplicates. The question of a run never becomes part of a command line: the command reads it from its
environment.

NotificationError              a notification was not delivered
├── NotificationRejected       the receiver rejects it; a person must change something
└── NotificationUnavailable    the receiver is temporarily unavailable
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

from tenure.contracts.run.notifications import Notification
from tenure.settings.worker import NotifierSettings

SIGNATURE_HEADER = "X-Tenure-Signature"
"""Header with `sha256=` and the hexadecimal signature of the body."""

POST_TIMEOUT_SECONDS = 20.0
"""Timeout of a request in seconds."""

COMMAND_TIMEOUT_SECONDS = 60.0
"""Timeout of a command in seconds."""

_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "SHELL")
"""Variables of the worker that a command receives: none of its keys."""
# Request Timeout, Too Early, Too Many Requests; each 5xx is transient as well.
_TRANSIENT_STATUSES = (408, 425, 429)
_MAX_OUTPUT_CHARS = 200


class NotificationError(Exception):
    """A notification was not delivered."""


class NotificationRejected(NotificationError):
    """The receiver rejects the notification."""


class NotificationUnavailable(NotificationError):
    """The receiver is temporarily unavailable."""


class Notifier:
    """Sender of notifications in all configured ways."""

    def __init__(self, url: str = "", secret: bytes = b"", command: str = "") -> None:
        """Use a URL, a secret and a command, each empty for none."""
        self._url, self._secret, self._command = url, secret, command

    @classmethod
    def from_settings(cls, settings: NotifierSettings) -> "Notifier":
        """Return a notifier for the settings."""
        secret = settings.notify_secret.get_secret_value().encode() if settings.notify_secret else b""
        url = settings.notify_url.get_secret_value() if settings.notify_url else ""
        return cls(url, secret, settings.notify_command)

    async def post_webhook(self, notification: Notification) -> None:
        """Send a notification to the URL, if there is one.

        Raises:
            NotificationRejected: the receiver rejects it.
            NotificationUnavailable: the receiver is temporarily unavailable.
        """
        if not self._url:
            return
        body = json.dumps(build_payload(notification), ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json"}
        if self._secret:
            headers[SIGNATURE_HEADER] = sign_body(self._secret, body)
        try:
            # Many services put a secret into the URL: no error message repeats it.
            async with httpx.AsyncClient(timeout=POST_TIMEOUT_SECONDS, trust_env=False) as client:
                answer = await client.post(self._url, content=body, headers=headers)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise NotificationRejected("the notification URL is not an HTTP URL") from None
        except httpx.HTTPError as error:
            raise NotificationUnavailable(f"the notification URL does not answer: {type(error).__name__}") from None
        if answer.status_code >= 500 or answer.status_code in _TRANSIENT_STATUSES:
            raise NotificationUnavailable(f"the notification URL answers with status {answer.status_code}")
        if not answer.is_success:
            raise NotificationRejected(f"the notification URL answers with status {answer.status_code}")

    async def run_command(self, notification: Notification) -> None:
        """Run the command with a notification in its environment, if there is one.

        Raises:
            NotificationUnavailable: it fails or times out.
        """
        if not self._command:
            return
        process = await asyncio.create_subprocess_shell(
            self._command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=build_environment(notification, os.environ),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError:
            raise NotificationUnavailable(
                f"the notification command takes longer than {COMMAND_TIMEOUT_SECONDS:.0f} s"
            ) from None
        finally:
            # Kill processes that it started and left running.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if process.returncode:
            last = output.decode("utf-8", "replace").strip().splitlines()[-1:]
            words = f": {last[0][:_MAX_OUTPUT_CHARS]}" if last else ""
            raise NotificationUnavailable(f"the notification command exits with {process.returncode}{words}")


def build_payload(notification: Notification) -> dict[str, str]:
    """Return the body of a request."""
    return {
        "delivery": notification.delivery,
        "event": notification.event,
        "id": notification.id,
        "status": notification.status,
        "question": notification.question,
        "url": f"{notification.ui_url_prefix}{quote(notification.id, safe='')}" if notification.ui_url_prefix else "",
        "at": notification.at,
    }


def sign_body(secret: bytes, body: bytes) -> str:
    """Return the value of the signature header."""
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


def build_environment(notification: Notification, ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: the notification and a few variables of the worker."""
    passed = {name: ours[name] for name in _PASSED_VARIABLES if name in ours}
    described = {f"RUN_{name.upper()}": value.replace("\0", "") for name, value in build_payload(notification).items()}
    return passed | described
