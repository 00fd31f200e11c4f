"""Closed sets of values that options take; imports nothing slow, since the command line offers them in its help."""

from typing import Literal

RunMode = Literal["auto", "research", "code"]

Complexity = Literal["simple", "moderate", "complex"]
"""Complexity of a question, which determines the amount of work."""

ReportLength = Literal["short", "standard", "long"]
"""Length of a report."""

SearchMode = Literal["dense", "sparse", "rrf", "hybrid", "graph", "adaptive"]
"""Search method: `dense` by vector similarity; `sparse` by full text; `rrf` by both, fused by reciprocal rank;
`hybrid` by both, fused by scores; `graph` along entity links from the best hybrid results; `adaptive` chooses `graph`
for corpora whose passages are connected by names, and `hybrid` otherwise."""

ReasoningStrategy = Literal["chain", "tree", "analogical", "causal", "counterfactual", "self_consistency", "multi_hop"]
"""Reasoning method: `chain` step by step (chain of thought); `tree` over several lines of thought, of which the better
ones are continued (tree of thoughts); `analogical` from shared features of two things to their differences; `causal`
from cause to effect; `counterfactual` from what would follow if something were different; `self_consistency` by
majority vote of independent answers; `multi_hop` from one fact to the next that it names."""

ReasoningChoice = Literal[ReasoningStrategy, "none"]
"""Reasoning method that a person may select."""

ReportFormat = Literal["md", "html", "pdf", "docx", "json", "bibtex", "csl"]
"""Format of a report, or of its references alone."""

CitationStyle = Literal["numeric", "author-year"]
"""Format of citation marks: `[1, 2]` or `(Author 2024; Doe 2023)`."""

ReportProofs = Literal["full", "short", "none", "only"]
"""Proofs in a report: `full` with all quotes and the record of how it was made; `short` with citations and references;
`none` with neither; `only` the quotes and the record, without the report."""

MemoryKind = Literal["short_term", "long_term", "episodic", "semantic", "procedural", "preference"]
"""Temporary fact; permanent fact; course of a run; relation of two entities; advice on how to proceed; a person's
request to all runs, such as the units that reports use.
"""

WritableKind = Literal["short_term", "long_term", "semantic", "procedural", "preference"]
"""Kinds of memories that a person can write; an episode is the record of a run."""

TimeRange = Literal["day", "week", "month", "year"]
"""Maximum age of a web page."""

ApprovalStep = Literal["plan", "patch"]
"""Step of the work in a repository before which a person is asked: the first change of a file, or the delivery."""

RunStatus = Literal[
    "running",
    "waiting",
    "paused",
    "done",
    "finished_early",
    "cancelled",
    "no_evidence",
    "failing_tests",
    "unsupported",
    "failed",
]

ListedStatus = Literal[RunStatus, "terminated", "timed_out"]
"""Status of a run in a list; the last two are known to the server only."""

OverlapPolicy = Literal["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all"]
"""Treatment of a scheduled run while the last one is running, as Temporal names it."""
