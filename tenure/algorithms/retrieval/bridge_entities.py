"""Find bridge entities: names in the retrieved passages that lead to the next hop of a multi-hop question."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import NamedTuple

from tenure.algorithms.text.entities import normalize_name
from tenure.algorithms.text.grammar.subjects import list_clauses
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import STOP_WORDS, split_sentences, stem_words

# "Marie Curie", "Bank of England", at most four words.
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+(?:(?:of|the|de|van|von|and)\s+)?[A-Z][\w'’-]+){0,3}")
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")  # "read-only", "isn't", "v2.1".
_ARTICLE = re.compile(r"\b(?:the|an?)\s+$", re.IGNORECASE)
"""Article before the words that a name replaces."""
MAX_NAME_CHARACTERS = 80
_SINGLE_WORD_WEIGHT = 0.5
"""Weight of a single capitalised word, which may only begin a sentence."""


class BridgeEntity(NamedTuple):
    """Name in a passage with the query for the next hop."""

    name: str
    """The name as the passage spells it."""
    query: str
    """The question with the name in place of its description, such as “Where was George Eliot born?”."""
    covered: frozenset[str] = frozenset()
    """Word stems of the question that occur with the name."""


def find_bridge_entities(
    question: str, passages: Sequence[Passage], previous_queries: Iterable[str] = ()
) -> list[BridgeEntity]:
    """Return names that occur in the passages, best first, and neither in the question nor in earlier queries.

    The weight of a name is the number of question words in its sentence and in the document title, divided by the
    square root of the passage's rank; a single word has half the weight. A title counts with its whole passage.
    """
    question_stems = frozenset(stem_words(question))
    known_stems = question_stems | {stem for query in previous_queries for stem in stem_words(query)}
    best: dict[str, tuple[float, str, frozenset[str]]] = {}
    for rank, passage in enumerate(passages, 1):
        for name, covered in _find_names(question_stems, passage):
            weight = len(covered) / rank**0.5 * (1.0 if " " in name else _SINGLE_WORD_WEIGHT)
            key = normalize_name(name)
            if (key not in best or weight > best[key][0]) and weight > 0 and set(stem_words(name)) - known_stems:
                best[key] = (weight, name, covered)
    ordered = sorted(best.values(), key=lambda candidate: (-candidate[0], candidate[1]))
    return [BridgeEntity(name, _build_query(question, name, covered), covered) for _, name, covered in ordered]


def _find_names(question_stems: frozenset[str], passage: Passage) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names of a passage with the question words that occur with them."""
    title = frozenset(stem_words(passage.title))
    if passage.title and len(passage.title) <= MAX_NAME_CHARACTERS:
        yield passage.title, question_stems & (title | set(stem_words(passage.text)))
    for sentence in split_sentences(passage.text):
        covered = question_stems & (title | set(stem_words(sentence.text)))
        for match in _NAME.finditer(sentence.text):
            # Without the stop words of a sentence before it: "In the Bank" becomes "Bank".
            name = " ".join(dropwhile(lambda word: word.lower() in STOP_WORDS, match.group().split()))
            if name and len(name) <= MAX_NAME_CHARACTERS:
                yield name, covered


def _build_query(question: str, name: str, words_with_name: frozenset[str]) -> str:
    """Return the question with the name in place of the words that describe it.

    If other words of the question are between these, the query is the name with the clause of the question that has
    most of the words which its sentence lacks, from the first to the last of them; with the whole clause if it lacks
    none.
    """
    covered = words_with_name | set(stem_words(name))
    words = list(_WORD.finditer(question))
    stems = [set(stem_words(word.group())) for word in words]
    described = [n for n, term in enumerate(stems) if term & covered]
    is_open = any(term - covered for term in stems)
    if is_open and described and not any(term - covered for term in stems[described[0] : described[-1] + 1]):
        first, last = words[described[0]].start(), words[described[-1]].end()
        return f"{_ARTICLE.sub('', question[:first])}{name}{question[last:]}"
    clause = max(list_clauses(question), key=lambda text: len(set(stem_words(text)) - covered))
    parts = [(word, set(stem_words(word.group()))) for word in _WORD.finditer(clause)]
    open_words = [n for n, (_, term) in enumerate(parts) if term - covered]
    if not open_words:
        return f"{name}: {clause}"
    first = open_words[0]
    while first and not parts[first - 1][1]:  # with the "how" of "how long"
        first -= 1
    return f"{name}: {clause[parts[first][0].start() : parts[open_words[-1]][0].end()]}"
