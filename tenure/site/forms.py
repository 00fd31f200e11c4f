"""Read the forms of the page and uploads of programs; files go to the disk while they arrive."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import python_multipart
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.uploads import MAX_UPLOAD_BYTES, Upload
from tenure.settings.home import HomeSettings

MAX_BODY_BYTES = 1_000_000
"""Maximum size of a request, without its files."""

MAX_UPLOAD_BODY_BYTES = MAX_UPLOAD_BYTES + 100 * MAX_BODY_BYTES
"""Maximum size of a request with files; an upload that is a little too large is explained and not cut off."""

_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"

Form = dict[str, str]
"""Values of a form by field; the values of a field that occurs more than once are lines."""


class ReceivedForm(NamedTuple):
    """Form with the files that were sent with it."""

    values: Form
    upload: Upload
    problem: TenureError | None = None
    """Reason for which its files were not stored."""


async def read_form(request: Request) -> Form:
    """Return the values of a form without files.

    Raises:
        InvalidRequest: the body is no form.
    """
    if _get_media_type(request) != _FORM:
        raise InvalidRequest("the body must be a form")
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError:
        raise InvalidRequest("the form is not valid UTF-8") from None
    return _join(parse_qsl(text, keep_blank_values=True))


async def receive_form(request: Request, settings: HomeSettings) -> ReceivedForm:
    """Return a form and its files, which the caller publishes or discards.

    The rest of refused files is read and dropped: a browser shows no answer before it has sent all.

    Raises:
        InvalidRequest: the body is no form.
        ClientDisconnect: it ended early; its files are discarded.
    """
    upload = Upload(settings)
    if _get_media_type(request) != _MULTIPART:
        return ReceivedForm(await read_form(request), upload)
    boundary = parse_options_header(request.headers["content-type"])[1].get(b"boundary")
    if not boundary:
        raise InvalidRequest("the form has no boundary")
    reader = _FormReader(upload)
    try:
        parser = reader.make_parser(boundary)
        async for data in request.stream():
            await asyncio.to_thread(parser.write, data)
    except FormParserError as error:
        raise InvalidRequest("the form is damaged: send it again") from error
    finally:
        if not reader.is_complete or reader.problem:
            await asyncio.to_thread(upload.discard)
    if not reader.is_complete:
        raise InvalidRequest("the form was cut off: send it again")
    return ReceivedForm(_join(reader.values), upload, reader.problem)


class _FormReader:
    """Receives the parts of a form: values are kept, and files are written."""

    def __init__(self, upload: Upload) -> None:
        self.values: list[tuple[str, str]] = []
        self.problem: TenureError | None = None
        self.is_complete = False
        self._upload = upload
        self._name = ""
        self._value = bytearray()
        self._is_file = False
        self._header, self._header_value = bytearray(), bytearray()
        self._size = 0

    def make_parser(self, boundary: bytes) -> python_multipart.MultipartParser:
        """Return a parser that calls this object."""
        return python_multipart.MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": lambda data, start, end: self._header.extend(self._count(data[start:end])),
                "on_header_value": lambda data, start, end: self._header_value.extend(self._count(data[start:end])),
                "on_header_end": self._end_header,
                "on_headers_finished": lambda: None,
                "on_part_data": self._add,
                "on_part_end": self._end,
                "on_end": self._complete,
            },
        )

    def _begin(self) -> None:
        self._name, self._is_file = "", False
        self._value.clear()

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            options = parse_options_header(bytes(self._header_value))[1]
            self._name = options.get(b"name", b"").decode(errors="replace")
            if (name := options.get(b"filename")) is not None:
                self._is_file = True
                self._store(self._upload.open, name.decode(errors="replace"))
        self._header.clear()
        self._header_value.clear()

    def _add(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._store(self._upload.write, data[start:end])
        else:
            self._value.extend(self._count(data[start:end]))

    def _end(self) -> None:
        if self._is_file:
            self._store(self._upload.close)
        else:
            self.values.append((self._name, self._value.decode(errors="replace").replace("\r\n", "\n")))

    def _complete(self) -> None:
        self.is_complete = True

    def _store(self, step: Callable[..., None], *arguments: str | bytes) -> None:
        """Perform a step of the upload unless an earlier one has failed."""
        if self.problem is None:
            try:
                step(*arguments)
            except TenureError as error:
                self.problem = error

    def _count(self, data: bytes) -> bytes:
        """Return data that is kept in memory, after a check of how much there is."""
        self._size += len(data)
        if self._size > MAX_BODY_BYTES:
            raise InvalidRequest(f"the fields of a form have at most {MAX_BODY_BYTES:,} bytes: send a file instead")
        return data


def _get_media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _join(pairs: list[tuple[str, str]]) -> Form:
    form: Form = {}
    for name, value in pairs:
        form[name] = f"{form[name]}\n{value}" if name in form else value
    return form


async def store_upload(received: ReceivedForm) -> str:
    """Put the files and the pasted text of a form into a corpus; return its name, empty if there are none.

    Raises:
        TenureError: they cannot be stored.
    """
    upload, form = received.upload, received.values
    try:
        if received.problem:
            raise received.problem
        if text := form.get("pasted", "").strip():
            await asyncio.to_thread(upload.add_text, text)
        return await asyncio.to_thread(upload.publish, form.get("corpus", "").strip()) if upload.files else ""
    finally:
        await asyncio.to_thread(upload.discard)


def join_query(request: Request) -> Form:
    """Return the values of a query as those of a form."""
    query = request.query_params
    return {name: "\n".join(query.getlist(name)) for name in query}


def drop_empty(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields that were filled in."""
    return {name: value for name, value in form.items() if value.strip()}


def split_fields(form: Form, *names: str) -> dict[str, Sequence[str]]:
    """Return fields with one value on each line."""
    return {name: split_lines(form.get(name, "")) for name in names}


def split_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text that are not empty, without spaces around them."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())
