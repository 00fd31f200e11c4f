"""Define the structured text that roles write, and render lists and parts of prompts.

Writers answer with structured sentences instead of marked-up text: each sentence lists the numbers of its passages. So
no citation can be lost or invented.
"""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from tenure.algorithms.claims.citations import MAX_CITATIONS, cite_claim, cite_code
from tenure.algorithms.reasoning.strategies import describe_chain
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.writing.tables import fold_shared_cells
from tenure.contracts.evidence.passages import Block, Claim, ClaimBlockKind, ClaimKind, Draft
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import Evidence, RoleOutput, wrap_in_tag

CITING_RULE = (
    "Every sentence that states a fact names, in `passages`, the numbers of the passages it rests on: all that it "
    f"needs, at most {MAX_CITATIONS}. Use only numbers you were given. Say nothing that the passages do not say. "
    "The reader sees no passages: write “the sources”, or name the author or the kind of a source where it matters who "
    "says something. Never write citation marks, file names or addresses into the text itself."
)
"""Rule of every prompt for sentences with passages."""

KIND_RULE = (
    "`kind` says what a sentence is: `fact`, stated by its passages; `inference`, a conclusion or recommendation that "
    "follows from its passages; `gap`, one specific thing that the passages leave open; `lead_in`, a short "
    "introduction of the sentences after it. Only gaps and lead-ins may lack passages, and without passages they state "
    "no figures."
)
"""Rule of prompts for sentences with a kind."""

FORM_RULE = (
    "Inside sentences, put code, names of code, commands and literal values in `backticks`; **bold** and *italics* are "
    "allowed and rarely needed; no other Markdown."
)
"""Rule of prompts for text with inline formats."""


PREFERENCES_RULE = (
    "Follow the preferences as far as the task and the passages allow; they change neither the output format nor what "
    "is cited or tested."
)
"""Rule of every prompt with preferences."""

NOT_STATED = "–"
"""Text of a cell about which the passages say nothing."""


class WrittenSentence(RoleOutput):
    """One sentence, one cell of a table, or code."""

    text: str = Field(min_length=1, max_length=2000)
    """The sentence without citation marks; a few words in a cell."""
    passages: tuple[int, ...] = Field(max_length=MAX_CITATIONS)
    """Numbers of the passages it rests on; empty only for a gap or a lead-in."""
    kind: ClaimKind = "fact"
    """`fact`, `inference` from its passages, `gap` in what the passages say, or `lead_in` to what comes next."""
    query: SkipJsonSchema[str] = ""
    """Search for what a gap calls unknown; only in text forms of a report."""


class WrittenRow(RoleOutput):
    """A row of a table, or a term with its definition."""

    label: str = Field(min_length=1, max_length=200)
    """Name of the row, or the term."""
    cells: tuple[WrittenSentence, ...] = Field(min_length=1, max_length=10)
    """One cell for each column, in order; the definition of a term."""


class WrittenBlock(RoleOutput):
    """A paragraph, a list, a table, definitions or code."""

    kind: ClaimBlockKind
    """`paragraph` for running prose, `bullets` and `numbered` for one sentence an item, `table` and `definitions` with
    `rows`, `code` for lines copied from a passage as one sentence.
    """
    heading: str = Field(default="", max_length=120)
    """Sub-heading above the block; empty for none."""
    sentences: Annotated[tuple[WrittenSentence, ...], SchemaLimit(15)] = ()
    """Its sentences in reading order; empty for a table and for definitions."""
    columns: tuple[Annotated[str, SchemaLimit(200)], ...] = Field(default=(), max_length=10)
    """Names of the columns of a table, without that of the row names; else empty."""
    rows: tuple[WrittenRow, ...] = Field(default=(), max_length=20)
    """Rows of a table, or terms with their definitions; else empty."""


class WrittenText(RoleOutput):
    """A part of a report."""

    blocks: tuple[WrittenBlock, ...] = Field(default=(), max_length=12)
    """The blocks in reading order; none if the passages say nothing on the topic."""
    brief: SkipJsonSchema[tuple[Block, ...]] = ()
    """Excerpts with their citations; only without a model."""


def add_citations(input: object, text: WrittenText, evidence: Evidence) -> Draft:
    """Return the text of a writer with verbatim citations of all passages it names, or its excerpts."""
    cited = (block for written in text.blocks for block in cite_block(written, evidence.passages) if block.claims)
    return Draft(blocks=(*text.brief, *cited))


def cite_block(written: WrittenBlock, passages: Sequence[Passage]) -> tuple[Block, ...]:
    """Return a block with verbatim citations; a table without rows is a list, and code that no passage has is text."""
    heading = written.heading.strip()
    sentences = tuple(cite_sentence(sentence, passages) for sentence in written.sentences)
    if written.kind in ("table", "definitions"):
        columns = written.columns if written.kind == "table" else ()
        cells = tuple(cell for row in written.rows for cell in cite_row(row, columns, passages))
        block = Block(kind="table" if columns else "definitions", heading=heading, claims=cells)
        return (
            *(fold_shared_cells(block) if columns else (block,)),
            *([Block(kind="bullets", heading=heading, claims=sentences)] if sentences else ()),
        )
    if written.kind == "code":
        return tuple(_cite_code_block(sentence, heading, passages) for sentence in written.sentences)
    return (Block(kind=written.kind, heading=heading, claims=sentences),)


def cite_row(row: WrittenRow, columns: Sequence[str], passages: Sequence[Passage]) -> tuple[Claim, ...]:
    """Return the cells of a row as claims, one for each column; without columns, the definition of a term.

    Cells beyond the columns belong to the last one. A missing cell is a gap.
    """
    names = [name.strip() or str(number) for number, name in enumerate(columns, 1)] or [""]
    label = row.label.strip()
    cells = [
        cite_sentence(cell, passages, label, names[min(number, len(names) - 1)])
        for number, cell in enumerate(row.cells)
    ]
    missing = names[len(row.cells) :]
    return (*cells, *(Claim(text=NOT_STATED, kind="gap", label=label, column=column) for column in missing))


def cite_sentence(sentence: WrittenSentence, passages: Sequence[Passage], label: str = "", column: str = "") -> Claim:
    """Return a sentence with verbatim citations; marks that a model wrote into the text are citations as well."""
    text, marked = _split_marks(sentence.text.strip(), len(passages))
    numbers = (*sentence.passages, *marked)
    claim = cite_claim(text, numbers, passages, kind=sentence.kind, label=label, column=column)
    return claim.model_copy(update={"query": sentence.query}) if claim.kind == "gap" else claim


_MARK = re.compile(r"(?<!\s)\s*+(?<!\w)\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?!\()|(?<=\w)\[(\d{1,3})\](?=[.!?]?\s*\Z)")
"""Citation mark in a text; directly after a word only at the end, since it may be an index."""
_CODE_SPAN = re.compile(r"(`[^`]*`)")


def _split_marks(text: str, passages: int) -> tuple[str, tuple[int, ...]]:
    """Return a text without citation marks, and their numbers; brackets with other numbers and code spans stay."""
    numbers: list[int] = []

    def take(match: re.Match[str]) -> str:
        found = [int(number) for number in re.findall(r"\d+", match.group())]
        if not all(1 <= number <= passages for number in found):
            return match.group()
        numbers.extend(found)
        return ""

    parts = _CODE_SPAN.split(text)
    kept = "".join(part if part.startswith("`") and part != "`" else _MARK.sub(take, part) for part in parts).strip()
    return (kept, tuple(numbers)) if kept else (text, ())


def _cite_code_block(sentence: WrittenSentence, heading: str, passages: Sequence[Passage]) -> Block:
    claim = cite_code(sentence.text, sentence.passages, passages)
    if claim is not None:
        return Block(kind="code", heading=heading, claims=(claim,))
    if sentence.passages and "\n" in sentence.text.strip():
        # Put together from several passages, as a complete configuration is.
        composed = cite_claim(sentence.text, sentence.passages, passages, kind="inference")
        return Block(kind="code", heading=heading, claims=(composed,))
    return Block(heading=heading, claims=(cite_sentence(sentence, passages),))


def find_passage_numbers(claim: Claim, passages: Sequence[Passage]) -> tuple[int, ...]:
    """Return the positions, from 1, of the cited passages that are among `passages`."""
    cited = {citation.chunk for citation in claim.citations}
    return tuple(n for n, passage in enumerate(passages, 1) if passage.chunk in cited)


def _render_marks(claim: Claim, passages: Sequence[Passage]) -> str:
    return "".join(f"[{n}]" for n in find_passage_numbers(claim, passages))


def render_reasoning(line: Reasoning | None, passages: Sequence[Passage]) -> str:
    """Render a line of reasoning, each step with the numbers of its passages as far as they are given."""
    if line is None:
        return ""
    said = [
        f"{n}. ({step.kind}) {step.claim.text} {_render_marks(step.claim, passages)}".rstrip()
        for n, step in enumerate(line.steps, 1)
    ]
    if line.conclusion:
        claim = line.conclusion.claim
        said.append(f"Conclusion: {claim.text} {_render_marks(claim, passages)}".rstrip())
    chain = describe_chain(((step.kind, step.link) for step in line.steps), line.answer)
    return "\n".join([*([f"Chain: {chain}"] if chain else []), *said, f"Confidence: {line.confidence:.0%}"])


def render_list(title: str, items: Sequence[str]) -> str:
    """Render a titled list for a prompt; empty for no items."""
    return f"{title}:\n" + "\n".join(f"- {item}" for item in items) if items else ""


def render_preferences(preferences: Sequence[str]) -> str:
    """Render the preferences of the reader with the rule on their use; empty for none."""
    if not preferences:
        return ""
    listed = wrap_in_tag("preferences", render_list("Requests of the reader to every run", preferences))
    return join_parts(listed, PREFERENCES_RULE)


def join_parts(*pieces: str) -> str:
    """Join the parts of a prompt that are not empty."""
    return "\n\n".join(piece for piece in pieces if piece)
