"""Ask a server of this machine over HTTP whether it answers."""

import http.client
from contextlib import closing


def request_status(port: int, path: str, timeout: float) -> int | None:
    """Return the status with which a server answers, or None if it does not."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)) as connection:
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
