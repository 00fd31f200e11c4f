"""Declare the limits of a run: default, range, description and command-line option of each.

The request of a run, the settings, the command line and `docs/settings.md` are derived from these tables. The module
imports nothing slow, since `--help` needs it.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

MAX_SECONDS: Final = 315_360_000.0
"""Ten years in seconds; the longest duration."""

OptionType = Literal["integer", "amount", "duration", "language", "choice", "switch"]
"""Type of an option's value."""


class Option(NamedTuple):
    """Command-line option of a limit."""

    flag: str
    """Name with its dashes."""
    help: str
    """Help text."""
    type: OptionType = "integer"
    """Type of the value."""
    metavar: str | None = "N"
    """Placeholder of the value in the help."""
    choices: tuple[str, ...] = ()
    """Allowed values, if they are fixed."""


class Limit(NamedTuple):
    """A limit of a run."""

    default: int | float | str | bool | None
    """Default; None for no limit, or for a value chosen by the question."""
    description: str
    """Meaning, as in `docs/settings.md`."""
    minimum: float | None = None
    """Smallest allowed value."""
    above: float | None = None
    """Value that must be exceeded."""
    maximum: float | None = None
    """Largest allowed value."""
    max_length: int | None = None
    """Maximum length of a text."""
    option: Option | None = None
    """Command-line option; None if there is none."""


class EffortCost(NamedTuple):
    """Cost of a run with a model."""

    calls: int
    """Typical number of model answers."""
    tokens_in: int
    """Typical number of prompt tokens."""
    tokens_out: int
    """Typical number of completion tokens."""
    chain: int
    """Typical length of the longest chain of answers that wait for each other."""
    max_calls: int
    """Number of model answers at which the run is ended, unless a person sets limits."""
    max_tokens: int
    """Number of tokens at which the run is ended, unless a person sets limits."""

    def describe(self) -> str:
        """Return the typical cost in words."""
        return f"{self.calls} calls and {round(self.tokens_in + self.tokens_out, -3):,} tokens"


TOOL_STRATEGY: Final = "react"
"""Retrieval strategy of a task that needs tools: plans choose it for single tasks, and no limit of a run does."""

MAX_RETRIEVED_PASSAGES: Final = 24
"""Passages retrieved for the question as a whole."""

# Typical figures are those of `python -m benchmarks.model_cost --questions 1` on the manual, with a server whose
# answers have the shape of a careful model's.
EFFORT_COSTS: Final[Mapping[str, EffortCost]] = {
    "simple": EffortCost(2, 11_600, 500, 2, max_calls=8, max_tokens=30_000),
    "moderate": EffortCost(6, 51_600, 3_000, 6, max_calls=16, max_tokens=160_000),
    "complex": EffortCost(10, 80_700, 3_900, 10, max_calls=40, max_tokens=320_000),
}
"""Cost of each effort."""
_EFFORT_HELP: Final = "; ".join(f"{effort} {cost.describe()}" for effort, cost in EFFORT_COSTS.items())

RESEARCH_LIMITS: Final[Mapping[str, Limit]] = {
    "effort": Limit(
        None,
        "Amount of work for every question; empty to choose it by the question's complexity.",
        option=Option(
            "--effort",
            f"amount of work (default: chosen by the question); a model typically takes: {_EFFORT_HELP}",
            "choice",
            None,
            ("simple", "moderate", "complex"),
        ),
    ),
    "max_cycles": Limit(
        None,
        "Maximum number of research cycles; empty to choose it by the effort.",
        minimum=1,
        maximum=100,
        option=Option("--max-cycles", "maximum number of research cycles"),
    ),
    "subagents": Limit(
        None,
        "Maximum number of searches in one cycle; empty to choose it by the effort.",
        minimum=1,
        maximum=8,
        option=Option("--subagents", "maximum number of searches in one cycle"),
    ),
    "max_replans": Limit(
        1,
        "Maximum number of further plans of a research cycle, each made after the plan before has failed.",
        minimum=0,
        maximum=5,
        option=Option("--max-replans", "maximum number of further plans of a cycle whose plan failed"),
    ),
    "strategy": Limit(
        None,
        "Retrieval strategy of every task without tools; empty to choose it by the task's query.",
        option=Option(
            "--strategy",
            "retrieval strategy of every task without tools (default: chosen by its query)",
            "choice",
            None,
        ),
    ),
    "search_mode": Limit(
        None,
        "Search mode of every search; empty to let the plan choose it for a task, and `adaptive` for all others.",
        option=Option(
            "--search",
            "search mode of every search (default: the plan's choice or that of the earlier run, else adaptive)",
            "choice",
            None,
            ("dense", "sparse", "rrf", "hybrid", "graph", "adaptive"),
        ),
    ),
    "max_sections": Limit(
        8,
        "Maximum number of sections of a report; a simple question may get fewer.",
        minimum=1,
        maximum=12,
        option=Option("--max-sections", "maximum number of sections"),
    ),
    "length": Limit(
        "standard",
        "Length of a report: `short` for the answer and the facts that decide it, `standard` for as much as the "
        "question needs, `long` for mechanisms, conditions and examples as well.",
        option=Option(
            "--length",
            "length of the report (default: standard, as long as the question needs)",
            "choice",
            None,
            ("short", "standard", "long"),
        ),
    ),
    "max_report_revisions": Limit(
        2,
        "Maximum number of versions of the report; each but the first follows what a review or a person asks for.",
        minimum=0,
        maximum=10,
        option=Option("--report-revisions", "maximum number of versions of the whole report"),
    ),
    "language": Limit(
        "",
        "Language of reports, by its name or code; empty for that of the question.",
        max_length=40,
        option=Option(
            "--language", "language of the report (default: that of the question)", "language", metavar="NAME"
        ),
    ),
    "reasoning": Limit(
        None,
        "Reasoning method; empty to choose it by the type of the question.",
        option=Option(
            "--reasoning",
            "reasoning strategy (default: chosen by the question)",
            "choice",
            None,
            ("chain", "tree", "analogical", "causal", "counterfactual", "self_consistency", "multi_hop", "none"),
        ),
    ),
    "reasoning_samples": Limit(
        3, "Number of independent answers that vote with self-consistency.", minimum=2, maximum=9
    ),
    "thought_breadth": Limit(
        3, "Number of thoughts proposed and followed at each level of a tree of thoughts.", minimum=1, maximum=6
    ),
    "thought_depth": Limit(2, "Number of levels of a tree of thoughts.", minimum=1, maximum=4),
    "passages_per_section": Limit(14, "Number of passages that a section is written from.", minimum=1, maximum=60),
    "max_per_source": Limit(5, "Maximum number of passages of one source among them.", minimum=1, maximum=60),
    "min_relevance": Limit(
        0.3,
        "Minimum normalised relevance of the best passage of a search, below which nothing counts as found; the other "
        "passages need 65 % of it.",
        minimum=0,
        maximum=1,
    ),
    # Of pairs of passages of three manuals with a cosine of 0.90 to 0.97, 1 to 15 % say the same in the same words, of
    # those above 0.98 a third. With 0.1 the current statement on a subject was rejected as similar to an obsolete one.
    "min_novelty": Limit(
        0.02, "Minimum novelty of a passage compared with those that the run has accepted.", minimum=0, maximum=1
    ),
    "rerank_listwise": Limit(False, "Whether the chat model, if there is one, reorders the results of each search."),
    "max_tokens": Limit(
        None,
        "Maximum number of prompt and completion tokens of a run; empty for no limit, as for the other budgets.",
        minimum=1,
        option=Option("--max-tokens", "maximum number of tokens"),
    ),
    "max_cost_usd": Limit(
        None,
        "Maximum cost of a run in US dollars; every model that may answer then needs a price.",
        above=0,
        option=Option("--max-cost", "maximum cost in US dollars", "amount", "USD"),
    ),
    "max_calls": Limit(
        None,
        "Maximum number of model answers of a run, repeated requests included; fallbacks are not counted.",
        minimum=1,
        option=Option("--max-calls", "maximum number of model answers"),
    ),
    "max_searches": Limit(
        None,
        "Maximum number of searches of a run.",
        minimum=1,
        option=Option("--max-searches", "maximum number of searches"),
    ),
    "max_seconds": Limit(
        None,
        "Seconds after which a run writes its report from what it has; pauses and waiting for people are not counted.",
        above=0,
        maximum=MAX_SECONDS,
        option=Option("--deadline", "when to write the report with the available results: 90s, 2h", "duration", "30m"),
    ),
    "grace_seconds": Limit(
        60.0,
        "Seconds beyond that for running calls and for writing, before the fallbacks replace the model.",
        minimum=0,
    ),
    "max_history_events": Limit(
        4_000, "Number of events of a workflow after which research continues in a new history (continue-as-new).", 1
    ),
    "approve_plan": Limit(
        False,
        "Whether a run waits for a person's approval of its outline before the research starts.",
        option=Option("--approve-plan", "wait until a person approves the outline", "switch"),
    ),
    "interactive": Limit(
        False,
        "Whether a run asks people about the question and during its research, and waits for their answers.",
        option=Option("--interactive", "let the run ask questions and wait for answers", "switch"),
    ),
    "fresh": Limit(
        False,
        "Whether the model answers requests again that it has answered before, instead of the cache.",
        option=Option("--fresh", "ask the model again instead of using cached answers", "switch"),
    ),
    "answer_seconds": Limit(
        86_400.0,
        "Seconds for which a run waits for a person before it continues with its stated assumption.",
        above=0,
        maximum=MAX_SECONDS,
        option=Option("--wait", "time it waits for an answer before it continues (default: 1d)", "duration", "24h"),
    ),
}
"""Limits of every run, most of them of the research path."""

CODING_LIMITS: Final[Mapping[str, Limit]] = {
    "max_code_attempts": Limit(
        5,
        "Maximum number of generations of a program, each written after the tests of the one before have failed.",
        minimum=1,
        maximum=20,
        option=Option("--code-attempts", "maximum number of generations of a program"),
    ),
    "candidates": Limit(
        1,
        "Number of programs written concurrently in each generation.",
        minimum=1,
        maximum=8,
        option=Option("--candidates", "programs written concurrently"),
    ),
    "program_seconds": Limit(
        20.0, "Seconds of wall time that a program or its tests may take in the sandbox.", above=0, maximum=3600
    ),
    "program_memory_mib": Limit(512, "Memory in MiB that they may use.", minimum=64),
    "repair_seconds": Limit(
        60.0,
        "Seconds of the search for a small edit that makes failing tests pass; 0 for no search.",
        minimum=0,
        maximum=3600,
    ),
    "sandbox_wait_seconds": Limit(60.0, "Seconds to wait for a worker with a sandbox.", above=0),
}
"""Limits of the coding path."""

LIMITS: Final[Mapping[str, Limit]] = {**RESEARCH_LIMITS, **CODING_LIMITS}
"""All limits, by the name of their setting."""

MODEL_BUDGET: Final = ("max_tokens", "max_cost_usd", "max_calls")
"""Budgets of model usage."""

OTHER_BUDGETS: Final = ("max_searches", "max_seconds")
"""Budgets of other resources."""
