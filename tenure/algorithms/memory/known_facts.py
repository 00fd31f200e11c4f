"""Extract facts from the result of a run, and select facts that later runs recall.

A fact is a supported claim that is understandable without its context. A recalled fact is not evidence: it leads to
passages and searches, and a report has to find and cite a source again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tenure.algorithms.memory.fact_extraction import extract_fact
from tenure.algorithms.memory.scoring import classify_fact
from tenure.algorithms.text.excerpts import has_back_reference, is_complete_sentence, make_standalone
from tenure.algorithms.text.sentences import normalize_sentence, split_sentences
from tenure.contracts.choices import MemoryKind
from tenure.contracts.knowledge.memory import MAX_MEMORY_CHARS, MemoryOrigin, NewMemory, ScoredMemory, SourceQuote
from tenure.contracts.research.learning import KnownFact
from tenure.contracts.result.result import Result, ResultClaim, SourceEntry

FACT_KINDS: Final[tuple[MemoryKind, ...]] = ("semantic", "long_term", "short_term")
MAX_SAVED_FACTS: Final = 24
MAX_QUOTES: Final = 5
"""Maximum number of quotes that are saved with a fact."""
MAX_RECALLED_FACTS: Final = 20
"""Maximum number of facts that are recalled, including duplicates of several runs."""
MAX_KNOWN_FACTS: Final = 10
"""Maximum number of facts that a run starts with."""
QUOTE_CONFIDENCE: Final = 0.9
"""Confidence of a claim that quotes its source and therefore needs no check."""

_MARKS = re.compile(r"[`*]{2,}|`|\s?\[\d+(?:, ?\d+)*\]")
"""Markdown of code and emphasis, and citation marks."""
_BACK_REFERENCE = re.compile(
    r"\b(?:this|these|those(?! (?:who|that|which|of|with)\b)|such an?|do(?:es)? so|that one|"
    r"(?:at|by|for|from|in|of|on|over|to|under|with) that)\b|"
    r"^(?:after|although|as|at|because|before|by|during|for|from|if|in|on|once|since|though|under|until|when|while|with)"
    r"\b.*?, (?:\w+ly |also |then )?(?:he|it|she|they)\b",
    re.IGNORECASE,
)
"""Words that refer to earlier text at any position, and pronouns after an introductory clause."""


def collect_facts(result: Result, corpora: Iterable[str]) -> tuple[NewMemory, ...]:
    """Return the facts of abstract and sections, most confident first, then by their position."""
    corpora = tuple(corpora)
    sources = {source.n: source for source in result.sources}
    facts: dict[str, tuple[float, int, NewMemory]] = {}
    for claims in (result.abstract_claims, *(section.claims for section in result.sections)):
        for position, fact in enumerate(_extract_facts(result, claims, sources, corpora)):
            facts.setdefault(normalize_sentence(fact.text), (-fact.confidence, position, fact))
    ranked = sorted(facts.values(), key=lambda entry: entry[:2])
    return tuple(fact for *_, fact in ranked)[:MAX_SAVED_FACTS]


def _extract_facts(
    result: Result, claims: Iterable[ResultClaim], sources: dict[int, SourceEntry], corpora: tuple[str, ...]
) -> Iterator[NewMemory]:
    """Yield supported claims that are understandable without the others and that no instructions may have shaped."""
    for claim in claims:
        every = [sources[item.source] for item in claim.citations]
        cited = [source for source in every if not source.derived]
        plain = _MARKS.sub("", claim.statement).strip()
        text = make_standalone(plain, cited[0].title) if cited and _is_self_contained(plain) else ""
        is_known = claim.kind == "fact" and claim.status == "supported" and not claim.tainted
        if is_known and 0 < len(text) <= MAX_MEMORY_CHARS and not _BACK_REFERENCE.search(text):
            fact = extract_fact(text)
            yield NewMemory(
                text=text,
                # A computed result may come from several corpora.
                rests_on_sources=len(cited) == len(every),
                kind=classify_fact(text, fact),
                origin=MemoryOrigin(
                    run=result.id,
                    sources=tuple(dict.fromkeys(item.id for item in cited)),
                    corpora=corpora,
                ),
                confidence=QUOTE_CONFIDENCE if claim.confidence is None else claim.confidence,
                details=fact,
                quotes=_list_quotes(claim, sources) if fact else (),
            )


def _list_quotes(claim: ResultClaim, sources: Mapping[int, SourceEntry]) -> tuple[SourceQuote, ...]:
    """Return the quotes of a claim from documents and pages; a computed result is no passage of a corpus."""
    quotes = (
        SourceQuote(source=sources[item.source].id, start=item.start, text=item.quote)
        for item in claim.citations
        if not sources[item.source].derived
    )
    return tuple(quotes)[:MAX_QUOTES]


def _is_self_contained(text: str) -> bool:
    """Return whether a text consists of whole sentences, and the first one does not refer to earlier text."""
    sentences = split_sentences(text)
    return bool(sentences) and all(map(is_complete_sentence, sentences)) and not has_back_reference(sentences[0].text)


def select_known_facts(memories: Iterable[ScoredMemory]) -> tuple[KnownFact, ...]:
    """Return the distinct undisputed facts among memories, in their order."""
    facts: dict[str, KnownFact] = {}
    for recalled in memories:
        memory = recalled.memory
        if memory.kind in FACT_KINDS and not memory.contradicted_by:
            fact = KnownFact(
                text=memory.text,
                run=memory.origin.run,
                relevance=round(recalled.relevance, 4),
                support=memory.origin.support,
                corpora=memory.origin.corpora or (),
            )
            facts.setdefault(normalize_sentence(memory.text), fact)
    return tuple(facts.values())[:MAX_KNOWN_FACTS]


def describe_origin(fact: KnownFact) -> str:
    """Return where a fact comes from, in words."""
    if not fact.run:
        return "from the owner"
    return f"{fact.run}, from {', '.join(fact.corpora) or 'the web'}"
