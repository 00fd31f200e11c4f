"""What is new, changed or no longer supported since the last report of a standing question.

Two reports over the same documents differ in wording and choice as well, and that is no news. So a statement counts
as new only where it rests on a source that has been read since, and one of the last report as no longer supported
only where all of its words are gone from their sources. Sources are the same by their addresses, since pages of the
web are stored anew by every run.
"""

from collections.abc import Mapping, Sequence

from tenure.algorithms.text.sentences import fingerprint, stems
from tenure.contracts.base import SourceId
from tenure.contracts.result.changes import Changes, Place, Revised, Stated, Words
from tenure.contracts.result.result import Result

ALIKE = 0.25
"""Share of common stems from which a new statement takes the place of one on the same source."""


def quoted(last: Result, now: Result) -> dict[Words, Place]:
    """Return where the words of the last report are to be looked for."""
    known = {source.uri: SourceId(source.id) for source in last.sources}
    known |= {source.uri: SourceId(source.id) for source in now.sources}
    return {words: Place(source=known[words.uri], quote=words.quote) for one in statements(last) for words in one.words}


def repeated(last: Result, now: Result) -> dict[Words, Place]:
    """Return where the last report's copies of sources may hold the words of the new one, which then are not new."""
    copies = {source.uri: SourceId(source.id) for source in last.sources}
    for source in now.sources:
        if copies.get(source.uri) == source.id:
            del copies[source.uri]  # stored under the same id: the copy is the source itself
    return {
        words: Place(source=copies[words.uri], quote=words.quote)
        for one in statements(now)
        for words in one.words
        if words.uri in copies
    }


def changes(last: Result, now: Result, stands: Mapping[Words, bool], repeats: Mapping[Words, bool], at: str) -> Changes:
    """Compare a report with the last one.

    Args:
        last: the last report.
        now: the new one.
        stands: which words of the last report still stand in their sources.
        repeats: which words of the new one stood in the last one's copies of the sources.
        at: when the new one was finished.
    """
    before, said = statements(last), {fingerprint(one.text) for one in statements(now)}
    gone = [one for one in before if one.words and not any(stands[words] for words in one.words)]
    withdrawn = [one for one in gone if fingerprint(one.text) not in said]
    fresh = _fresh(last, now, repeats)
    revised: list[Revised] = []
    for one in list(withdrawn):
        successor = _successor(one, fresh)
        if successor is not None:
            revised.append(Revised(before=one, now=successor))
            fresh.remove(successor)
            withdrawn.remove(one)
    return Changes(
        at=at,
        since=last.id,
        since_at=last.changes.at if last.changes else "",
        new=tuple(fresh),
        changed=tuple(revised),
        withdrawn=tuple(withdrawn),
        standing=len(before) - len(gone),
    )


def statements(result: Result) -> list[Stated]:
    """Return what the sections of a report say, each sentence once."""
    by_number = {source.n: source for source in result.sources}
    found: dict[str, Stated] = {}
    for section in result.sections:
        for claim in section.claims:
            places = [(by_number[citation.source], citation.quote) for citation in claim.citations]
            words = tuple(Words(uri=source.uri, title=source.title, quote=quote) for source, quote in places)
            found.setdefault(fingerprint(claim.text), Stated(topic=section.topic, text=claim.text, words=words))
    return list(found.values())


def _fresh(last: Result, now: Result, repeats: Mapping[Words, bool]) -> list[Stated]:
    """Return the statements that the last report did not have and could not have had."""
    since = last.changes.at if last.changes else max((source.accessed for source in last.sources), default="")
    read = {source.uri for source in now.sources if source.accessed > since}
    known = statements(last)
    said, shown = {fingerprint(one.text) for one in known}, {words for one in known for words in one.words}

    def is_new(words: Words) -> bool:
        return words.uri in read and words not in shown and not repeats.get(words, False)

    return [one for one in statements(now) if fingerprint(one.text) not in said and any(map(is_new, one.words))]


def _successor(gone: Stated, fresh: Sequence[Stated]) -> Stated | None:
    """Return the statement on the same source that says most of what one that is gone said."""
    sources = {words.uri for words in gone.words}
    rivals = [one for one in fresh if sources & {words.uri for words in one.words}]
    best = max(rivals, key=lambda one: _likeness(gone.text, one.text), default=None)
    return best if best is not None and _likeness(gone.text, best.text) >= ALIKE else None


def _likeness(one: str, other: str) -> float:
    """Return the share of stems that two texts have in common."""
    a, b = set(stems(one)), set(stems(other))
    return len(a & b) / len(a | b) if a | b else 0.0
