from tenure.contracts.evidence.corpora import SkippedFile
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Usage
from tenure.report.assemble import assemble_result
from tenure.report.layout.limits import list_evidence_limits
from tenure.report.layout.provenance import list_provenance
from tenure.report.layout.tree import ListNode
from tenure.report.render.markdown import write_markdown
from tests.report.samples import SOURCES, full, report


def render_provenance(result: Result) -> str:
    """Return the last part of a report as Markdown."""
    return write_markdown([ListNode(tuple(list_provenance(result)))]) + "\n"


def test_tokens_pages_and_money_are_told_where_there_are_any() -> None:
    """A run on a paid model over the web says what it read and cost."""
    usage = Usage(calls=1, searches=2, pages=1, tokens_in=1200, tokens_out=80, cost_usd=0.0123, seconds=61)

    text = render_provenance(assemble_result(report(usage=usage), SOURCES))

    assert "- Used: 1 role call, 2 searches, 1 web page, 1200 tokens in, 80 out, 0.0123 USD, 61.0 s" in text


def test_the_critical_path_is_told() -> None:
    """The calls of a model are reported with the longest chain of them."""
    usage = Usage(calls=9, model_calls=7, critical_path=4)

    text = render_provenance(assemble_result(report(usage=usage), SOURCES))

    assert "7 model calls (4 one after the other)" in text


def test_repeated_stand_ins_are_counted() -> None:
    """The same reason for the same role is one line with a count."""
    fallbacks = report().fallbacks * 3

    text = render_provenance(assemble_result(report(fallbacks=fallbacks), SOURCES))

    assert "- The fallback answered instead of the model in 3 calls of report writer: the answer was no JSON" in text


def test_a_verdict_is_told_as_that_of_the_model() -> None:
    """Each error is printed as the verdict of the model, without a score; the trace has its verdict on each part."""
    result = full()

    assert "- By the verdict of the model: Too short.\n" in render_provenance(result)
    assert "verdict" not in render_provenance(full(evaluation=None))


def test_the_evaluation_does_not_vouch_for_doubtful_sentences() -> None:
    """A remark that repeats a sentence which its source does not support has the mark of the sentence."""
    result = full()
    assert result.evaluation is not None
    issues = ("It rightly says that the sea is wide.", "Here the sea never rises.", "Too short.")
    evaluation = result.evaluation.model_copy(update={"issues": issues})

    text = render_provenance(full(evaluation=evaluation))

    assert r"the model: It rightly says that the sea is wide. [not confirmed]" in text
    assert r"the model: Here the sea never rises. [contradicted]" in text
    assert "the model: Too short.\n" in text


def test_pictures_are_counted_and_not_missed() -> None:
    """Pictures among the unread files are one line, and no limit of the evidence."""
    files = tuple(SkippedFile(path=path, reason="is a picture") for path in ("/a.PNG", "/b.svg"))
    result = assemble_result(report(skipped=(*files, SkippedFile(path="/c.pdf", reason="encrypted"))), SOURCES)

    text = render_provenance(result)

    assert "Not read: `/c.pdf` (encrypted)\n- Not read: 2 pictures, which a report does not need" in text
    assert not any(
        "not be read" in limit for limit in list_evidence_limits(result.model_copy(update={"skipped": files}))
    )
