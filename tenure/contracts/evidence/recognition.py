"""Define the words that are recognized in pictures."""

from typing import NamedTuple


class RecognizedWord(NamedTuple):
    """Word that was recognized in a picture; coordinates are shares of the width and height of its page."""

    start: int
    """Offset of its first character in the text of the document."""
    end: int
    page: int
    """Page, from 1; 0 in a picture of a document without pages."""
    left: float
    top: float
    right: float
    bottom: float
    confidence: float
    """Confidence of the model, from 0 to 1."""
