"""Build a brief of evidence: for each part of a question the excerpts of the sources that answer it best.

Without a model a report shows its sources instead of imitating prose. An excerpt is a whole passage or a part of one
that reads well on its own: paragraphs, a list with its introduction, rows of a table under their header, or code with
the sentence before it. Its sentences are claims with verbatim citations, and those that answer are marked. A part of
the question that no passage concerns gets no excerpt.
"""

import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.claims.citations import cite_span
from tenure.algorithms.injection.detection import contains_instructions
from tenure.algorithms.injection.taint import has_instructions
from tenure.algorithms.reasoning.factoid_questions import has_detail, is_number_question
from tenure.algorithms.research.transcript import ARROW
from tenure.algorithms.retrieval.word_overlap import measure_overlap, needs_overlap
from tenure.algorithms.text.entities import extract_entity_spellings, normalize_name, normalize_title
from tenure.algorithms.text.excerpts import has_back_reference, is_back_matter
from tenure.algorithms.text.passage import Encoder, Passage, Vectors
from tenure.algorithms.text.questions import remove_questions
from tenure.algorithms.text.sentences import normalize_sentence, split_words, stem_words
from tenure.algorithms.writing.chains import Chain, ChainPassage, SentencePosition, find_chains
from tenure.algorithms.writing.pieces import ExcerptPiece, describe_rows, split_pieces
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.choices import ReportLength
from tenure.contracts.evidence.passages import Block, Claim

TARGET_WORDS, MAX_WORDS = 60, 90
"""Length of an excerpt in words at which it is long enough, and the maximum. With 110 and 150 words reports
on HotpotQA and MuSiQue (even half) were 10 % to 15 % longer and showed the same answers; with 90 instead of 110 words
reports on MuSiQue are 12 % shorter, and the answer is among the first 200 words of 65 % instead of 62.5 %."""
MAX_EXCERPTS, MIN_EXCERPTS, REPORT_EXCERPTS = 5, 3, 12
"""Maximum number of excerpts of a part, the number up to which further excerpts of a page are shown and that every part
may have, and the number that several parts share."""
EXCERPT_FACTORS: Final[Mapping[ReportLength, float]] = {"short": 0.5, "standard": 1.0, "long": 1.6}
"""Number of excerpts of a part in a report of each length, relative to that of a standard report."""
MAX_ANSWERS = 2
"""Maximum number of answering sentences in an excerpt; of a list, all items that answer."""
RANK_WEIGHT, MAX_RANK = 0.1, 5
"""Reduction of the score with each rank of the passage, and last rank that reduces it further: the search knows more
than the words of a sentence, such as links between documents."""
CHAIN_WEIGHT = 10.0
"""Addition to the score with each place in a chain: its end precedes what leads to it, and both precede all others."""
MIN_BEST_SCORE = 0.4
"""Minimum score of the best excerpt of a part: with their supporting passages all questions of HotpotQA and MuSiQue
reach 0.6, and questions on another subject than the documents at most 0.25."""
MIN_SCORE, MIN_SHARE_OF_BEST = 0.25, 0.65
"""Minimum score of an excerpt, absolute and relative to the best one of its part. Of the supporting passages of 40
questions of MuSiQue (even half) 80 % are shown, as with 0.6; their share of the excerpts is 43 % instead of 40 %."""
LINK_WEIGHT = 0.9
"""Weight of the score of a passage as an answer to the question that a chain leads to. With 0.7 only chains that answer
have an effect: of 40 questions of MuSiQue (even half) 67.5 % instead of 72.5 % have their answer in the report."""
MIN_CERTAINTY, NAMES_WEIGHT, TITLE_WEIGHT = 1.9, 0.7, 0.45
"""Minimum certainty of a part, and weights of the names of its question that the passages contain and of a document
whose title the question names, relative to the best score. Chosen on the even half of HotpotQA and MuSiQue so that nine
of ten questions without their supporting passages are not certain."""
MIN_OVERLAP = 0.5
"""Minimum share of the words of a question that is not in English, in a sentence that answers it for certain."""
NOT_FOUND = "Not found: no passage concerns this."
NOT_CERTAIN = "No passage that was found answers this for certain; the nearest ones follow."
"""Statements on a part without excerpts, and before the excerpts of a part whose answer is not certain."""
TERM_WEIGHT, DETAIL_WEIGHT = 0.5, 0.15
"""Weight of the question's words, and of the date, number or person that it asks for, relative to the similarity."""
MIN_OWN_SIMILARITY = 0.12
"""Minimum similarity of an excerpt to the question without its title."""
MIN_ANSWER_SHARE = 0.9
"""Minimum score of an answering sentence, relative to the best one of its excerpt."""

_LIST_QUESTION = re.compile(
    r"\b(?:which|what|list|name)\s+(?:\w+\s+){0,3}?(?!was\b|does\b|has\b)\w+(?<![ius])s\b|"
    r"\b(?:list|enumerate|overview of)\b",
    re.IGNORECASE,
)
"""Question that asks for several things: "Which proposals were rejected?", not "Which class is used?"."""
_AND = re.compile(r"\s+and\s+|,\s+")  # The names in "Paris and Lyon", "Paris, Lyon".
_TITLE_PARTS = re.compile(r" ?(?:[:–—|()]| - ) ?")
"""Separators of the parts of a title whose white space is single blanks: "PEP 484 – Type Hints"."""
_REFERRAL = re.compile(r"\s*(?:(?:please|also)\s+)*(?:see|refer\s+to|consult)\b[^.\n]{1,120}\.?\s*", re.IGNORECASE)
"""Sentence that only names another place: "See the Let's Encrypt page."."""
_COMPUTED_URI = re.compile(r"^calculation: |#sql=")
"""Address of a computed result: a calculation, or the result of a query over a table."""


CHAIN: Final = "The answer is at the end of"
"""Label of the chain of documents that answers a part."""


@dataclass(frozen=True)
class BriefPart:
    """Part of a question with its evidence."""

    question: str
    passages: Sequence[Passage]
    """Evidence on the part, best first."""
    focus: Sequence[str] = ()
    """Requests of people; the excerpt nearest to each one is shown in any case."""


@dataclass(frozen=True)
class PartBrief:
    """Excerpts on a part of a question."""

    excerpts: tuple[Block, ...] = ()
    """Excerpts, computed results and best ones first; empty if no passage concerns the part."""
    is_certain: bool = True
    """Whether an excerpt answers the part for certain."""
    chain: tuple[str, ...] = ()
    """Titles of the documents that answer the part together, the answering one last; empty if one is enough."""

    @property
    def text(self) -> tuple[Block, ...]:
        """The excerpts, after the chain that they form and the statement that none answers for certain."""
        is_doubtful = self.excerpts and not self.is_certain
        lead_in = Claim(text=f"{CHAIN}: {ARROW.join(self.chain)}", kind="lead_in")
        return (
            *([_state_gap(NOT_CERTAIN)] if is_doubtful else ()),
            *([Block(claims=(lead_in,))] if self.chain else ()),
            *self.excerpts,
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The text of one part among others, or the statement that nothing was found."""
        return self.text or (_state_gap(NOT_FOUND),)


def _state_gap(text: str) -> Block:
    return Block(claims=(Claim(text=text, kind="gap"),))


class _Evidence(NamedTuple):
    """Passages on a part, and whether they answer it."""

    candidates: Sequence["_Candidate"]
    """Passages that concern the part, best first."""
    is_certain: bool
    """Whether they answer it for certain."""
    chain: tuple[Passage, ...] = ()
    """Those that answer it together, the answering one last; empty if one is enough."""


class _Candidate(NamedTuple):
    """Passage with its value for a part."""

    passage: Passage
    pieces: Sequence[ExcerptPiece]
    scores: NDArray[np.float32]
    """Score of each piece as an answer."""
    score: float


class _Statement(NamedTuple):
    """Statement of a piece on a question."""

    origin: str
    """Title and heading above it, and a question that the text asks before it."""
    text: str
    """The piece without questions; empty if it only asks, or only names another place."""


_Window = tuple[_Candidate, Sequence[int]]
"""Passage with the numbers of the pieces that its excerpt shows."""


def build_brief(
    parts: Sequence[BriefPart], encode: Encoder, length: ReportLength = "standard"
) -> tuple[PartBrief, ...]:
    """Return the excerpts on each part of a question; each passage occurs once.

    A passage belongs to the part that it answers best, unless that would leave another part without an excerpt.
    """
    remembered = _remember(encode)
    split = {passage.chunk: split_pieces(passage) for part in parts for passage in part.passages}
    evidence = [_find_evidence(part, split, remembered) for part in parts]
    limit = max(MIN_EXCERPTS, min(MAX_EXCERPTS, REPORT_EXCERPTS // max(1, len(parts))))
    limit = max(2, round(limit * EXCERPT_FACTORS[length]))
    chosen = _share_passages(parts, [item.candidates for item in evidence], limit)
    return tuple(_build_part(part, share, item) for part, share, item in zip(parts, chosen, evidence, strict=True))


def _remember(encode: Encoder) -> Encoder:
    """Return an encoder that encodes each text once."""
    vectors: dict[str, NDArray[np.float32]] = {}

    def encode_new(texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in vectors]
        vectors.update(zip(new, encode(new), strict=True) if new else ())
        return np.stack([vectors[text] for text in texts])

    return encode_new


def _find_evidence(part: BriefPart, split: Mapping[ChunkId, Sequence[ExcerptPiece]], encode: Encoder) -> _Evidence:
    """Return the passages that concern a part: those nearest to requests, then in the order of the search."""
    distinct = {normalize_sentence(passage.text): passage for passage in reversed(part.passages)}
    passages = [item for item in reversed(distinct.values()) if split[item.chunk] and not is_back_matter(item)]
    if not passages:
        return _Evidence((), is_certain=False)
    scores = _score_pieces(part.question, passages, split, encode)
    best = max(float(of_passage.max()) for of_passage in scores)
    chains = _find_chains(part.question, passages, scores, split, encode) if best >= MIN_BEST_SCORE else []
    for chain in chains:
        last = scores[chain.passages[-1]]
        for number, value in chain.scores.items():
            last[number] = max(last[number], LINK_WEIGHT * value)
    steps = {n: step for step, n in enumerate(chains[0].passages, 1)} if chains and chains[0].answers else {}
    candidates = [
        _Candidate(
            passage,
            split[passage.chunk],
            of_passage,
            float(of_passage.max()) - RANK_WEIGHT * min(rank, MAX_RANK) + CHAIN_WEIGHT * steps.get(rank, 0),
        )
        for rank, (passage, of_passage) in enumerate(zip(passages, scores, strict=True))
    ]
    lowest = max(MIN_SCORE, MIN_SHARE_OF_BEST * best)
    near = [item for item in candidates if float(item.scores.max()) >= lowest] if best >= MIN_BEST_SCORE else []
    distinct_near = _drop_repetitions(sorted(near, key=lambda item: -item.score))
    nearest: list[_Candidate] = []
    for request in part.focus[:REPORT_EXCERPTS]:  # no more are shown
        by_passage = zip(passages, _score_pieces(request, passages, split, encode), strict=True)
        passage, of_passage = max(by_passage, key=lambda pair: float(pair[1].max()))
        nearest.append(_Candidate(passage, split[passage.chunk], of_passage, float(of_passage.max())))
    first = [item for item in distinct_near if is_number_question(part.question) and is_computed(item.passage)]
    ranked = (*first, *nearest, *(candidates[n] for n in steps), *distinct_near)
    has_detail_asked = _states_detail(part.question, distinct_near)
    return _Evidence(
        tuple({item.passage.chunk: item for item in ranked}.values()),
        is_certain=bool(first) or (_is_certain(part.question, best, passages) and has_detail_asked),
        chain=tuple(passages[n] for n in steps),
    )


def _drop_repetitions(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the candidates whose best piece is not in a better one: pages on several versions share paragraphs."""
    distinct: list[_Candidate] = []
    seen: set[str] = set()
    for candidate in candidates:
        texts = [normalize_sentence(piece.text) for piece in candidate.pieces]
        if texts[int(candidate.scores.argmax())] not in seen:
            distinct.append(candidate)
            seen.update(texts)
    return distinct


def _is_certain(question: str, best: float, passages: Sequence[Passage]) -> bool:
    """Return whether passages answer a question for certain: they contain its names and numbers, and one is about it.

    Of 50 questions of HotpotQA (even half) without their supporting passages 92 % instead of 86 % are not certain since
    all names and numbers have to occur, and with them 18 % instead of 12 %.

    One passage has to contain the words of a question without names: of 40 questions of MuSiQue without their
    supporting passages 97.5 % instead of 92.5 % are then not certain, and with them 25 % instead of 17.5 %.
    """
    if needs_overlap(question, passages[0].text):
        return best >= MIN_OVERLAP
    names = _list_names(question)
    texts = [_list_words(passage) for passage in passages]
    if names:
        share = sum(any(f" {name} " in text for text in texts) for name in names) / len(names)
    else:
        words = set(stem_words(question))
        share = max(len(words.intersection(stem_words(text))) for text in texts) / len(words) if words else 1.0
    numbers = {word for word in split_words(question) if word.isdigit()}
    if numbers.difference(*map(str.split, texts)) or share < 1:
        return False
    question_key = f" {normalize_name(question)} "
    titles = [" ".join(title.split()) for passage in passages for title in (passage.title, *passage.headings)]
    # "PEP 484" and "Type Hints" of "PEP 484: Type Hints".
    parts = {normalize_name(part) for title in titles for part in _TITLE_PARTS.split(title)} - {""}
    is_titled = not names or any(f" {part} " in question_key for part in parts)
    return best + NAMES_WEIGHT * share + TITLE_WEIGHT * is_titled >= MIN_CERTAINTY


def _states_detail(question: str, candidates: Sequence[_Candidate]) -> bool:
    """Return whether one of the best sentences has the date or number that a question asks for."""
    lowest = MIN_ANSWER_SHARE * max((float(candidate.scores.max()) for candidate in candidates), default=0.0)
    return not is_number_question(question) or any(
        has_detail(question, piece.text)
        for candidate in candidates
        for piece, score in zip(candidate.pieces, candidate.scores, strict=True)
        if score >= lowest
    )


def _list_names(question: str) -> frozenset[str]:
    """Return the keys of the names in a question, those of a list each for itself."""
    spellings = (name for names in extract_entity_spellings(question).values() for name in _AND.split(names))
    return frozenset(name for spelling in spellings if (name := normalize_name(spelling)))


def _list_words(passage: Passage) -> str:
    """Return the words of a passage and of its title between blanks, as keys of names are compared with them."""
    return f" {normalize_title(passage.title)} {normalize_name(passage.title)} {normalize_name(passage.text)} "


def is_computed(passage: Passage) -> bool:
    """Return whether a run has computed a passage."""
    return bool(_COMPUTED_URI.search(passage.uri))


def _score_pieces(
    question: str, passages: Sequence[Passage], split: Mapping[ChunkId, Sequence[ExcerptPiece]], encode: Encoder
) -> list[NDArray[np.float32]]:
    """Return the score of each piece of each passage; questions in other languages are compared by their words."""
    statements = [_list_statements(question, passage, split[passage.chunk]) for passage in passages]
    listed = [statement for of_passage in statements for statement in of_passage]
    if needs_overlap(question, passages[0].text):
        scores = np.asarray([measure_overlap(question, statement.text) for statement in listed], dtype=np.float32)
    else:
        scores = _score_statements(question, listed, encode)
    return np.split(scores, np.cumsum([len(of_passage) for of_passage in statements])[:-1])


def _list_statements(question: str, passage: Passage, pieces: Sequence[ExcerptPiece]) -> list[_Statement]:
    """Return the statement of each piece of a passage; a question in the text is a heading of the piece after it."""
    statements: list[_Statement] = []
    origin = heading = format_origin(passage)
    rows = describe_rows(passage, pieces)
    for number, piece in enumerate(pieces):
        text = remove_questions(rows.get(number, piece.text), question)
        is_question = not split_words(text)
        statements.append(_Statement(heading, "" if is_question or _REFERRAL.fullmatch(text) else text))
        heading = f"{origin} – {piece.text}" if is_question and piece.part != "code" else origin
    return statements


def _score_statements(question: str, statements: Sequence[_Statement], encode: Encoder) -> NDArray[np.float32]:
    """Score statements as answers to a question in the language of the encoder; −1 for one without text."""
    scores = score_answers(question, [(statement.origin, statement.text) for statement in statements], encode)
    scores[[not statement.text for statement in statements]] = -1.0
    return scores


def score_answers(question: str, units: Sequence[tuple[str, str]], encode: Encoder) -> NDArray[np.float32]:
    """Score how well each of n texts, with the titles of their sources, answers a question.

    The score is about 1 for a good answer, and −1 for an unrelated text.
    """
    question_vector = encode([question])[0]
    raw: Vectors = encode([text for _, text in units]) @ question_vector
    titled = encode([f"{title}: {text}" for title, text in units]) @ question_vector
    details = np.asarray([has_detail(question, text) for _, text in units], dtype=np.float32)
    terms = _compute_overlap(set(stem_words(question)), [f"{title} {text}" for title, text in units])
    score: NDArray[np.float32] = ((raw + titled) / 2 + TERM_WEIGHT * terms + DETAIL_WEIGHT * details).astype(np.float32)
    score[raw < MIN_OWN_SIMILARITY] = -1.0
    return score


def _compute_overlap(stems: set[str], texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the share of stems in each of n texts, weighted by inverse document frequency."""
    shared = [stems.intersection(stem_words(text)) for text in texts]
    frequency = Counter(stem for common in shared for stem in common)
    weight = {stem: math.log(1 + len(texts) / (1 + frequency[stem])) for stem in stems}
    total = sum(weight.values()) or 1.0
    return np.asarray([sum(weight[stem] for stem in sorted(common)) / total for common in shared], dtype=np.float32)


def _find_chains(
    question: str,
    passages: Sequence[Passage],
    scores: Sequence[NDArray[np.float32]],
    split: Mapping[ChunkId, Sequence[ExcerptPiece]],
    encode: Encoder,
) -> list[Chain]:
    """Return the chains of passages on a question in the language of the encoder, best first."""
    if needs_overlap(question, passages[0].text):
        return []
    statements = [_list_statements(question, passage, split[passage.chunk]) for passage in passages]
    steps = [
        ChainPassage(passage.title, [statement.text for statement in of_passage])
        for passage, of_passage in zip(passages, statements, strict=True)
    ]

    def score(target: str, positions: Sequence[SentencePosition]) -> list[float]:
        return list(map(float, _score_statements(target, [statements[n][number] for n, number in positions], encode)))

    return find_chains(question, steps, [list(map(float, of_passage)) for of_passage in scores], score)


def format_origin(passage: Passage) -> str:
    """Return the title of a passage with its nearest heading, without which a rejected idea reads like a rule."""
    return " – ".join(dict.fromkeys((passage.title, *passage.headings[-1:])))


def _share_passages(
    parts: Sequence[BriefPart], pools: Sequence[Sequence[_Candidate]], limit: int
) -> list[list[_Candidate]]:
    """Give each passage to one part: rank by rank, of equal ranks the one that it answers best."""
    chosen: list[list[_Candidate]] = [[] for _ in parts]
    used: set[ChunkId] = set()

    def take(rank: int, ordered: Sequence[Sequence[_Candidate]], most: int) -> None:
        of_rank = [(pool[rank], number) for number, pool in enumerate(ordered) if rank < len(pool)]
        for item, number in sorted(of_rank, key=lambda pair: -pair[0].score):
            if item.passage.chunk not in used and len(chosen[number]) < most:
                chosen[number].append(item)
                used.add(item.passage.chunk)

    leading = [_list_leading(part, pool) for part, pool in zip(parts, pools, strict=True)]
    lowest = [MIN_SHARE_OF_BEST * max((float(item.scores.max()) for item in pool), default=0.0) for pool in pools]
    further = [
        sorted((item for item in pool if float(item.scores.max()) >= least), key=lambda item: -item.score)
        for pool, least in zip(pools, lowest, strict=True)
    ]
    for ordered, most in ((leading, limit), (further, min(limit, MIN_EXCERPTS))):
        for rank in range(max(map(len, ordered), default=0)):
            take(rank, ordered, most)
    return chosen


def _list_leading(part: BriefPart, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the best passage of each page in the order of the pages; of a list all, as one page may be the answer."""
    if is_list_question(part.question):
        return list(candidates)
    pages: dict[SourceId, _Candidate] = {}
    for candidate in candidates:
        best = pages.setdefault(candidate.passage.source, candidate)
        if candidate.score > best.score:
            pages[candidate.passage.source] = candidate
    return list(pages.values())


def is_list_question(question: str) -> bool:
    """Return whether a question asks for several things, which one page may list in several places."""
    return bool(_LIST_QUESTION.search(question))


def _build_part(part: BriefPart, chosen: Sequence[_Candidate], evidence: _Evidence) -> PartBrief:
    wants_number = is_number_question(part.question)
    ordered = sorted(chosen, key=lambda item: (not (wants_number and is_computed(item.passage)), -item.score))
    windows: list[_Window] = [(item, _select_window(item.pieces, item.scores)) for item in ordered]
    blocks: list[Block] = []
    for item, window in windows:
        answers = _find_answers(item, window)
        claims = tuple(_build_claim(item.passage, item.pieces[n], answers=n in answers) for n in window)
        blocks.append(Block(kind="excerpt", claims=claims))
    chunks = {item.passage.chunk for item, _ in windows}
    is_chain = evidence.is_certain and all(passage.chunk in chunks for passage in evidence.chain)
    return PartBrief(
        tuple(blocks),
        evidence.is_certain,
        tuple(passage.title for passage in evidence.chain) if is_chain else (),
    )


def _build_claim(passage: Passage, piece: ExcerptPiece, *, answers: bool) -> Claim:
    return Claim(
        text=textwrap.dedent(piece.text) if piece.part == "code" else piece.text,
        status="supported",
        confidence=1.0,
        citations=(cite_span(passage, piece.start, piece.end),),
        tainted=has_instructions(passage),
        part=piece.part,
        answers=answers,
    )


def _find_answers(candidate: _Candidate, window: Sequence[int]) -> list[int]:
    """Return the pieces of an excerpt that answer best; of a list or a table all that answer as well."""
    best = max(float(candidate.scores[number]) for number in window)
    near = [
        n for n in window if candidate.scores[n] >= MIN_ANSWER_SHARE * best > 0 and candidate.pieces[n].part != "code"
    ]
    listed = [n for n in near if candidate.pieces[n].part in ("item", "row")]
    return listed if len(listed) > MAX_ANSWERS else sorted(near, key=lambda n: -candidate.scores[n])[:MAX_ANSWERS]


def _select_window(pieces: Sequence[ExcerptPiece], scores: NDArray[np.float32]) -> list[int]:
    """Return the numbers of the pieces of an excerpt, without paragraphs that give instructions to language models."""
    hostile = {piece.block for piece in pieces if contains_instructions(piece.text)}
    # An instruction often ends in the paragraph after the one that is recognised.
    hidden = {number for block in hostile for number in (block, block + 1)} - {pieces[int(scores.argmax())].block}
    visible = [number for number, piece in enumerate(pieces) if piece.block not in hidden]
    return [visible[n] for n in _select_around_best([pieces[n] for n in visible], scores[visible])]


def _select_around_best(pieces: Sequence[ExcerptPiece], scores: NDArray[np.float32]) -> list[int]:
    """Return the numbers of the pieces of an excerpt: the whole passage, or the part around its best piece."""
    lengths = [len(split_words(piece.text)) for piece in pieces]
    if sum(lengths) <= MAX_WORDS:
        return list(range(len(pieces)))
    best = int(scores.argmax())
    selected = _select_core(pieces, lengths, scores, best)
    while sum(lengths[number] for number in selected) < TARGET_WORDS:
        room = MAX_WORDS - sum(lengths[number] for number in selected)
        before, after = min(selected) - 1, max(selected) + 1
        first = pieces[min(selected)]
        needs_context = first.part in ("sentence", "code") or has_back_reference(first.text)
        order = (before, after) if needs_context else (after, before)
        fitting = (n for n in order if 0 <= n < len(pieces) and lengths[n] <= room)
        # A sentence that announces what follows it does not end an excerpt.
        number = next((n for n in fitting if n == before or not pieces[n].text.endswith(":")), None)
        if number is None:
            break
        selected = sorted({*selected, number})
    return selected


def _select_core(
    pieces: Sequence[ExcerptPiece], lengths: Sequence[int], scores: NDArray[np.float32], best: int
) -> list[int]:
    """Return the pieces without which the best one cannot be read: its list, the header of its table, its lead-in."""
    block = [number for number, piece in enumerate(pieces) if piece.block == pieces[best].block]
    part = next((pieces[number].part for number in block if pieces[number].part != "sentence"), "paragraph")
    introduction = [block[0] - 1] if block[0] and part in ("item", "code", "row") else []
    if part == "row":
        introduction.append(block[0])
    core = [*introduction, best]
    if part in ("item", "row"):
        for number in sorted(block, key=lambda n: -float(scores[n]) if part == "row" else abs(n - best)):
            if sum(lengths[n] for n in {*core, number}) <= MAX_WORDS:
                core.append(number)
    return sorted(set(core))
