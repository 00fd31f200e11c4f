"""Review a report against its dossier and answer with verdicts and edits, by the numbers of its sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tenure.algorithms.claims.absence import find_unread_gaps, list_absences
from tenure.algorithms.claims.citations import cite_nearest
from tenure.algorithms.claims.verification import (
    demote_unsourced_claim,
    find_unchecked_claims,
    replace_claims,
)
from tenure.algorithms.writing.edits import Addition, BlockAddition, DraftEdits, apply_edits, list_named_sentences
from tenure.contracts.evidence.disputes import Contradiction
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.messages import Message
from tenure.contracts.research.report import ReportReview, ReportText, SectionVerdict
from tenure.contracts.result.result import Evaluation
from tenure.roles.base import Evidence, PostprocessedRole, wrap_in_tag
from tenure.roles.claims.claim_checker import confirm_corrections, describe_claim
from tenure.roles.dossier_prompting import SYSTEM as DOSSIER_SYSTEM
from tenure.roles.dossier_prompting import build_messages, render_requests
from tenure.roles.prompting import cite_block, cite_sentence, find_passage_numbers, join_parts, render_preferences
from tenure.roles.report_edits import ConflictingPassages, NumberedSentence, ReportReviewerOutput, parse_review
from tenure.roles.report_markdown import CLOSING_HEADING, GAPS_HEADING, MAX_QUERY_CHARACTERS, WrittenReport
from tenure.roles.writing import report_writer
from tenure.roles.writing.report_writer import ReportWriterInput

SYSTEM = DOSSIER_SYSTEM
"""System text of every role that reads a dossier."""

TASK = """Review the draft as a strict and fair editor who has not written it, sentence by sentence, against its
passages. Change only what matters to a reader who relies on it. Look for, in this order: statements that their
passages do not support, above all numbers, names, negations, directions and conditions; statements of absence, “first”
or “only” of the sources, and empty cells, if a passage answers or contradicts them; parts of the question left
unanswered although passages answer them; requests that are not met; statements that contradict or repeat each other; an
answer that does not decide.

Answer with entries, each at the start of a line, and nothing else:
SECTION heading: NONE – or REWRITE or SEARCH, and why, in one sentence; one entry for each section. REWRITE if the text
is wrong or misses what passages say, SEARCH if something that the question asks for has no passage.
WRONG 12 refuted 0.9 – or neutral: sentences that their passages contradict or leave open in any part, with your
confidence. An inference is right if it follows from all passages that it cites together.
REPLACE 12: the new sentence with its marks [3, 8]; of a cell or a definition its text with marks, without its label.
Change no more of a sentence than you must.
DELETE 14, 17 – sentences that cannot be corrected, repeat others, or state an absence that is none.
OPEN 16: a statement of absence that stays open after you have read the passages found for it, and in a few words what
is nearest in them. A gap (“[?]”) that was searched for and has no OPEN, REPLACE or DELETE is left out of the report.
ADD 12: a new sentence with its marks, after sentence 12 and in its block; 0 for the start of the draft.
BLOCK 12: a new paragraph, list, table or code after the block of sentence 12, in Markdown on the lines below. Code that
is wrong is deleted and written again as a whole.
SEARCH: one search, in words of a text that would state what is missing; words that the passages lack are allowed.
CONSIDER: a framework, a connection or a next question beyond the sources that would help this reader; without marks,
at most two entries; none is better than a weak one.
CONFLICT [3, 8] high: what two passages disagree in, if both cannot be true of the same thing at the same time, in the
same version and under the same conditions; high if the answer turns on it, else medium or low – “words of the first” /
“words of the second”, exactly as they are. Whichever the report follows, it says so.
ANSWERED yes: a part of the question, by the report after your edits – or partly or no; one entry for each part.
ISSUE: an error of the report that remains after your edits.
TITLE: a title that says what the report finds, if the one of the draft does not.
ANSWER: the short answer of at most twelve words, in words of the sentences that state it, if that of the draft is
wrong; “–” if there is none.
DONE – at the end; without edits and searches before it, nothing that matters has to change.

The brackets after a sentence of the draft give the result of a check of its words. One with details that are not
found in its passages, or that names no passage, does not reach the reader as it is: replace it by a sentence in their
words, with the marks of the passages that state it, or, if it computes, with the calculation and its numbers
(“46 × 45 / 2 = 1,035”). An inference or a gap needs no change for being called so.
An answer to something that was called unknown is added where it belongs, and the statement of absence deleted or, by
REPLACE, narrowed to the half that stays open, with “[?]” and, only if other words would find it, “(search: sentence)”.
Text reads well after your edits. Matters of taste need no edit."""

LAST_TASK = """No further search is possible: leave SEARCH out. The entries OPEN, CONFLICT, CONSIDER and ANSWERED of an
earlier review, if there was one, hold: repeat only those that have changed."""
"""Addition if the results of a search could not be read."""


class ReportReviewerInput(ReportWriterInput):
    """Report to review."""

    text: ReportText
    """The current text."""
    requests: tuple[str, ...] = ()
    """Critiques and feedback that the edits have to meet."""
    searches: dict[str, tuple[int, ...]] = {}
    """Numbers of the passages found by each search since the text was written, best first."""
    first_new: int = 0
    """Number of the first passage that its author has not read; 0 for none."""
    earlier_critiques: tuple[str, ...] = ()
    """Critiques of earlier reviews."""
    may_search: bool = True
    """Whether a search can follow."""
    running_low: bool = False
    """Whether most of the budget is used."""


def render(input: ReportReviewerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    return build_messages(
        input.question,
        input.topics,
        evidence,
        "report_reviewer",
        _render_searches(input, len(evidence.passages)),
        render_requests("Requests, to be met by your edits", input.requests),
        render_requests("Critiques already made, not to be repeated", input.earlier_critiques),
        render_preferences(input.preferences),
        wrap_in_tag("draft", _render_draft(input, evidence)),
        TASK,
        "" if input.may_search else LAST_TASK,
        "Most of the budget is used: only what would mislead a reader." if input.running_low else "",
    )


def _render_searches(input: ReportReviewerInput, passages: int) -> str:
    """Render the searches for statements of absence, each with the passages that it has found."""
    if not input.searches:
        return ""
    numbers: dict[str, list[int]] = {}
    for absence in list_absences(input.text):
        numbers.setdefault(absence.gap.query, []).append(absence.number)
    results = []
    for query, places in input.searches.items():
        at = f"sentence {', '.join(map(str, numbers[query]))}" if query in numbers else "not in the draft"
        numbers_found = ", ".join(str(number) for number in places if number <= passages)
        results.append(f"{at}: “{query}” found {numbers_found or 'nothing'}")
    listed = render_requests(
        "Searches made since the draft was written, by meaning and by exact names, for what it calls unknown or lacks, "
        "each with the passages that it found, best first",
        results,
    )
    is_new = 0 < input.first_new <= passages
    return f"{listed}\nThe draft was written without passages {input.first_new} to {passages}." if is_new else listed


def _render_draft(input: ReportReviewerInput, evidence: Evidence) -> str:
    """Render the draft with its title and its short answer."""
    text = input.text
    named = (("Title", text.title), ("Short answer", text.short_answer))
    head = "\n".join(f"{name}: {value}" for name, value in named if value)
    return join_parts(head, number_sentences(text, evidence, input.question))


def number_sentences(text: ReportText, evidence: Evidence, question: str) -> str:
    """Return the draft with numbered sentences, their marks, and what a check without a model found."""
    names = {"answer": "Answer", "comparison": "Comparison", "closing": CLOSING_HEADING, "gaps": GAPS_HEADING}
    lines: list[str] = []
    number = 0
    for part in text.parts:
        lines += ["", f"## {part.heading or names[part.kind]}"]
        heading = ""
        for block in part.draft.blocks:
            lines += [f"### {block.heading}"] if block.heading not in ("", heading) else []
            heading = block.heading
            for claim in block.claims:
                number += 1
                marks = ", ".join(map(str, find_passage_numbers(claim, evidence.passages)))
                sentence = claim.statement if block.kind == "code" else " ".join(claim.statement.split())
                lines.append(
                    f"{number}. {sentence}{f' [{marks}]' if marks else ''}{_remark(claim, evidence, question)}"
                )
            lines.append("")
    return "\n".join(lines).strip()


def _remark(claim: Claim, evidence: Evidence, question: str) -> str:
    """Return a remark on a sentence: its kind, and the reason that it is not confirmed."""
    described = describe_claim(claim, evidence.passages, "shown", question)[1:]
    remarks = described if claim.status != "supported" else ["an inference"] if claim.kind == "inference" else []
    missing = ["names no passage"] if claim.status in ("missing_citation", "invalid_source") else []
    doubts = [*missing, *remarks, *(["not confirmed"] if claim.status in ("neutral", "refuted") else [])]
    return f" ({'; '.join(doubts)})" if doubts else ""


def fallback(input: ReportReviewerInput, evidence: Evidence) -> ReportReviewerOutput:
    """Return no verdict and no edit, since words do not show what is wrong; for requests, select excerpts again.

    Excerpts replace excerpts only, never what a model has written.
    """
    blocks = [block for part in input.text.parts for block in part.draft.blocks]
    if not input.requests or not any(block.kind == "excerpt" for block in blocks):
        return ReportReviewerOutput(is_judged=False)
    report = report_writer.fallback(input, evidence)
    return ReportReviewerOutput(rewritten=report.parts, is_judged=False)


def apply_review(input: ReportReviewerInput, output: ReportReviewerOutput, evidence: Evidence) -> ReportReview:
    """Return the report with the verdicts and edits of its review; new sentences are judged without a model.

    A sentence without a verdict is supported, unless its details conflict with its passages. An edit whose sentence
    does not exist, or whose new sentence needs a passage and names none, is refused.
    """
    if output.rewritten:
        report = WrittenReport(title=input.text.title, short_answer=input.text.short_answer, parts=output.rewritten)
        return ReportReview(text=report_writer.add_citations(input, report, evidence))
    judged = _apply_verdicts(input, output, evidence) if output.is_judged else input.text
    claims = judged.claims
    cited, unusable = _cite_edits(output, claims, evidence, input.question)
    edits = _confirm_edits(cited, evidence, input.question)
    condemned = {
        n: claims[n - 1]
        for n in sorted(list_named_sentences(edits))
        if 1 <= n <= len(claims) and claims[n - 1].status not in ("supported", "unverified")
    }
    answered = {*list_named_sentences(edits), *output.still_open}
    unanswered = [
        absence
        for absence in find_unread_gaps(judged, input.searches, input.first_new)
        if absence.number not in answered
    ]
    edits = replace(edits, deletions={*edits.deletions, *(absence.number for absence in unanswered)})
    text, misplaced = _apply_edits(judged, edits)
    short_answer = text.short_answer if output.short_answer is None else output.short_answer
    return ReportReview(
        text=text.model_copy(update={"title": output.title or text.title, "short_answer": short_answer}),
        queries=output.queries or _list_missing_parts(output),
        unanswered=tuple(absence.claim.text for absence in unanswered),
        verdicts=tuple(
            SectionVerdict(heading=absence.heading, action=absence.action, critique=absence.critique)
            for absence in output.sections
        ),
        evaluation=Evaluation(parts=output.answered, issues=output.issues) if output.is_judged else None,
        contradictions=tuple(_cite_conflicts(output.conflicts, evidence)),
        considerations=output.considerations,
        condemned=tuple(claim.text for claim in condemned.values()),
        removed=tuple(claim for n, claim in condemned.items() if n not in edits.replacements),
        refused_edits=unusable + misplaced,
    )


def _list_missing_parts(output: ReportReviewerOutput) -> tuple[str, ...]:
    """Return the parts of the question that nothing answers: they are searched for if a review names no search.

    None is, if the review has read what a search for a statement of absence found, and leaves that open.
    """
    return () if output.still_open else tuple(part.part for part in output.answered if part.answered == "no")


def _cite_conflicts(conflicts: Sequence[ConflictingPassages], evidence: Evidence) -> Iterator[Contradiction]:
    """Yield contradictions with a verbatim quote of each side; omit those that name no passage or one quote twice."""
    for conflict in conflicts:
        if all(1 <= number <= len(evidence.passages) for number in conflict.passages):
            sides = [evidence.passages[number - 1] for number in conflict.passages]
            a, b = (
                cite_nearest(words, side)
                for words, side in zip(conflict.quotes or [conflict.about] * 2, sides, strict=True)
            )
            if a.quote != b.quote:
                yield Contradiction(a=a, b=b, severity=conflict.severity, about=conflict.about)


def _apply_verdicts(input: ReportReviewerInput, output: ReportReviewerOutput, evidence: Evidence) -> ReportText:
    """Return a text whose unchecked claims have a verdict; earlier verdicts stay."""
    verdicts = {sentence_verdict.sentence: sentence_verdict for sentence_verdict in reversed(output.wrong)}
    text = input.text
    drafts = [part.draft for part in text.parts]
    claims = text.claims
    judged: dict[int, Claim] = {}
    for n in find_unchecked_claims(drafts):
        verdict = verdicts.get(n + 1)
        update = {"status": verdict.verdict, "confidence": verdict.confidence} if verdict else {"status": "supported"}
        judged[n] = demote_unsourced_claim(claims[n].model_copy(update=update), evidence.passages, input.question)
    return text.replace_drafts(replace_claims(drafts, judged))


def _apply_edits(text: ReportText, edits: DraftEdits) -> tuple[ReportText, int]:
    """Return a text with edits that name sentences by their numbers in the whole, and how many named none."""
    count = len(text.claims)
    anchors = {*(edit.after for edit in edits.additions), *(edit.after for edit in edits.blocks)}
    misplaced = {n for n in list_named_sentences(edits) if not 1 <= n <= count} | {n for n in anchors if n > count}
    drafts: list[Draft] = []
    first = 0
    for part in text.parts:
        last = first + len(part.draft.claims)
        drafts.append(apply_edits(part.draft, _select_edits(edits, first, last)).draft)
        first = last
    return text.replace_drafts(drafts), len(misplaced)


def _select_edits(edits: DraftEdits, first: int, last: int) -> DraftEdits:
    """Return the edits of the sentences after number `first` up to `last`, numbered from 1; 0 is the first part's."""

    def has(number: int) -> bool:
        return first < number <= last or number == first == 0

    return DraftEdits(
        replacements={n - first: claim for n, claim in edits.replacements.items() if first < n <= last},
        deletions=frozenset(n - first for n in edits.deletions if first < n <= last),
        additions=[edit._replace(after=edit.after - first) for edit in edits.additions if has(edit.after)],
        blocks=[edit._replace(after=edit.after - first) for edit in edits.blocks if has(edit.after)],
    )


def _cite_edits(
    output: ReportReviewerOutput, claims: Sequence[Claim], evidence: Evidence, question: str
) -> tuple[DraftEdits, int]:
    """Return the edits with verbatim citations, and how many new sentences and blocks lack a passage they need."""
    replacements = {
        edit.number: _cite_replacement(edit, claims, evidence, question) for edit in reversed(output.replace)
    }
    additions = [
        Addition(edit.number, cite_sentence(edit.sentence, evidence.passages, question)) for edit in output.add
    ]
    blocks = [
        [BlockAddition(edit.number, block) for block in cite_block(block_draft, evidence.passages, question)]
        for edit in output.blocks
        for block_draft in edit.blocks
    ]
    edits = DraftEdits(
        replacements={n: claim for n, claim in replacements.items() if _is_usable(claim)},
        deletions=frozenset(output.delete),
        additions=[edit for edit in additions if _is_usable(edit.claim)],
        blocks=[edit for cited in blocks if _are_usable(cited) for edit in cited],
    )
    usable = len(edits.replacements) + len(edits.additions) + sum(map(_are_usable, blocks))
    return edits, len(replacements) + len(additions) + len(blocks) - usable


def _cite_replacement(edit: NumberedSentence, claims: Sequence[Claim], evidence: Evidence, question: str) -> Claim:
    """Return a new sentence; that for a cell is its text alone, even if the review repeats row and column."""
    before = claims[edit.number - 1] if 1 <= edit.number <= len(claims) else Claim(text="")
    name = before.statement.removesuffix(before.text)
    sentence = edit.sentence.model_copy(update={"text": edit.sentence.text.removeprefix(name) or edit.sentence.text})
    after = cite_sentence(sentence, evidence.passages, question, before.label, before.column)
    # The rest of a gap was searched for with the whole, unless its search has other words.
    narrowed = before.query and after.kind == "gap" and after.query == after.text[:MAX_QUERY_CHARACTERS]
    return after.model_copy(update={"query": before.query}) if narrowed else after


def _are_usable(additions: Sequence[BlockAddition]) -> bool:
    claims = [claim for addition in additions for claim in addition.block.claims]
    return bool(claims) and all(map(_is_usable, claims))


def _is_usable(claim: Claim) -> bool:
    return claim.status not in ("missing_citation", "invalid_source")


def _confirm_edits(edits: DraftEdits, evidence: Evidence, question: str) -> DraftEdits:
    """Return edits whose new sentences are judged without a model."""
    new = [
        *edits.replacements.values(),
        *(edit.claim for edit in edits.additions),
        *(claim for edit in edits.blocks for claim in edit.block.claims),
    ]
    confirmed = iter(confirm_corrections(new, evidence, question))
    return DraftEdits(
        replacements={n: next(confirmed) for n in edits.replacements},
        deletions=edits.deletions,
        additions=[edit._replace(claim=next(confirmed)) for edit in edits.additions],
        blocks=[edit._replace(block=_take_claims(edit.block, confirmed)) for edit in edits.blocks],
    )


def _take_claims(block: Block, claims: Iterator[Claim]) -> Block:
    return block.model_copy(update={"claims": tuple(next(claims) for _ in block.claims)})


ROLE = PostprocessedRole(
    "report_reviewer",
    "main",
    ReportReviewerInput,
    ReportReviewerOutput,
    render,
    fallback,
    apply_review,
    ReportReview,
    parse_text=parse_review,
    streamed=True,
    read_by_people=True,
)
