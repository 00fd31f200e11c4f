"""Declare the limits of a run: default, range, description and command-line option of each.

The request of a run, the settings, all faces and `docs/settings.md` are derived from these classes. The module imports
nothing slow, since `--help` needs it.
"""

from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple

from tenure.contracts.choices import Complexity, ReasoningChoice, ReportLength, SearchMode
from tenure.contracts.run.options import Declaration, Option

MAX_SECONDS: Final = 315_360_000.0
"""Ten years in seconds; the longest duration."""


class EffortCost(NamedTuple):
    """Typical usage of a model by a run, and the usage at which the run is ended unless a person sets limits."""

    calls: int
    tokens_in: int
    tokens_out: int
    chain: int
    """Length of the longest chain of answers that wait for each other."""
    max_calls: int
    max_tokens: int

    def describe(self) -> str:
        """Return the typical cost in words."""
        return f"{self.calls} calls and {round(self.tokens_in + self.tokens_out, -3):,} tokens"


TOOL_STRATEGY: Final = "react"
"""Retrieval strategy of a task that needs tools: plans choose it for single tasks, and no limit of a run does."""

MAX_RETRIEVED_PASSAGES: Final = 24
"""Passages retrieved for the question as a whole."""

MAX_PICTURES: Final = 6
"""Pictures of documents that a run shows a model that sees them."""
MAX_PICTURE_TOKENS: Final = 5_000
"""Maximum tokens of a call that reads a picture: 3,800 for its pixels, 370 for prompt and schema, the rest for
an answer with 40 values."""

# Typical figures are those of `python -m benchmarks.model_cost --questions 1` on the manual, with a server whose
# answers have the shape of a careful model's.
EFFORT_COSTS: Final[Mapping[str, EffortCost]] = {
    "simple": EffortCost(2, 11_600, 500, 2, max_calls=8, max_tokens=30_000),
    "moderate": EffortCost(6, 51_600, 3_000, 6, max_calls=16, max_tokens=160_000),
    "complex": EffortCost(10, 80_700, 3_900, 10, max_calls=40, max_tokens=320_000),
}
"""Cost of each effort."""
_EFFORT_HELP: Final = "; ".join(f"{effort} {cost.describe()}" for effort, cost in EFFORT_COSTS.items())


class ModelBudget(Declaration):
    """Budgets of model usage; None for no limit."""

    max_tokens: Annotated[
        int | None,
        Option(
            "Maximum number of prompt and completion tokens of a run; empty for no limit, as for the other budgets.",
            "--max-tokens",
            minimum=1,
        ),
    ] = None
    max_cost_usd: Annotated[
        float | None,
        Option(
            "Maximum cost of a run in US dollars; every model that may answer then needs a price.",
            "--max-cost",
            "maximum cost in US dollars",
            "USD",
            kind="amount",
            above=0,
        ),
    ] = None
    max_calls: Annotated[
        int | None,
        Option(
            "Maximum number of model answers of a run, repeated requests included; fallbacks are not counted.",
            "--max-calls",
            minimum=1,
        ),
    ] = None


class BudgetFields(ModelBudget):
    """Budgets of a run; None for no limit."""

    max_searches: Annotated[
        int | None,
        Option("Maximum number of searches of a run.", "--max-searches", minimum=1),
    ] = None
    max_seconds: Annotated[
        float | None,
        Option(
            "Seconds after which a run writes its report from what it has; pauses and waiting for people are not "
            "counted.",
            "--deadline",
            "when to write the report with the available results: 90s, 2h",
            "30m",
            kind="duration",
            above=0,
            maximum=MAX_SECONDS,
        ),
    ] = None


class SearchModeLimit(Declaration):
    """Search mode."""

    search_mode: Annotated[
        SearchMode | None,
        Option(
            "Search mode of every search; empty to let the plan choose it for a task, and `adaptive` for all others.",
            "--search",
            "search mode of every search (default: the plan's choice or that of the earlier run, else adaptive)",
        ),
    ] = None


class FollowUpLimits(ModelBudget, SearchModeLimit):
    """Limits that settings set, and that a person may set for a run or for an answer about it."""

    fresh: Annotated[
        bool,
        Option(
            "Whether the model answers requests again that it has answered before, instead of the cache.",
            "--fresh",
            "ask the model again instead of using cached answers",
        ),
    ] = False


class StartLimits(BudgetFields, FollowUpLimits):
    """Limits that settings set, and that a person may set for a run."""

    candidates: Annotated[
        int,
        Option(
            "Number of programs written concurrently in each generation, or of independent attempts in a repository.",
            "--candidates",
            minimum=1,
            maximum=8,
        ),
    ] = 1
    max_code_attempts: Annotated[
        int,
        Option(
            "Maximum number of generations of a program, each written after the tests of the one before have failed.",
            "--code-attempts",
            minimum=1,
            maximum=20,
        ),
    ] = 5
    effort: Annotated[
        Complexity | None,
        Option(
            "Amount of work for every question; empty to choose it by the question's complexity.",
            "--effort",
            f"amount of work (default: chosen by the question); a model typically takes: {_EFFORT_HELP}",
        ),
    ] = None
    length: Annotated[
        ReportLength,
        Option(
            "Length of a report: `short` for the answer and the facts that decide it, `standard` for as much as the "
            "question needs, `long` for mechanisms, conditions and examples as well.",
            "--length",
            "length of the report (default: standard, as long as the question needs)",
        ),
    ] = "standard"
    language: Annotated[
        str,
        Option(
            "Language of reports, by its name or code; empty for that of the question.",
            "--language",
            "language of the report (default: that of the question)",
            "NAME",
            kind="language",
            max_length=40,
        ),
    ] = ""
    max_cycles: Annotated[
        int | None,
        Option(
            "Maximum number of research cycles; empty to choose it by the effort.",
            "--max-cycles",
            minimum=1,
            maximum=100,
        ),
    ] = None
    subagents: Annotated[
        int | None,
        Option(
            "Maximum number of searches in one cycle; empty to choose it by the effort.",
            "--subagents",
            minimum=1,
            maximum=8,
        ),
    ] = None
    max_replans: Annotated[
        int,
        Option(
            "Maximum number of further plans of a research cycle, each made after the plan before has failed.",
            "--max-replans",
            minimum=0,
            maximum=5,
        ),
    ] = 1
    strategy: Annotated[
        str | None,
        Option(
            "Retrieval strategy of every task without tools; empty to choose it by the task's query.",
            "--strategy",
            "retrieval strategy of every task without tools (default: chosen by its query)",
            pattern=r"^[a-z][a-z0-9_]{0,39}$",
        ),
    ] = None
    reasoning: Annotated[
        ReasoningChoice | None,
        Option(
            "Reasoning method; empty to choose it by the type of the question.",
            "--reasoning",
            "reasoning strategy (default: chosen by the question)",
        ),
    ] = None
    max_sections: Annotated[
        int,
        Option(
            "Maximum number of sections of a report; a simple question may get fewer.",
            "--max-sections",
            minimum=1,
            maximum=12,
        ),
    ] = 8
    max_report_revisions: Annotated[
        int,
        Option(
            "Maximum number of versions of the report; each but the first follows what a review or a person asks for.",
            "--report-revisions",
            minimum=0,
            maximum=10,
        ),
    ] = 2
    approve_plan: Annotated[
        bool,
        Option(
            "Whether a run waits for a person's approval of its outline before the research starts.",
            "--approve-plan",
            "wait until a person approves the outline",
        ),
    ] = False
    interactive: Annotated[
        bool,
        Option(
            "Whether a run asks people about the question and during its research, and waits for their answers.",
            "--interactive",
            "let the run ask questions and wait for answers",
        ),
    ] = False
    answer_seconds: Annotated[
        float,
        Option(
            "Seconds for which a run waits for a person before it continues with its stated assumption.",
            "--wait",
            "time it waits for an answer before it continues (default: 1d)",
            "24h",
            kind="duration",
            above=0,
            maximum=MAX_SECONDS,
        ),
    ] = 86400.0


class FixedLimits(Declaration):
    """Limits that only settings set."""

    passages_per_section: Annotated[
        int, Option("Number of passages that a section is written from.", minimum=1, maximum=60)
    ] = 14
    max_per_source: Annotated[
        int, Option("Maximum number of passages of one source among them.", minimum=1, maximum=60)
    ] = 5
    min_relevance: Annotated[
        float,
        Option(
            "Minimum normalised relevance of the best passage of a search, below which nothing counts as found; the "
            "other passages need 65 % of it.",
            minimum=0,
            maximum=1,
        ),
    ] = 0.3
    # Of pairs of passages of three manuals with a cosine of 0.90 to 0.97, 1 to 15 % say the same in the same words, of
    # those above 0.98 a third. With 0.1 the current statement on a subject was rejected as similar to an obsolete one.
    min_novelty: Annotated[
        float,
        Option("Minimum novelty of a passage compared with those that the run has accepted.", minimum=0, maximum=1),
    ] = 0.02
    grace_seconds: Annotated[
        float,
        Option(
            "Seconds beyond `max_seconds` for running calls and for writing, before the fallbacks replace the model.",
            minimum=0,
        ),
    ] = 60.0
    max_history_events: Annotated[
        int,
        Option(
            "Number of events of a workflow after which research continues in a new history (continue-as-new).",
            minimum=1,
        ),
    ] = 4000
    program_seconds: Annotated[
        float,
        Option("Seconds of wall time that a program or its tests may take in the sandbox.", above=0, maximum=3600),
    ] = 20.0
    program_memory_mib: Annotated[int, Option("Memory in MiB that they may use.", minimum=64)] = 512
    # Repairs of seeded faults were found within 7 to 59 s on two cores with a load of 3, and within 53 to 177 s with a
    # load of 14, where 60 s ended half of the searches. The time is spent once; a run can be finished meanwhile.
    repair_seconds: Annotated[
        float,
        Option(
            "Seconds of the search for a small edit that makes failing tests pass; 0 for no search.",
            minimum=0,
            maximum=3600,
        ),
    ] = 180.0
    sandbox_wait_seconds: Annotated[float, Option("Seconds to wait for a worker with a sandbox.", above=0)] = 60.0
