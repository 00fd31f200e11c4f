"""Define the errors of fetching a page.

::

    FetchError
    ├── RequestRefused    a rule forbids the request: the address guard, the settings, or robots.txt
    ├── NoResponse        the host is unknown or unreachable, or the response is incomplete in time
    ├── ErrorStatus       the server responds with an error status
    ├── UnusableResponse  the response is too large, wrongly encoded, or redirects endlessly
    └── BrowserError      the browser does not start (`tenure.sources.fetch.browser`)
"""

from http import HTTPStatus


class FetchError(Exception):
    """Base of all errors of fetching; the message appears as the note of a page in a result."""


class RequestRefused(FetchError):
    """A rule forbids the request; nothing was sent to the forbidden target."""


class NoResponse(FetchError):
    """No complete response arrived; a later attempt may succeed."""


class ErrorStatus(FetchError):
    """The server responded with an error status."""

    def __init__(self, code: int) -> None:
        """Describe the status by its standard phrase, not by text of the server."""
        words = {status.value: status.phrase for status in HTTPStatus}.get(code, "")
        super().__init__(f"the server answered {code}" + (f" ({words})" if words else ""))
        self.code = code

    @property
    def is_transient(self) -> bool:
        """Whether the error may be temporary and says nothing about the page."""
        return self.code >= 500 or self.code in (408, 429)


class UnusableResponse(FetchError):
    """The response is unusable; a retry would not help."""
