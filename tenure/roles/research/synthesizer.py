"""Synthesizer: Situation and Complication while the research goes on, Resolution at its end (document 004, SCR)."""

import re
from collections.abc import Sequence
from itertools import accumulate

from pydantic import Field

from tenure.algorithms.claims.citations import cite
from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.excerpts import Excerpt, excerpts, points_back, standing
from tenure.algorithms.text.passage import Passage, Vectors
from tenure.algorithms.text.sentences import fingerprint, telling, ubiquitous
from tenure.contracts.evidence.passages import Block, Draft, SynthesisDraft
from tenure.contracts.research.spiral import Reflection
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import CITING_RULE, WrittenSentence, as_list, joined, numbers

SYSTEM = f"""You keep the synthesis of a research project up to date, as a senior adviser would put it to a busy reader.
Turn by turn you are given new findings; you answer with the whole synthesis as it stands now.

- situation: what is the case, as far as the findings show it: the facts that everything else rests on.
- complication: what makes it hard, contested or incomplete: limits, conflicts between sources, exceptions, costs.
- resolution: what follows for the question: the answer, and what to do or to conclude. Empty unless you are asked for
  it.

Work the new findings in; keep what still holds, correct what they change, and drop what they make unimportant. Two to
six sentences to a part, each a full statement with its subject named. If a reflection or a decision says what is
missing, put it right as far as the findings allow.

{CITING_RULE} Passage numbers stay the same through the whole conversation. {EVIDENCE_RULE}"""

RESOLVE = "The research is finished: write the resolution, too."
"""What is added when the resolution is due."""


class SynthesizerInput(RoleInput):
    """What is to be synthesized."""

    question: str
    """The question."""
    known: int = 0
    """Passages that the conversation has shown before."""
    so_far: SynthesisDraft = SynthesisDraft()
    """The synthesis as it stands."""
    reasoning: str = ""
    """Why the last decision was to go on."""
    key_factors: tuple[str, ...] = ()
    """What was missing then."""
    reflection: Reflection | None = None
    """What the last look back at the synthesis found."""
    feedback: tuple[str, ...] = ()
    """What people said since."""
    resolve: bool = False
    """Whether the resolution is due."""


class SynthesizerOutput(RoleOutput):
    """The synthesis."""

    situation: tuple[WrittenSentence, ...] = Field(max_length=12)
    """What is the case."""
    complication: tuple[WrittenSentence, ...] = Field(max_length=12)
    """What makes it hard; none if nothing does."""
    resolution: tuple[WrittenSentence, ...] = Field(max_length=12)
    """What follows; empty unless asked for."""


def render(input: SynthesizerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt; passages and text that the conversation has are not repeated."""
    going_on = bool(evidence.history)
    user = joined(
        mark_passages(evidence.passages, input.known if going_on else 0),
        "" if going_on else tagged("question", input.question),
        "" if going_on else _draft(input.so_far, evidence.passages),
        tagged("reflection", _reflected(input.reflection)) if input.reflection else "",
        tagged("decision", joined(input.reasoning, as_list("Missing", input.key_factors))) if input.reasoning else "",
        tagged("feedback", as_list("People said", input.feedback)) if input.feedback else "",
        RESOLVE if input.resolve else "Bring situation and complication up to date.",
    )
    return [Message(role="system", content=SYSTEM), *evidence.history, Message(role="user", content=user)]


def _draft(synthesis: SynthesisDraft, passages: Sequence[Passage]) -> str:
    said = as_text(synthesis, passages)
    return tagged("draft", said) if said else ""


def as_text(synthesis: SynthesisDraft, passages: Sequence[Passage] = ()) -> str:
    """Render a synthesis for a model, with the numbers of passages where these are given."""
    named = {
        "Situation": synthesis.situation,
        "Complication": synthesis.complication,
        "Resolution": synthesis.resolution,
    }
    return "\n\n".join(
        f"{name}: " + " ".join(_marked(claim.text, numbers(claim, passages)) for claim in draft.claims)
        for name, draft in named.items()
        if draft.claims
    )


def _marked(text: str, passages: Sequence[int]) -> str:
    return f"{text} {''.join(f'[{n}]' for n in passages)}".strip()


def _reflected(reflection: Reflection) -> str:
    return joined(
        f"Quality: {reflection.overall_quality}. {reflection.depth_assessment}",
        as_list("Missing", reflection.missing_core_insights),
        as_list("Does not follow", reflection.logic_issues),
        as_list("Suggested", reflection.improvement_suggestions),
    )


MAX_PART = 12_000
"""Characters of a part with its quotes; the synthesis travels with the research state from cycle to cycle."""


def synthesized(output: SynthesizerOutput, passages: Sequence[Passage]) -> SynthesisDraft:
    """Return a synthesis with every named passage turned into a verbatim citation, as far as there is room."""

    def draft(sentences: Sequence[WrittenSentence]) -> Draft:
        claims = [cite(s.text.strip(), s.passages, passages) for s in sentences]
        sizes = accumulate(len(claim.model_dump_json()) for claim in claims)
        kept = tuple(claim for claim, size in zip(claims, sizes, strict=True) if size <= MAX_PART)
        return Draft(blocks=(Block(claims=kept),)) if kept else Draft()

    return SynthesisDraft(
        situation=draft(output.situation),
        complication=draft(output.complication),
        resolution=draft(output.resolution),
    )


_HARD = re.compile(
    r"\b(?:however|but|although|though|unless|except|despite|whereas|instead|cannot|can't|not|never|no longer|only|"
    r"fails?|failed|failure|limit(?:s|ed|ation)?|problem|difficult|risk|cost|expensive|drawback|disadvantage|conflict|"
    r"disagree|contrast|unclear|unknown|controvers\w+|critic\w+|rejected|objections?|incompatib\w+|break(?:s|ing)?)\b",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    r"\b(?:therefore|thus|hence|so that|as a result|consequently|should|must|recommend\w*|proposes?|decid\w+|"
    r"conclu\w+|solution|resolv\w+|allows?|enables?|ensures?|means that|in order to|accepted|adopted)\b",
    re.IGNORECASE,
)
SENTENCES = 3
"""Excerpts of a part of the twin's synthesis."""
LEAST, NEAR_BEST = 0.4, 0.75
"""Cosine to the question that an excerpt of the twin's synthesis needs, and share of the best one's."""


def offline(input: SynthesizerInput, evidence: Evidence) -> SynthesizerOutput:
    """Sort what the passages say by the words that mark a difficulty or a consequence, nearest first."""
    pool = [e for e in excerpts(evidence.passages) if e.kind != "list" and not points_back(e.sentences[0].text)]
    pool = list({fingerprint(excerpt.text): excerpt for excerpt in pool}.values())
    if not pool:
        return SynthesizerOutput(situation=(), complication=(), resolution=())
    question = telling(input.question, ubiquitous([passage.text for passage in evidence.passages]))
    vectors = evidence.vectors([question, *(excerpt.text for excerpt in pool)])
    near = vectors[1:] @ vectors[0]
    hard = [bool(_HARD.search(excerpt.text)) for excerpt in pool]
    follows = [bool(_FOLLOWS.search(excerpt.text)) for excerpt in pool]
    parts: list[tuple[WrittenSentence, ...]] = []
    free = set(range(len(pool)))
    for wanted in (
        [not h and not f for h, f in zip(hard, follows, strict=True)],
        hard,
        follows if input.resolve else [False] * len(pool),
    ):
        chosen = _chosen(near, vectors[1:], [i for i in sorted(free) if wanted[i]])
        free.difference_update(chosen)
        parts.append(tuple(s for i in chosen for s in _sentences(pool[i], evidence.passages)))
    return SynthesizerOutput(situation=parts[0], complication=parts[1], resolution=parts[2])


def _chosen(near: Vectors, vectors: Vectors, among: Sequence[int]) -> list[int]:
    if not among:
        return []
    floor = max(LEAST, NEAR_BEST * float(near.max()))
    return [among[i] for i in mmr(near[list(among)], vectors[list(among)], SENTENCES, floor=floor)]


def _sentences(excerpt: Excerpt, passages: Sequence[Passage]) -> list[WrittenSentence]:
    opening, *rest = (sentence.text for sentence in excerpt.sentences)
    said = [standing(opening, passages[excerpt.passage - 1].title), *rest]
    return [WrittenSentence(text=text, passages=(excerpt.passage,)) for text in said]


ROLE = Role("synthesizer", "main", SynthesizerOutput, render, offline, streamed=True, read_by_people=True)
