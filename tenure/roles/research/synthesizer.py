"""Write Situation and Complication during the research, and at its end Resolution, gaps and a comparison (SCR)."""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Annotated

from pydantic import Field

from tenure.algorithms.reasoning.answer_scoring import score_answers
from tenure.algorithms.retrieval.mmr import select_by_mmr
from tenure.algorithms.text.excerpts import Excerpt, extract_excerpts, has_back_reference, make_standalone
from tenure.algorithms.text.generations import describe_generations
from tenure.algorithms.text.passage import Passage, Vectors
from tenure.algorithms.text.sentences import find_ubiquitous_names, normalize_sentence, remove_common_words, stem_words
from tenure.contracts.evidence.passages import Block, Claim, Draft, SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import Reflection
from tenure.contracts.run.limit_fields import ReportLength
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    wrap_in_tag,
)
from tenure.roles.prompting import (
    CITING_RULE,
    FORM_RULE,
    KIND_RULE,
    WrittenBlock,
    WrittenRow,
    WrittenSentence,
    cite_block,
    cite_sentence,
    find_passage_numbers,
    join_parts,
    render_list,
    render_preferences,
)

MAX_SENTENCES = 6
"""Maximum sentences of a part of the synthesis."""

SYSTEM = f"""You keep the synthesis of a research project up to date, as a senior adviser would put it to a busy
reader. Turn by turn you are given new findings; you answer with the whole current synthesis.

- situation: the facts that everything else rests on, as far as the findings show them. A rule that several subjects
  share is stated once for all of them, so that only true differences set them apart.
- complication: what makes it hard, contested or incomplete: limits, conflicts between sources, exceptions, costs.

Work the new findings in; keep what still holds, correct what they change, and drop what they make unimportant. Two to
{MAX_SENTENCES} sentences to a part, each a full statement with its subject named. If a reflection or a decision says
what is missing, put it right as far as the findings allow; where they do not allow it, one sentence of kind `gap` says
what they leave open.

When the research is finished, give three parts more, which close the report; until then they are
empty:
- resolution: what follows for the reader and no single source says. The report opens with the answer to the question,
  so do not repeat it. If the question calls for a decision, recommendations by the reader's situation (if this is your
  case, choose that, because of these facts); else what the findings mean together, such as which of two conflicting
  sources to believe and why. Each is of kind `inference` and names all passages it rests on.
- gaps: what the findings leave open and a reader who has to decide needs to know: one specific thing to a sentence,
  with the nearest fact that they do have, if it could be taken for the answer; each of kind `gap`, at most
  {MAX_SENTENCES}, the most important first; no general caution. `gap_queries` has a search for each gap, in the same
  order, in the words of a text that closes it, such as its heading or its answer; the sources are searched once more.
- comparison: one table of subjects and criteria, if the question compares several subjects, with the criteria by
  which they differ: the smaller number of the two as `columns`, the others as `rows`, a few words to a cell, each with
  its passages. A cell about which nothing was found is a `gap` with the text `–`, since a section may still find it; a
  criterion on which nothing was found for most subjects is left out. Without a comparison there are no columns and no
  rows.

{CITING_RULE} Passage numbers stay the same through the whole conversation.
{KIND_RULE} {FORM_RULE}
{EVIDENCE_RULE}"""

RESOLUTION_RULE = "The research is finished: write resolution, gaps and, for a comparison, its table, too."
"""Addition to the prompt if the resolution is due."""
RESOLUTION_LENGTHS: Mapping[ReportLength, str] = {
    "short": "Length: short. At most two recommendations, two gaps and three criteria.",
    "standard": "",
    "long": "Length: long. Cover every situation and every criterion for which the findings suffice.",
}
"""Additions to the prompt on the length of the closing parts."""


class SynthesizerInput(RoleInput):
    """State of the synthesis."""

    question: str
    """The question."""
    shown_passages: int = 0
    """Number of passages that the conversation contains already."""
    synthesis: SynthesisDraft = SynthesisDraft()
    """The current synthesis."""
    reasoning: str = ""
    """Reason for the last decision to continue."""
    key_factors: tuple[str, ...] = ()
    """Missing information at that time."""
    reflection: Reflection | None = None
    """Result of the last reflection on the synthesis."""
    feedback: tuple[str, ...] = ()
    """Feedback of people since the last turn."""
    resolve: bool = False
    """Whether the resolution is due."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""
    length: ReportLength = "standard"
    """Length of the report."""


class SynthesizerOutput(RoleOutput):
    """The synthesis."""

    situation: tuple[WrittenSentence, ...] = Field(max_length=MAX_SENTENCES)
    """The facts."""
    complication: tuple[WrittenSentence, ...] = Field(max_length=MAX_SENTENCES)
    """Difficulties, conflicts and limits; empty for none."""
    resolution: tuple[WrittenSentence, ...] = Field(default=(), max_length=MAX_SENTENCES)
    """Conclusions and recommendations; empty unless requested."""
    gaps: tuple[WrittenSentence, ...] = Field(default=(), max_length=MAX_SENTENCES)
    """Specific things that the findings leave open; empty unless requested."""
    gap_queries: tuple[Annotated[str, SchemaLimit(300)], ...] = Field(default=(), max_length=MAX_SENTENCES)
    """One search for each gap, in the same order."""
    columns: tuple[Annotated[str, SchemaLimit(200)], ...] = Field(default=(), max_length=8)
    """Names of the columns of the comparison; empty without one."""
    rows: tuple[WrittenRow, ...] = Field(default=(), max_length=16)
    """Rows of the comparison; empty without one."""


def render(input: SynthesizerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt; passages and text of earlier turns are not repeated."""
    going_on = bool(evidence.history)
    shown = input.shown_passages if going_on else 0
    user = join_parts(
        mark_passages(evidence.passages, shown),
        *(describe_generations(evidence.passages) if len(evidence.passages) > shown else ()),
        "" if going_on else wrap_in_tag("question", input.question),
        "" if going_on else _render_draft(input.synthesis, evidence.passages),
        wrap_in_tag("reflection", _render_reflection(input.reflection)) if input.reflection else "",
        wrap_in_tag("decision", join_parts(input.reasoning, render_list("Missing", input.key_factors)))
        if input.reasoning
        else "",
        wrap_in_tag("feedback", render_list("People said", input.feedback)) if input.feedback else "",
        "" if going_on else render_preferences(input.preferences),
        join_parts(RESOLUTION_RULE, RESOLUTION_LENGTHS[input.length])
        if input.resolve
        else "Bring situation and complication up to date.",
    )
    return [Message(role="system", content=SYSTEM), *evidence.history, Message(role="user", content=user)]


def _render_draft(synthesis: SynthesisDraft, passages: Sequence[Passage]) -> str:
    said = render_synthesis(synthesis, passages)
    return wrap_in_tag("draft", said) if said else ""


def render_synthesis(synthesis: SynthesisDraft, passages: Sequence[Passage] = ()) -> str:
    """Render a synthesis for a model, with the numbers of the given passages."""
    named = {
        "Situation": synthesis.situation,
        "Complication": synthesis.complication,
        "Resolution": synthesis.resolution,
        "Gaps": synthesis.gaps,
    }
    return "\n\n".join(
        f"{name}: "
        + " ".join(_append_marks(claim.text, find_passage_numbers(claim, passages)) for claim in draft.claims)
        for name, draft in named.items()
        if draft.claims
    )


def _append_marks(text: str, passages: Sequence[int]) -> str:
    return f"{text} {''.join(f'[{n}]' for n in passages)}".strip()


def _render_reflection(reflection: Reflection) -> str:
    return join_parts(
        f"Quality: {reflection.overall_quality}. {reflection.depth_assessment}",
        render_list("Missing", reflection.missing_core_insights),
        render_list("Does not follow", reflection.logic_issues),
        render_list("Suggested", reflection.improvement_suggestions),
    )


MAX_PART_CHARACTERS = 12_000
"""Maximum length of a part with its quotes; the synthesis is passed on from cycle to cycle."""
MIN_LISTED = 2
"""Minimum number of recommendations or gaps that are shown as a list."""
MAX_COMPARISON_CHARACTERS = 60_000
"""Length of a comparison with its quotes from which its cells keep one quote each."""


def build_synthesis(input: SynthesizerInput, output: SynthesizerOutput, evidence: Evidence) -> SynthesisDraft:
    """Return a synthesis with verbatim citations; a part has at most `MAX_PART_CHARACTERS`."""

    def draft(sentences: Sequence[WrittenSentence]) -> Draft:
        claims = [cite_sentence(sentence, evidence.passages) for sentence in sentences]
        sizes = accumulate(len(claim.model_dump_json()) for claim in claims)
        kept = tuple(claim for claim, size in zip(claims, sizes, strict=True) if size <= MAX_PART_CHARACTERS)
        return Draft(blocks=_list_recommendations(kept))

    return SynthesisDraft(
        situation=draft(output.situation),
        complication=draft(output.complication),
        resolution=draft(output.resolution) if input.resolve else Draft(),
        gaps=draft([gap if gap.passages else gap.model_copy(update={"kind": "gap"}) for gap in output.gaps])
        if input.resolve
        else Draft(),
        gap_queries=output.gap_queries if input.resolve else (),
        comparison=_compare(output, evidence.passages) if input.resolve else Draft(),
    )


def _list_recommendations(claims: tuple[Claim, ...]) -> tuple[Block, ...]:
    """Return claims as a paragraph, with several recommendations or gaps at its end as a list."""
    start = next((n for n, claim in enumerate(claims) if claim.kind in ("inference", "gap")), len(claims))
    if len(claims) - start < MIN_LISTED or any(claim.kind in ("fact", "lead_in") for claim in claims[start:]):
        start = len(claims)
    blocks = (Block(claims=claims[:start]), Block(kind="bullets", claims=claims[start:]))
    return tuple(block for block in blocks if block.claims)


def _compare(output: SynthesizerOutput, passages: Sequence[Passage]) -> Draft:
    """Return the table of a comparison; the cells of a large one keep one quote each."""
    if not output.columns or not output.rows:
        return Draft()
    table = WrittenBlock(kind="table", columns=output.columns, rows=output.rows)
    draft = Draft(blocks=cite_block(table, passages))
    if len(draft.model_dump_json()) <= MAX_COMPARISON_CHARACTERS:
        return draft
    return Draft(blocks=tuple(map(_keep_first_citations, draft.blocks)))


def _keep_first_citations(block: Block) -> Block:
    claims = (claim.model_copy(update={"citations": claim.citations[:1]}) for claim in block.claims)
    return block.model_copy(update={"claims": tuple(claims)})


_DIFFICULTY = re.compile(
    r"\b(?:however|but|although|though|unless|except|despite|whereas|instead|cannot|can't|not|never|no longer|only|"
    r"fails?|failed|failure|limit(?:s|ed|ation)?|problem|difficult|risk|cost|expensive|drawback|disadvantage|conflict|"
    r"disagree|contrast|unclear|unknown|controvers\w+|critic\w+|rejected|objections?|incompatib\w+|break(?:s|ing)?)\b",
    re.IGNORECASE,
)
_CONSEQUENCE = re.compile(
    r"\b(?:therefore|thus|hence|so that|as a result|consequently|should|must|recommend\w*|proposes?|decid\w+|"
    r"conclu\w+|solution|resolv\w+|allows?|enables?|ensures?|means that|in order to|accepted|adopted)\b",
    re.IGNORECASE,
)
EXCERPTS_PER_PART = 2
"""Number of excerpts in a part of the fallback's synthesis."""
MIN_SIMILARITY, MIN_SHARE_OF_BEST = 0.4, 0.75
"""Minimum cosine similarity of an excerpt to the question, absolute and relative to the best one."""
MIN_ANSWER_SCORE = 0.7
"""Minimum score of an excerpt as an answer to the question."""


def fallback(input: SynthesizerInput, evidence: Evidence) -> SynthesizerOutput:
    """Classify excerpts that answer the question by words that mark a difficulty or a consequence, nearest first."""
    pool = [
        e
        for e in extract_excerpts(evidence.passages)
        if e.kind != "list" and not has_back_reference(e.sentences[0].text)
    ]
    pool = list({normalize_sentence(excerpt.text): excerpt for excerpt in pool}.values())
    if not pool:
        return SynthesizerOutput(situation=(), complication=(), resolution=())
    question = remove_common_words(
        input.question, find_ubiquitous_names([passage.text for passage in evidence.passages])
    )
    units = [
        (evidence.passages[excerpt.passage_number - 1].title, [sentence.text for sentence in excerpt.sentences])
        for excerpt in pool
    ]
    scores = score_answers((input.question,), units, set(stem_words(input.question)), evidence.embed)
    pool = [excerpt for excerpt, score in zip(pool, scores, strict=True) if score >= MIN_ANSWER_SCORE]
    if not pool:
        return SynthesizerOutput(situation=(), complication=(), resolution=())
    vectors = evidence.embed([question, *(excerpt.text for excerpt in pool)])
    near = vectors[1:] @ vectors[0]
    hard = [bool(_DIFFICULTY.search(excerpt.text)) for excerpt in pool]
    follows = [bool(_CONSEQUENCE.search(excerpt.text)) for excerpt in pool]
    parts: list[tuple[WrittenSentence, ...]] = []
    free = set(range(len(pool)))
    for wanted in (
        [not h and not f for h, f in zip(hard, follows, strict=True)],
        hard,
        follows if input.resolve else [False] * len(pool),
    ):
        chosen = _choose_excerpts(near, vectors[1:], [i for i in sorted(free) if wanted[i]])
        free.difference_update(chosen)
        parts.append(tuple(s for i in chosen for s in _write_sentences(pool[i], evidence.passages)))
    return SynthesizerOutput(situation=parts[0], complication=parts[1], resolution=parts[2])


def _choose_excerpts(near: Vectors, vectors: Vectors, among: Sequence[int]) -> list[int]:
    if not among:
        return []
    floor = max(MIN_SIMILARITY, MIN_SHARE_OF_BEST * float(near.max()))
    return [
        among[i] for i in select_by_mmr(near[list(among)], vectors[list(among)], EXCERPTS_PER_PART, min_score=floor)
    ]


def _write_sentences(excerpt: Excerpt, passages: Sequence[Passage]) -> list[WrittenSentence]:
    opening, *rest = (sentence.text for sentence in excerpt.sentences)
    said = [make_standalone(opening, passages[excerpt.passage_number - 1].title), *rest]
    return [WrittenSentence(text=text, passages=(excerpt.passage_number,)) for text in said]


ROLE = PostprocessedRole(
    "synthesizer",
    "main",
    SynthesizerInput,
    SynthesizerOutput,
    render,
    fallback,
    build_synthesis,
    SynthesisDraft,
    streamed=True,
    read_by_people=True,
)
