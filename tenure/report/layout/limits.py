"""List the limits of the evidence, which a reader should know before relying on the report.

They are computed from the result document, so a report without a model has them as well. The course of the run is
described in the part `MADE`.
"""

from collections.abc import Iterator, Sequence

from tenure.algorithms.text.languages.detection import UNKNOWN, detect_language
from tenure.algorithms.text.printable import flatten
from tenure.algorithms.text.sentences import guess_language, is_non_english
from tenure.contracts.knowledge.memory import is_personal
from tenure.contracts.result.result import Result, ResultClaim
from tenure.report.layout.marks import is_taint_marked
from tenure.report.translation import format_language, join_list, mark_message, translate, translate_count

MADE = mark_message("How this report was made")
"""Heading of the part on the course of the run."""
MAX_NAMED_SOURCES = 8
"""Number of sources with instructions to language models that are named."""
FOREIGN_LIMIT = mark_message(
    "Without a model, texts that are not in English are compared by their words alone, and contradictions between them "
    "are not looked for, since the rules and the built-in embedding model are made for English."
)
UNTRANSLATED_LIMIT = mark_message(
    "Passages in another language were searched with the words of the question, which no model translated: {languages}."
)
THIN_COVERAGE = 0.4
"""Coverage below which the evidence on a topic is thin: two good passages of different sources exceed it."""
MIN_SOURCES = 2
"""Number of sources below which a report is said to rest on few."""
UNCONFIRMED = ("refuted", "neutral", "missing_citation", "invalid_source")
"""Statuses of sentences that their quotes do not support."""


def list_evidence_limits(result: Result) -> tuple[str, ...]:
    """Return the limits of a report's evidence, one sentence each; without a report only suspicious texts."""
    is_written = result.sections or result.abstract_claims
    return (*_list_suspicious(result), *(_limits(result) if is_written else ()))


def describe_no_answer(result: Result) -> str:
    """Return the remark on a report that a model finds to answer no part of its question; empty for any other one."""
    evaluation = result.evaluation
    if not evaluation or not result.sections or result.short_answer:
        return ""
    if not evaluation.parts or len(evaluation.missing) < len(evaluation.parts):
        return ""
    return translate(
        "By the verdict of the model, this report does not answer its question. The closest statements follow."
    )


BRIEF_NOTE = mark_message(
    "No model wrote this report: it shows the excerpts of the sources that answer each part of the question best, with "
    "the answering sentences in bold. A model would write them up."
)
"""Remark on a report that consists of excerpts."""


def describe_brief(result: Result) -> str:
    """Return the remark on a report that consists of excerpts; empty for any other one."""
    return translate(BRIEF_NOTE) if any(claim.part for claim in _claims(result)) else ""


def _list_suspicious(result: Result) -> Iterator[str]:
    """Yield the texts that give instructions to language models, and the parts of the report they may influence."""
    uris = [flatten(uri) for uri in result.suspicious_sources[:MAX_NAMED_SOURCES]]
    if more := len(result.suspicious_sources) - len(uris):
        uris.append(translate("{number} more", number=more))
    if uris:
        contains = "contains" if len(result.suspicious_sources) == 1 else "contain"
        yield translate_count(
            f"{join_names(uris)} {contains} words like instructions to language models; they were read as data.",
            "Words like instructions to language models, which were read as data, are in: {names}.",
            names=join_list(uris),
        )
    if not result.usage.exposed_calls:
        return
    if not uris:
        yield translate(
            "A file, a table or an answer of a tool had words like instructions to language models, read as data."
        )
    if result.mode == "CODE":
        yield translate("A model read such instructions while it wrote this code: read the code before you use it.")
    else:
        claims = list_all_claims(result)
        tainted = sum(claim.tainted for claim in claims)
        marked = "one sentence is marked" if tainted == 1 else f"{tainted} sentences are marked"
        influenced = marked if is_taint_marked(claims) else f"{tainted} of {len(claims)} sentences may be influenced"
        yield translate_count(
            f"Models read such instructions in {result.usage.exposed_calls} of {result.usage.calls} calls: "
            f"{influenced}, and title, headings, evaluation and further considerations may be influenced as well.",
            "Calls of models that read such instructions: {exposed} of {calls}. Sentences that may be influenced: "
            "{tainted} of {sentences}; title, headings, evaluation and further considerations may be influenced too.",
            exposed=result.usage.exposed_calls,
            calls=result.usage.calls,
            tainted=tainted,
            sentences=len(claims),
        )


def join_names(names: Sequence[str]) -> str:
    """Join names in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def list_all_claims(result: Result) -> tuple[ResultClaim, ...]:
    """Return all sentences of a report with citations."""
    return (
        *result.abstract_claims,
        *_claims(result),
        *(result.reasoning.claims if result.reasoning else ()),
        *(result.synthesis.claims if result.synthesis else ()),
    )


def _limits(result: Result) -> Iterator[str]:
    headings = [section.topic for section in result.sections]
    if empty := [topic for topic in result.coverage if topic not in headings]:
        yield translate("Nothing was found on {topics}.", topics=_listed(empty))
    if thin := [topic for topic in headings if topic in result.coverage and result.coverage[topic] < THIN_COVERAGE]:
        yield translate("The evidence on {topics} is thin.", topics=_listed(thin))
    names_gaps = result.synthesis is not None and bool(result.synthesis.gaps)
    if result.evaluation and result.evaluation.missing and not names_gaps and not describe_no_answer(result):
        topics = _listed(result.evaluation.missing)
        yield translate("By the verdict of the model, nothing here answers {topics}.", topics=topics)
    if 0 < len(result.sources) <= MIN_SOURCES and not all(source.derived for source in result.sources):
        few = "a single source" if len(result.sources) == 1 else f"{len(result.sources)} sources"
        yield translate_count(
            f"The whole report rests on {few}.",
            "The whole report rests on few sources; their number: {number}.",
            number=len(result.sources),
        )
    personal = {source.n for source in result.sources if is_personal(source.uri)}
    if rests := sum(any(c.source in personal for c in claim.citations) for claim in list_all_claims(result)):
        subject = "One statement rests" if rests == 1 else f"{rests} statements rest"
        yield translate_count(
            f"{subject} on the memory of a person's statement, not on a document.",
            "Statements that rest on the memory of a person's statement, not on a document: {number}.",
            number=rests,
        )
    if doubtful := [claim for claim in _claims(result) if claim.status in UNCONFIRMED]:
        subject = "One sentence is" if len(doubtful) == 1 else f"{len(doubtful)} sentences are"
        yield translate_count(
            f"{subject} not supported by the cited quotes; the marks show which.",
            "Sentences that the cited quotes do not support, as the marks show: {number}.",
            number=len(doubtful),
        )
    if unchecked := [claim for claim in _claims(result) if claim.status == "unverified" and claim.citations]:
        subject = "One sentence was" if len(unchecked) == 1 else f"{len(unchecked)} sentences were"
        yield translate_count(
            f"{subject} written by a model and not checked against the cited quotes.",
            "Sentences that a model wrote and that were not checked against the cited quotes: {number}.",
            number=len(unchecked),
        )
    if translated := [claim for claim in _claims(result) if _is_translated(claim)]:
        subject = "One sentence is" if len(translated) == 1 else f"{len(translated)} sentences are"
        yield translate_count(
            f"{subject} in another language than the quotes; rules compare only numbers of two languages, and the "
            "whole passage is quoted if no name or number shows its part.",
            "Sentences in another language than their quotes: {number}. Rules compare only numbers of two languages, "
            "and the whole passage is quoted if no name or number shows its part.",
            number=len(translated),
        )
    if not result.usage.model_calls and _is_foreign(result):
        yield translate(FOREIGN_LIMIT)
    if result.usage.embedded_share < 1:
        yield translate("Some searches matched words only, because not all passages were embedded yet.")
    yield from list_search_limits(result)
    if unread := sum(file.may_have_text for file in result.skipped):
        files, whose = ("One file", "its") if unread == 1 else (f"{unread} files", "their")
        yield translate_count(
            f"{files} could not be read, so this report lacks {whose} content; the part “{MADE}” gives the reason.",
            "Files that could not be read and whose content this report lacks: {number}; “{part}” gives the reason.",
            number=unread,
            part=translate(MADE),
        )


def list_search_limits(result: Result) -> Iterator[str]:
    """Yield the limits of translation and of the web research; without evidence, they may be the reason."""
    if result.usage.untranslated:
        yield translate(UNTRANSLATED_LIMIT, languages=join_list(map(format_language, result.usage.untranslated)))
    if result.web is None:
        return
    if result.web.is_unanswered:
        why = "; ".join(f"{engine.provider}: {engine.note}" for engine in result.web.providers) or translate(
            "none is configured"
        )
        yield translate("No search provider answered ({why}).", why=why)
    else:
        for engine in result.web.providers:
            if engine.configured and (missed := engine.searches - engine.answered):
                yield translate(
                    "{provider} did not answer {missed} of {searches} searches ({note}).",
                    provider=engine.provider,
                    missed=missed,
                    searches=engine.searches,
                    note=engine.note,
                )
    if lost := sum(page.status in ("refused", "failed") for page in result.web.pages):
        yield translate_count(
            f"{'One page' if lost == 1 else f'{lost} pages'} from search results could not be read.",
            "Pages from search results that could not be read: {number}.",
            number=lost,
        )
    for page in result.web.pages:
        if "instructions" in page.flaws and page.url not in result.suspicious_sources:
            yield translate(
                "{page} contains instructions to its reader; they were treated as text only.", page=page.url
            )
        elif "paywall" in page.flaws and page.status == "read":
            yield translate("{page} shows only its beginning (paywall).", page=page.url)


def _is_foreign(result: Result) -> bool:
    """Return whether the question or a quoted source is in a language whose sentences no rule judges."""
    quotes = (citation.quote for claim in list_all_claims(result) for citation in claim.citations)
    return is_non_english(result.question) or any(guess_language(quote) != "en" for quote in quotes)


def _is_translated(claim: ResultClaim) -> bool:
    """Return whether a sentence is in another language than a quote of it, as far as both are certain."""
    language = detect_language(claim.text)
    return language != UNKNOWN and any(detect_language(c.quote) not in (UNKNOWN, language) for c in claim.citations)


def _claims(result: Result) -> Iterator[ResultClaim]:
    for section in result.sections:
        yield from section.claims


def _listed(topics: Sequence[str]) -> str:
    return join_list(f"“{topic}”" for topic in topics)
