"""Find the chain of passages that answers a question together, by the names that they share.

"Where was the author of Dune born?" is answered by two passages: one has the words on Dune and names Frank Herbert, and
the other answers the question with this name in place of these words. A question without a name has no chain.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Final

from tenure.algorithms.text.entities import extract_entity_spellings, normalize_name, normalize_title
from tenure.algorithms.text.sentences import MIN_UBIQUITOUS_SHARE, stem_words

MAX_STEPS: Final = 2
"""Maximum number of passages after the first."""
MAX_UNFINISHED: Final = 3
"""Number of chains without an answer, best first, that are continued."""
MIN_SCORE: Final = 0.8
"""Minimum score of the answer at the end of a chain. On 40 questions of HotpotQA and MuSiQue (even half), 17 of 23
chains from this score on end in a passage with the known answer."""
MIN_MENTIONS: Final = 3
"""Number of passages up to which a name is never too common to lead from one to another."""

_QUESTION_WORD = re.compile(r"\b(?:who|whom|whose|what|which|when|where|how|why)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")  # "Rolls-Royce", "AT&T", "isn't".

SentencePosition = tuple[int, int]
"""Number of a passage, and of a sentence in it, from 0."""
Scorer = Callable[[str, Sequence[SentencePosition]], Sequence[float]]
"""Score sentences as answers to a question."""


@dataclass(frozen=True)
class ChainPassage:
    """Passage that may be part of a chain."""

    title: str
    sentences: Sequence[str]

    @cached_property
    def subject(self) -> str:
        """Key of the thing that its document is about."""
        return normalize_title(self.title)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Spellings of the names in its title and its text, by key."""
        spellings = {self.subject: self.title} | extract_entity_spellings("\n".join(self.sentences))
        return {key: spelling for key, spelling in spellings.items() if key}

    @cached_property
    def small_words(self) -> str:
        """Its words between blanks, those with a capital letter left out as a gap."""
        words = _WORD.findall(" ".join(self.sentences))
        return f" {' '.join(word if word.islower() else '|' for word in words)} "

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of its words."""
        return frozenset(stem_words(" ".join((self.title, *self.sentences))))

    def find_mentions(self, name: str) -> list[int]:
        """Return the numbers of the sentences with a name; all of them if the title has it."""
        return [n for n, key in enumerate(self._keys) if f" {name} " in key]

    @cached_property
    def _keys(self) -> Sequence[str]:
        return [f" {self.subject} {normalize_name(sentence)} " for sentence in self.sentences]


@dataclass(frozen=True)
class Chain:
    """Passages of which each names the next one, and the last one answers."""

    passages: tuple[int, ...]
    """Their numbers, from 0."""
    question: str
    """Question to the last one: the original one, with names in place of the words of the passages before."""
    scores: Mapping[int, float]
    """Scores of the sentences of the last one that name what leads to it, by number."""
    is_about_name: bool = False
    """Whether the document of the last one is about the name that leads to it."""

    @property
    def score(self) -> float:
        """Score of the best sentence of the last passage."""
        return max(self.scores.values())

    @property
    def answers(self) -> bool:
        """Whether the last passage answers the question."""
        return self.score >= MIN_SCORE


def find_chains(
    question: str, passages: Sequence[ChainPassage], scores: Sequence[Sequence[float]], score: Scorer
) -> list[Chain]:
    """Return the chains that may answer a question, best first: the shorter ones, and longer ones if none answers.

    A chain begins with the best passage on a name of the question. A passage in the middle is about the name that leads
    to it, since a name that is only mentioned leads anywhere. `scores` are those of the sentences of each passage as an
    answer, and `score` computes those for another question.
    """
    names = [key for name in extract_entity_spellings(question).values() if (key := normalize_name(name))]
    counts = Counter(name for passage in passages for name in passage.names)
    most = max(MIN_MENTIONS, MIN_UBIQUITOUS_SHARE * len(passages))
    # A passage may write a name in small letters, as "deprecated features" for "Deprecated Features".
    common = {
        name
        for name, number in counts.items()
        if number > most or any(f" {name} " in passage.small_words for passage in passages)
    }
    chains = [Chain((n,), question, dict(enumerate(scores[n]))) for n in _find_origins(names, passages, scores)]
    longer_chains: list[Chain] = []
    for _ in range(MAX_STEPS):
        chains = [longer for chain in chains for longer in _continue(chain, passages, names, common, score)]
        chains.sort(key=lambda chain: -chain.score)
        longer_chains += chains
        if chains and chains[0].answers:
            break
        chains = [chain for chain in chains if chain.is_about_name][:MAX_UNFINISHED]
    return sorted(longer_chains, key=lambda chain: -chain.score)


def _find_origins(
    names: Sequence[str], passages: Sequence[ChainPassage], scores: Sequence[Sequence[float]]
) -> Collection[int]:
    """Return the number of the best passage on each name of a question, first of all a passage about it."""
    origins = dict[int, None]()
    for name in names:
        about = [n for n, passage in enumerate(passages) if passage.find_mentions(name)]
        if about:
            origins[max(about, key=lambda n: (passages[n].subject == name, max(scores[n])))] = None
    return origins


def _continue(
    chain: Chain, passages: Sequence[ChainPassage], targets: Sequence[str], common: Collection[str], score: Scorer
) -> Iterator[Chain]:
    """Yield the chains with another passage, for each passage the best one.

    A passage on another name of the question is a part of the answer of its own. It follows only if the words that are
    still open are nearer to the question word than those that the chain has: these belong to the answer.
    """
    origin = passages[chain.passages[-1]]
    distances = _measure_distances(chain.question)
    covered = distances.keys() & origin.stems
    still_open = distances.keys() - covered
    if not covered or not still_open:
        return
    is_nearer = fmean(distances[word] for word in still_open) < fmean(distances[word] for word in covered)
    others = [] if is_nearer else [name for name in targets if not origin.find_mentions(name)]
    following = [
        (n, passage)
        for n, passage in enumerate(passages)
        if n not in chain.passages
        and passage.subject != origin.subject
        and not any(passage.find_mentions(name) for name in others)
    ]
    question_key = f" {normalize_name(chain.question)} "
    best = dict[int, Chain]()
    for name, spelling in origin.names.items():
        if name in common or f" {name} " in question_key:
            continue
        positions = [(n, sentence) for n, passage in following for sentence in passage.find_mentions(name)]
        question = _insert_name(chain.question, covered, spelling)
        scored = dict(zip(positions, score(question, positions) if positions else (), strict=True))
        for n in dict(positions):
            sentence_scores = {sentence: value for (number, sentence), value in scored.items() if number == n}
            longer = Chain((*chain.passages, n), question, sentence_scores, is_about_name=passages[n].subject == name)
            if n not in best or longer.score > best[n].score:
                best[n] = longer
    yield from best.values()


def _insert_name(question: str, covered: Collection[str], name: str) -> str:
    """Return a question with a name in place of the words that a passage has."""
    words: list[str] = []
    for word in question.split():
        stems = stem_words(word)
        if not stems or not set(stems) <= set(covered):
            words.append(word)
        elif name not in words:
            words.append(name)
    return " ".join(words)


def _measure_distances(question: str) -> dict[str, int]:
    """Return the number of words from the question word to each other word, by stem; empty without a question word."""
    match = _QUESTION_WORD.search(question)
    if match is None:
        return {}
    distances: dict[str, int] = {}
    for words in (_WORD.findall(question[match.end() :]), _WORD.findall(question[: match.start()])[::-1]):
        for distance, word in enumerate(words, 1):
            for stem in stem_words(word):
                distances[stem] = min(distance, distances.get(stem, distance))
    return distances
