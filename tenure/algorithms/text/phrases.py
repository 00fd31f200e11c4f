"""Extract terms (noun phrases and code identifiers) by rules, without a part-of-speech tagger.

A phrase is a run of content words between stop words, punctuation and verbs, as in RAKE (Rose et al., 2010). A single
word is a term only if its spelling marks it: `merge_insert`, `HTTPServer`, `read-only`, `BM25`. Stop words, verbs and
plurals are English; identifiers and phrases between punctuation marks are found in any language.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tenure.algorithms.text.entities import normalize_name
from tenure.algorithms.text.sentences import STOP_WORDS

MAX_PHRASE_WORDS = 4
"""Maximum words of a phrase; longer runs are rarely phrases."""
_MIN_CHARACTERS = 3  # "gas" is no plural.

# "merge_insert", "read-only", "a.b", "call()", "don't", and each mark.
_PIECE = re.compile(r"[^\W_][\w]*(?:[-.'’/][^\W_]\w*)*(?:\(\))?|_\w+|[^\w\s]")
_IDENTIFIER = re.compile(
    r"_*[^\W\d_]\w*(?:_\w+)+|_+[^\W\d_]\w*|[\w.]*\w\(\)|[^\W\d_]\w*(?:\.[^\W\d_]\w*)+"  # snake_case, call(), a.b
    r"|[^\W\d_]*[a-z][A-Z]\w*|[A-Z]{2,}[a-z]{2,}\w*|(?=\w*\d)(?=\w*[A-Z])[A-Za-z]\w+"  # camelCase, BM25
)
_SUFFIXES = ("'s", "’s", "n't", "n’t")
_NON_ADVERBS = frozenset("family assembly anomaly supply reply monopoly july italy fly ally jelly".split())
_VERBS = frozenset(
    """accept accepts accepted add adds added aim aims allow allows allowed appear appears appeared apply applies
    applied arrive arrived ask asks asked assume assumes avoid avoids based become becomes became begin begins
    began begun believe believed belong belongs bring brings brought build builds built call calls called came
    carry carries carried cause causes caused check checks choose chooses chose chosen come comes consider
    considers considered consist consists contain contains contained continue continues create creates created deal
    deals decide decides decided define defines defined depend depends derive derived describe describes described
    determine determines determined develop developed die died differ differs discuss discussed emit emits enable
    enables enabled ends ensure ensures establish established evaluate evaluated exist exists expect expects
    expected explain explains fail fails failed find finds found follow follows followed form formed gave go goes
    gone went grow grew happen happened help helps hold holds held hopes identify implement implements implemented
    imply implies improve improves include includes included including increase increases indicate indicates
    introduce introduced investigate investigated keep keeps kept know knows known lead leads led leave leaves left
    let lets lie lies live lived look looks lose lost maintain married match matches means meant meet met move
    moved note noted obtain obtained occur occurs offer offers offered open opens own owned owns operate pass
    passes passed play plays played prefer present presents presented prevent prevents produce produces produced
    propose proposed prove proved provide provides provided put puts raise raises raised reach reaches reached read
    reads receive receives received reduce reduces refer refers relate related release released remain remains
    remove removes removed replace replaces replaced report reported represent represents require requires required
    result results return returns returned run runs ran said saw say says see sees seem seems seen sell sold send
    sends sent serve served set sets show shows showed shown sit sits specify specifies specified stand stands
    stood start starts started stay stays stop stops store stores stored study studied suggest suggests support
    supports supported suppose take takes taken took tell tells think thought told tried try tries turn turns
    turned understand want wants watch went win won work works worked write writes written wrote""".split()
)
"""Forms of common verbs; a noun phrase ends at a verb."""
_PLURALS = (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"))
_NO_PLURAL = ("ss", "us", "is", "as", "os")


@lru_cache(maxsize=50_000)
def normalize_term(text: str) -> str:
    """Return the key of a term: the name key, with an uncapitalised last word in the singular."""
    name = normalize_name(text)
    head, _, last = name.rpartition(" ")
    if text[-1:].islower() and text.split()[-1].islower():
        last = _singularize(last)
    return f"{head} {last}".strip()


def extract_terms(sentence: str) -> tuple[str, ...]:
    """Extract the terms of a sentence in their first spelling, in order, each key once."""
    terms: dict[str, str] = {}
    for run in _split_runs(sentence):
        for term in _select_terms(run):
            terms.setdefault(normalize_term(term), term)
    terms.pop("", None)
    return tuple(terms.values())


@lru_cache(maxsize=50_000)
def is_identifier(word: str) -> bool:
    """Return whether a word is spelled like a code identifier or like an abbreviation with a number."""
    is_plain = word.isalpha() and (word.islower() or word[1:].islower())
    return not is_plain and _IDENTIFIER.fullmatch(word) is not None


def _split_runs(sentence: str) -> Iterator[list[str]]:
    """Yield the runs of words between stop words, punctuation, verbs and adverbs."""
    run: list[str] = []
    for piece in _PIECE.findall(sentence):
        if _is_boundary(piece):
            if run:
                yield run
                run = []
            if piece.endswith("()"):
                yield [piece]
        else:
            run.append(piece)
    if run:
        yield run


@lru_cache(maxsize=50_000)
def _is_boundary(piece: str) -> bool:
    """Return whether a word or mark ends a phrase."""
    lower = piece.lower()
    is_adverb = lower.endswith("ly") and lower.isalpha() and lower not in _NON_ADVERBS
    return is_adverb or lower in STOP_WORDS or lower in _VERBS or lower.endswith(_SUFFIXES) or not piece[-1].isalnum()


def _select_terms(run: Sequence[str]) -> Iterator[str]:
    """Yield the phrase that a run forms, and the words of the run that are terms themselves."""
    words = list(run)
    while words and (words[-1].endswith("ed") or words[-1].isdigit()):
        words.pop()
    while words and words[0].isdigit():
        words.pop(0)
    if 2 <= len(words) <= MAX_PHRASE_WORDS:
        yield " ".join(words)
    for word in run:
        if is_identifier(word) or (len(run) == 1 and "-" in word and len(word) > _MIN_CHARACTERS):
            yield word


def _singularize(word: str) -> str:
    if any(character.isdigit() for character in word):
        return word  # an identifier, whose last letter is part of its name
    for plural, singular in _PLURALS:
        if word.endswith(plural):
            return word.removesuffix(plural) + singular
    return word[:-1] if len(word) > _MIN_CHARACTERS and word.endswith("s") and not word.endswith(_NO_PLURAL) else word
