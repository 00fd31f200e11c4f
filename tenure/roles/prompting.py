"""Define the text that roles write, as it is parsed, and render lists and parts of prompts."""

from collections.abc import Sequence
from typing import Literal

from tenure.algorithms.claims.citations import cite_claim, cite_code
from tenure.algorithms.reasoning.strategies import describe_chain
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.writing.tables import fold_shared_cells
from tenure.contracts.evidence.passages import Block, Claim, ClaimKind
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.roles.base import RoleOutput, wrap_in_tag

PREFERENCES_RULE = (
    "Follow the preferences as far as the task and the passages allow; they change neither the output format nor what "
    "is cited or tested."
)
"""Rule of every prompt with preferences."""

NOT_STATED = "–"
"""Text of a cell about which the passages say nothing."""


WrittenBlockKind = Literal["paragraph", "bullets", "numbered", "table", "code"]


class WrittenSentence(RoleOutput):
    """One sentence, one cell of a table, or code."""

    text: str
    """The sentence without citation marks."""
    passages: tuple[int, ...]
    """Numbers of the passages in its marks."""
    kind: ClaimKind = "fact"
    """Kind by its marks."""
    query: str = ""
    """Search for what a gap calls unknown."""


class WrittenRow(RoleOutput):
    """A row of a table."""

    label: str
    """Name of the row."""
    cells: tuple[WrittenSentence, ...]
    """One cell for each column, in order."""


class WrittenBlock(RoleOutput):
    """A paragraph, a list, a table or code."""

    kind: WrittenBlockKind
    """Its form; `code` has one sentence."""
    heading: str = ""
    """Sub-heading above the block; empty for none."""
    sentences: tuple[WrittenSentence, ...] = ()
    """Its sentences in reading order; empty for a table."""
    columns: tuple[str, ...] = ()
    """Names of the columns of a table, without that of the row names; else empty."""
    rows: tuple[WrittenRow, ...] = ()
    """Rows of a table; else empty."""


class WrittenText(RoleOutput):
    """Text that answers one question."""

    blocks: tuple[WrittenBlock, ...] = ()
    """The blocks in reading order; none if the passages say nothing on the question."""
    brief: tuple[Block, ...] = ()
    """Excerpts with their citations; only without a model."""


def cite_block(draft: WrittenBlock, passages: Sequence[Passage], question: str) -> tuple[Block, ...]:
    """Return a block with verbatim citations; code without a mark is text."""
    heading = draft.heading.strip()
    if draft.kind == "table":
        cells = tuple(cell for row in draft.rows for cell in cite_row(row, draft.columns, passages, question))
        return fold_shared_cells(Block(kind="table", heading=heading, claims=cells))
    if draft.kind == "code":
        return tuple(_cite_code_block(sentence, heading, passages, question) for sentence in draft.sentences)
    sentences = tuple(cite_sentence(sentence, passages, question) for sentence in draft.sentences)
    return (Block(kind=draft.kind, heading=heading, claims=sentences),)


def cite_row(row: WrittenRow, columns: Sequence[str], passages: Sequence[Passage], question: str) -> tuple[Claim, ...]:
    """Return the cells of a row as claims, one for each column.

    Cells beyond the columns belong to the last one. A missing cell is a gap.
    """
    names = [name.strip() or str(number) for number, name in enumerate(columns, 1)]
    label = row.label.strip()
    cells = [
        cite_sentence(cell, passages, question, label, names[min(number, len(names) - 1)])
        for number, cell in enumerate(row.cells)
    ]
    missing = names[len(row.cells) :]
    return (*cells, *(Claim(text=NOT_STATED, kind="gap", label=label, column=column) for column in missing))


def cite_sentence(
    sentence: WrittenSentence, passages: Sequence[Passage], question: str, label: str = "", column: str = ""
) -> Claim:
    """Return a sentence with verbatim citations of its passages."""
    numbers, kind = sentence.passages, sentence.kind
    claim = cite_claim(sentence.text, numbers, passages, kind=kind, label=label, column=column, question=question)
    return claim.model_copy(update={"query": sentence.query}) if claim.kind == "gap" else claim


def _cite_code_block(sentence: WrittenSentence, heading: str, passages: Sequence[Passage], question: str) -> Block:
    claim = cite_code(sentence.text, sentence.passages, passages)
    if claim is not None:
        return Block(kind="code", heading=heading, claims=(claim,))
    if sentence.passages:
        # Put together from several passages, as a complete configuration is, or with the names of the question.
        composed = cite_claim(sentence.text, sentence.passages, passages, kind="inference")
        return Block(kind="code", heading=heading, claims=(composed,))
    return Block(heading=heading, claims=(cite_sentence(sentence, passages, question),))


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
    steps = [
        f"{n}. ({step.kind}) {step.claim.text} {_render_marks(step.claim, passages)}".rstrip()
        for n, step in enumerate(line.steps, 1)
    ]
    if line.conclusion:
        claim = line.conclusion.claim
        steps.append(f"Conclusion: {claim.text} {_render_marks(claim, passages)}".rstrip())
    chain = describe_chain(((step.kind, step.link) for step in line.steps), line.answer)
    return "\n".join([*([f"Chain: {chain}"] if chain else []), *steps, f"Confidence: {line.confidence:.0%}"])


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
