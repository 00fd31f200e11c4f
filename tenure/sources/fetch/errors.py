"""What can go wrong when a page is fetched, in words for a reader.

::

    FetchError
    ├── Refused        a rule forbids the request: of the guard, of the settings, of the site
    ├── NotAnswered    no such host, no connection, or no whole answer in time
    ├── BadStatus      the server answered that it does not have the page, or not now
    ├── Unusable       the answer is of no use: too large, wrongly packed, redirected without end
    └── BrowserFailed  the browser that should show the page does not start (`tenure.sources.fetch.browser`)
"""

from http import HTTPStatus


class FetchError(Exception):
    """Base of all errors of fetching; its text is the note of a page in a result."""


class Refused(FetchError):
    """A rule forbids the request; no byte of it was sent to where it is forbidden."""


class NotAnswered(FetchError):
    """No whole answer came; a later try may have more luck."""


class BadStatus(FetchError):
    """The server answered with an error."""

    def __init__(self, code: int) -> None:
        """Name the status by its standard words, not by the server's."""
        words = {status.value: status.phrase for status in HTTPStatus}.get(code, "")
        super().__init__(f"the server answered {code}" + (f" ({words})" if words else ""))
        self.code = code

    @property
    def passing(self) -> bool:
        """Whether it may be over later, and says nothing about the page."""
        return self.code >= 500 or self.code in (408, 429)


class Unusable(FetchError):
    """The answer is of no use, however often one asks."""
