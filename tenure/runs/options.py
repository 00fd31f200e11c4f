"""Options of requests: each is declared here, or with the limits of a run, and nowhere else.

The command line, OpenAPI, the tools of MCP and the signature of the Python interface are derived from the classes. The
module imports nothing slow, since `--help` needs it.
"""

from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import Annotated, Any, Final

from tenure.contracts.choices import ApprovalStep, OverlapPolicy, RunMode, TimeRange
from tenure.contracts.run.limits import FollowUpLimits, SearchModeLimit, StartLimits
from tenure.contracts.run.options import Declaration, Option

MAX_NAMES: Final = 50
"""Maximum number of paths, corpora or other names in one request."""


class _Text:
    """Constraint of a text that is not empty, without the spaces around it."""

    __is_annotated_types_grouped_metadata__: Final = True

    def __init__(self, max_length: int) -> None:
        self._max_length = max_length

    def __iter__(self) -> Iterator[Any]:
        from pydantic import StringConstraints

        yield from StringConstraints(strip_whitespace=True, min_length=1, max_length=self._max_length)


class _Many:
    """Constraint of a list of names."""

    __is_annotated_types_grouped_metadata__: Final = True

    def __iter__(self) -> Iterator[Any]:
        from annotated_types import MaxLen

        yield MaxLen(MAX_NAMES)


class _Path:
    """Schema of a path, which a program may give as an object, and which becomes a text."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(
            lambda value: fspath(value) if isinstance(value, PathLike) else value,
            core_schema.str_schema(min_length=1, max_length=4_096),
        )


Text = Annotated[str, _Text(20_000)]
Name = Annotated[str, _Text(300)]
Names = Annotated[Sequence[Name], _Many()]
PathName = Annotated[str | PathLike[str], _Path()]
Paths = Annotated[Sequence[PathName], _Many()]


class CorpusOptions(Declaration):
    """Corpora that are read."""

    corpora: Annotated[Names, Option("Existing corpora to read.", "--corpus", metavar="NAME")] = ()


class SourceOptions(CorpusOptions):
    """Choice among the passages that are read."""

    filters: Annotated[
        Names,
        Option(
            "Conditions on passages, such as `published>=2020` or `suffix=.md,.rst`.", "--filter", metavar="CONDITION"
        ),
    ] = ()


class SecretOptions(Declaration):
    """Treatment of files that contain secrets."""

    include_secrets: Annotated[
        bool,
        Option(
            "Whether files that contain keys, passwords or tokens are read as well.",
            "--include-secrets",
            "also read files that contain keys, passwords or tokens (default: skip them with a note)",
        ),
    ] = False


class TurnOptions(Declaration):
    """Owner and priority of a run."""

    owner: Annotated[
        Name | None,
        Option(
            "Name under which workers share their capacity fairly; it separates no data, as TENURE_OWNER does.",
            "--owner",
            metavar="NAME",
        ),
    ] = None
    priority: Annotated[
        int | None,
        Option(
            "Priority from 1, the highest, to 5, the lowest; by default 3, or that of the earlier run.",
            "--priority",
            minimum=1,
            maximum=5,
        ),
    ] = None


class TableOptions(CorpusOptions, SecretOptions):
    """Documents and databases that are read."""

    docs: Annotated[Paths, Option("Files and folders to read.", "--docs", metavar="PATH")] = ()
    databases: Annotated[Names, Option("Databases to query.", "--database", metavar="NAME")] = ()


class RepositoryOptions(Declaration):
    """Work in a repository."""

    repo: Annotated[
        PathName | None,
        Option(
            "Git repository to work in: a folder, or with the web an https URL. The task is resolved in a private copy "
            "of a commit; nothing of the folder changes.",
            "--repo",
            "work in this Git repository, a folder or with --web an https URL, on a private copy of a commit",
            "PATH",
        ),
    ] = None
    revision: Annotated[
        Name | None,
        Option(
            "With a repository: branch, tag or commit to start from; by default the one that is checked out.",
            "--revision",
            metavar="NAME",
        ),
    ] = None
    setup: Annotated[
        Text | None,
        Option(
            "With a repository: command that installs what its tests need; by default found in its files.",
            "--setup",
            "with --repo: command that installs what the tests need (default: found in its files)",
            "COMMAND",
        ),
    ] = None
    test: Annotated[
        Text | None,
        Option(
            "With a repository: command that runs its tests; by default found in its files.",
            "--test",
            "with --repo: command that runs its tests (default: found in its files)",
            "COMMAND",
        ),
    ] = None
    allow_setup: Annotated[
        bool,
        Option(
            "With a repository: whether its setup may use the network.",
            "--allow-setup",
            "with --repo: let the setup use the network",
        ),
    ] = False
    approve: Annotated[
        ApprovalStep | None,
        Option(
            "With a repository: step before which a person is asked: `plan` before the first change, `patch` before "
            "the delivery.",
            "--approve",
            "with --repo: ask before the first change, or before the patch is delivered",
        ),
    ] = None


class RunOptions(RepositoryOptions, TableOptions, SourceOptions, TurnOptions, StartLimits):
    """Conditions of a run; those that are not given are those of the settings."""

    id: Annotated[Name | None, Option("Name of the run; by default made from the question.", "--id", metavar="ID")] = (
        None
    )
    mode: Annotated[RunMode, Option("Path; `auto` lets the run decide.", "--mode", "path (default: auto)")] = "auto"
    model: Annotated[
        Name | None,
        Option(
            "Chat model of the run, of the model server in the settings; by default that of the settings.",
            "--model",
            "chat model of the run (default: TENURE_MODEL)",
            "NAME",
        ),
    ] = None
    web: Annotated[
        bool | None,
        Option(
            "Whether the web is read.", "--web", "read the web (default: TENURE_WEB, else no; never with --docs alone)"
        ),
    ] = None
    providers: Annotated[
        Names,
        Option(
            "Search providers of the web.",
            "--provider",
            "with --web: search with this provider; may be repeated ({providers}, or a name from TENURE_OPENSEARCH or "
            "TENURE_MCP_SERVERS)",
            "NAME",
        ),
    ] = ()
    domains: Annotated[
        Names,
        Option("With the web: domains to read, or never to read with a leading minus.", "--domain", metavar="NAME"),
    ] = ()
    urls: Annotated[
        Annotated[Sequence[Text], _Many()],
        Option("With the web: pages to read, by their URLs.", "--url", metavar="URL"),
    ] = ()
    since: Annotated[TimeRange | None, Option("With the web: maximum age of a page.", "--since")] = None
    pages: Annotated[
        int | None,
        Option("With the web: pages read for one search.", "--pages", minimum=1, maximum=30),
    ] = None
    mcp: Annotated[
        Names,
        Option("Servers of TENURE_MCP_SERVERS whose tools and resources are used.", "--mcp", metavar="NAME"),
    ] = ()
    tests: Annotated[Paths, Option("Files with tests that a program must pass.", "--tests", metavar="FILE")] = ()
    files: Annotated[
        Paths, Option("Files that a program reads or changes.", "--files", metavar="PATH", kind="paths")
    ] = ()
    memory: Annotated[
        bool | None,
        Option(
            "Whether memories of earlier runs are used and new ones are kept.",
            "--memory",
            "use memories of earlier runs and keep memories for later ones (default: TENURE_MEMORY)",
        ),
    ] = None


class AskOptions(FollowUpLimits):
    """Conditions of the answer to a follow-up question."""

    new: Annotated[bool, Option("Whether a new conversation starts.", "--new", "start a new conversation")] = False
    search_again: Annotated[
        bool,
        Option(
            "Whether missing evidence is searched for again, on the web if the run may.",
            "--search-again",
            "search again for missing evidence, on the web if the run may",
        ),
    ] = False


class ForkOptions(TurnOptions, FollowUpLimits):
    """Conditions of a new run from an earlier cycle or answer of a run; those not given are those of that run."""

    cycle: Annotated[
        int | None, Option("Last cycle of a research to take over.", "--cycle", minimum=1, maximum=100)
    ] = None
    answer: Annotated[
        int | None,
        Option(
            "Last answer of the model in a repository to take over; null for its last one.",
            "--answer",
            "last answer of the model in a repository to take over, as `trace` numbers them (default: the last one)",
            minimum=1,
            maximum=1_000,
        ),
    ] = None
    attempt: Annotated[
        int | None,
        Option("With several attempts in a repository: the one to continue.", "--attempt", minimum=1, maximum=100),
    ] = None
    feedback: Annotated[str, Option("Feedback for the new run.", "--feedback", metavar="TEXT", max_length=4_000)] = ""
    id: Annotated[
        Name | None, Option("Name of the new run; by default made from the old one.", "--id", metavar="ID")
    ] = None
    max_cycles: Annotated[
        int | None,
        Option(
            "Maximum number of research cycles, including those taken over.", "--max-cycles", minimum=1, maximum=100
        ),
    ] = None


class SearchOptions(SourceOptions, SearchModeLimit):
    """Conditions of a search in corpora; without corpora, all are searched."""

    limit: Annotated[int, Option("Maximum number of passages (default: 8).", "--limit", minimum=1, maximum=50)] = 8


class EntityOptions(Declaration):
    """Conditions of a look-up in the graph of a corpus."""

    limit: Annotated[int, Option("Relations to show (default: 20).", "--limit", minimum=1, maximum=200)] = 20


class BatchOptions(RunOptions):
    """Conditions of the runs of a batch."""

    parallel: Annotated[
        int, Option("Maximum number of concurrent runs (default: 4).", "--parallel", minimum=1, maximum=50)
    ] = 4


class BackfillOptions(Declaration):
    """Overlap of the runs of a schedule."""

    overlap: Annotated[
        OverlapPolicy | None,
        Option(
            "Treatment of a run that is due while the last one is running; by default `skip`, for missed times "
            "`buffer_all`.",
            "--overlap",
        ),
    ] = None


class ScheduleOptions(BackfillOptions):
    """Times at which a question is asked."""

    cron: Annotated[
        Name,
        Option("Cron expression: minute hour day month weekday.", "--cron", metavar='"0 8 * * 1"'),
    ]
    timezone: Annotated[
        Name | None,
        Option(
            "Time zone of the cron expression; by default UTC.",
            "--timezone",
            "time zone of --cron, such as Europe/Berlin (default: UTC)",
            "NAME",
        ),
    ] = None
    jitter: Annotated[
        float | None,
        Option("Maximum random delay in seconds.", "--jitter", "maximum random delay", "5m", kind="duration", above=0),
    ] = None
    catchup: Annotated[
        float | None,
        Option(
            "Seconds after which a missed time is skipped; by default an hour.",
            "--catchup",
            "catch-up window for missed times (default: 1h)",
            "1h",
            kind="duration",
            above=0,
        ),
    ] = None
    paused: Annotated[
        bool, Option("Whether the schedule is created paused.", "--paused", "create the schedule paused")
    ] = False
    name: Annotated[
        Name | None,
        Option("Name of the schedule; by default made from the question.", "--name", metavar="ID"),
    ] = None
