"""Name the parts of a synthesis in a report."""

from tenure.report.translation import mark_message

WHAT_FOLLOWS = mark_message("What follows")
NOT_KNOWN = mark_message("What is not known")
COMPARISON = mark_message("Comparison")
"""Headings of the conclusions, of the gaps and of the comparison of a synthesis."""

CLOSING_NOTES = {
    WHAT_FOLLOWS: mark_message(
        "Conclusions of this report, not statements of a source; the marks name the passages they rest on."
    ),
    NOT_KNOWN: mark_message("Questions that the sources that were read leave open."),
}
"""Remarks below the headings of the parts that close a report."""
