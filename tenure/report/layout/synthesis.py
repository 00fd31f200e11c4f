"""Name the parts of a synthesis in a report."""

WHAT_FOLLOWS, NOT_KNOWN, COMPARISON = "What follows", "What is not known", "Comparison"
"""Headings of the conclusions, of the gaps and of the comparison of a synthesis."""

CLOSING_NOTES = {
    WHAT_FOLLOWS: "Conclusions of this report, not statements of a source; the marks name the passages they rest on.",
    NOT_KNOWN: "Questions that the sources that were read leave open.",
}
"""Remarks below the headings of the parts that close a report."""
