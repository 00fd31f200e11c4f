"""Read reports in JUnit XML, which test runners of many languages write, from files that a sandbox has left."""

from collections.abc import Iterator
from typing import Any, Final

from tenure.algorithms.coding.test_reports import ParsedReport, make_test, merge_tests
from tenure.contracts.coding.repositories import ProjectTest, TestOutcome

MAX_REPORT_BYTES: Final = 32 << 20
"""Size of one report; that of a suite with 80,000 tests has 15 MB."""
_OUTCOMES: Final[tuple[tuple[str, TestOutcome], ...]] = (
    *(("error", "error"), ("failure", "failed"), ("skipped", "skipped")),
)


def parse_junit_report(content: bytes) -> ParsedReport:
    """Return the tests of a report; one with a document type, which could define entities, is refused."""
    if len(content) > MAX_REPORT_BYTES:
        return ParsedReport(error="the report is too large")
    # Imported for the first report: a worker starts faster.
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        return ParsedReport(error=f"the report is no XML: {' '.join(str(error).split())[:200]}")
    if root.getroottree().docinfo.doctype:
        return ParsedReport(error="the report has a document type, which is refused")
    return ParsedReport(merge_tests(_iterate_tests(root)))


def _iterate_tests(root: Any) -> Iterator[ProjectTest]:
    for case in root.iter("testcase"):
        group, name = case.get("classname") or "", case.get("name") or ""
        outcome: TestOutcome = "passed"
        message = ""
        for tag, kind in _OUTCOMES:
            element = case.find(tag)
            if element is not None:
                outcome = kind
                message = "" if kind == "skipped" else f"{element.get('message') or ''}\n{element.text or ''}"
                break
        yield make_test(f"{group}::{name}" if group else name, outcome, message, case.get("file") or "")
