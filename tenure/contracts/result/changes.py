"""What differs between a report of a standing question and the one before it."""

from tenure.contracts.base import Contract, SourceId


class Words(Contract):
    """Words of a source that a report has quoted."""

    uri: str
    """Where the source is."""
    title: str
    """Its title."""
    quote: str
    """The words."""


class Stated(Contract):
    """A statement of a report and what it rested on."""

    topic: str
    """The section it stands in."""
    text: str
    """The statement."""
    words: tuple[Words, ...] = ()
    """What it quotes."""


class Revised(Contract):
    """A statement that took the place of one whose words are gone."""

    before: Stated
    """What the last report said."""
    now: Stated
    """What this one says."""


class Changes(Contract):
    """What a report of a standing question brings over the one before it."""

    at: str
    """When this report was finished, ISO 8601 in UTC; what is read later is new to the next one."""
    since: str = ""
    """The run of the last report; empty for the first one."""
    since_at: str = ""
    """When that was finished."""
    new: tuple[Stated, ...] = ()
    """Statements on words of sources that are new, or have changed since."""
    changed: tuple[Revised, ...] = ()
    """Statements that took the place of others."""
    withdrawn: tuple[Stated, ...] = ()
    """Statements of the last report whose words no longer stand in their sources."""
    standing: int = 0
    """Statements of the last report whose words still stand."""


class Place(Contract):
    """A source, and words that stood in it."""

    source: SourceId
    """The source as it is known now."""
    quote: str
    """The words."""


class StandingRequest(Contract):
    """Question whether words still stand where they did."""

    places: tuple[Place, ...]
    """The words."""


class StandingReply(Contract):
    """Whether they do."""

    stands: tuple[bool, ...]
    """One answer for each of them."""
