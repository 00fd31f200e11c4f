"""Requests and replies for pictures of documents that a model is shown during a run."""

from typing import Final, Literal, NamedTuple

from pydantic import Field

from tenure.contracts.base import Contract, SourceId
from tenure.contracts.evidence.passages import PassageRef

PICTURE_URI: Final = "picture:"
"""Beginning of the URI of a source that a model has read from a picture; the path of the document follows."""
PictureKind = Literal["plot", "diagram", "table", "photograph", "screenshot", "drawing", "text", "unseen"]
"""Kind of a picture; `unseen` if the model has not seen it."""


def is_picture_reading(uri: str) -> bool:
    """Return whether a source was read from a picture by a model."""
    return uri.startswith(PICTURE_URI)


def make_picture_uri(path: str, number: int) -> str:
    """Return the URI of the reading of a picture of a document."""
    return f"{PICTURE_URI}{path}#{number + 1}"


def get_document_path(uri: str) -> str:
    """Return the URI of a source, or for a reading that of its document."""
    return uri.removeprefix(PICTURE_URI).rpartition("#")[0] if is_picture_reading(uri) else uri


class PictureRef(Contract):
    """Picture in a stored document."""

    source: SourceId
    number: int = Field(ge=0)
    """Position among the pictures of the document, from 0."""
    title: str
    """Title of the document."""
    label: str = ""
    """Label in the document, as `Figure 3`; empty without one."""
    caption: str = ""
    """Caption or alternative text; may be empty."""
    page: int = 0
    """Page or slide, from 1; 0 in a document without pages."""
    on_slide: bool = False
    """Whether the page is a slide."""

    @property
    def name(self) -> str:
        """Label or position, with the title of the document."""
        place = f", {'slide' if self.on_slide else 'page'} {self.page}" if self.page else ""
        return f"{self.label or f'Picture {self.number + 1}'} of {self.title}{place}"


class ShownPicture(NamedTuple):
    """Picture that a model is shown."""

    address: str
    """Data address of its content."""
    check: str
    """Number that is written below it; a model that names it has seen the picture."""


class PicturesRequest(Contract):
    """Search for the pictures that belong to passages."""

    question: str
    passages: tuple[PassageRef, ...]
    """Passages, best first."""
    limit: int = Field(ge=1)


class PictureValue(Contract):
    """Value that a picture shows."""

    label: str
    """Name of the value, with the series and the place on the axis."""
    value: str
    unit: str = ""


class PictureReading(Contract):
    """Content of a picture as a model has read it."""

    kind: PictureKind = "unseen"
    is_shown: bool = True
    """Whether the model was asked; False for a damaged picture and without a budget."""
    description: str = ""
    values: tuple[PictureValue, ...] = ()


class ReadPicture(Contract):
    """Picture with its reading."""

    picture: PictureRef
    reading: PictureReading


class StorePicturesRequest(Contract):
    """Readings that are to be stored as citable sources."""

    corpora: tuple[str, ...]
    question: str
    """Question against which their relevance is measured."""
    read: tuple[ReadPicture, ...]
