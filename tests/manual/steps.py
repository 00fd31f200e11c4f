"""Commands of the manual with what they print, and the reasons why the others are not run."""

from typing import Final, NamedTuple

PYTHON: Final = "python client.py "
NOTHING_FOUND: Final = 3
REFUSED: Final = 1
WRONG: Final = 2
SENT: Final = "Signal workflow succeeded\n"
RETENTION: Final = "What is the retention period?"


class Step(NamedTuple):
    """A command that is run."""

    command: str
    """The command as the manual has it."""
    printed: str = "…"
    """Expected output, in which `…` stands for any text."""
    code: int = 0
    """Expected exit code."""
    replaced: tuple[str, str] | None = None
    """Words of the command, and the words of this test in their place."""
    is_from_manual: bool = True
    """Whether the manual has the command; a preparation is not from there."""


def _client(line: str, printed: str = "…", code: int = 0, replaced: tuple[str, str] | None = None) -> Step:
    return Step(PYTHON + line, printed, code, replaced)


def _prepare(line: str, printed: str = "…") -> Step:
    return Step(PYTHON + line, printed, is_from_manual=False)


START: Final = _client("up", "…\nworker           running …\npage …")

CORPORA: Final = (
    _client("corpus add ~/papers ~/notes.md --corpus drafts", "…corpus drafts: 3 files (3 new, …"),
    _client("corpus add ~/inbox --corpus inbox --every 10m", "…corpus inbox: 1 file …"),
    _client("corpus list", "…drafts … 100% …inbox …"),
    _client("corpus watched", "…inbox …"),
    _client("corpus unwatch inbox", "corpus inbox is no longer watched"),
    _client("corpus stats drafts", "…drafts …embedding cache: …"),
    _client('corpus graph drafts "hybrid search" --limit 10'),
    _client(
        'corpus search "hybrid search" --corpus drafts --filter "published>=2020" --limit 3',
        "[1] Hybrid search…merges the results of a dense and a sparse search.…",
    ),
    _client(
        'table query "SELECT region, sum(revenue) AS revenue FROM sales GROUP BY region" --docs sales.csv',
        "…north …30…",
    ),
    _client(
        'start "Compare both drafts" --corpus drafts --max-sections 3 -o report.md', "…report written to report.md…"
    ),
    _client("batch start questions.csv --corpus drafts --parallel 2", "…-002 …done …-003 …done …"),
    _client("corpus drop drafts", "corpus drafts dropped"),
)

RUN: Final = (
    _client(f'start "{RETENTION}" --docs policies --id retention --detach --json', '…"id": "retention"…'),
    _client("watch retention", "…\n# …seven years…"),
    _client("watch retention --format json -o retention.json", "…report written to retention.json…"),
    _client("state retention", f"retention: {RETENTION}\nstatus done, …"),
    _client("state retention --json", '{…"status": "done"…'),
    _client("report retention", "# …seven years…## References…"),
    _client("report retention -o retention.html", "report written to retention.html"),
    _client("report retention -o retention.pdf --citations author-year", "report written to retention.pdf"),
    _client("report retention --format csl -o references.json", "report written to references.json"),
    _client("report retention --open", "opened …/reports/retention.html"),
    _client("files list retention"),
    _client("files save retention results"),
    _client("trace retention", "# Trace of retention…## Cycle 1…"),
    _client("trace retention --json", '{…"id": "retention"…'),
    _client("trace retention -o retention.html", "…retention.html"),
    _client("list --limit 50", "…retention …done…"),
    _client('label retention --title "How long data is kept" --tag archive', "…How long data is kept, #archive…"),
    _client('ask retention "Which of these periods may be extended?"', "…[1]…**Sources**…"),
    _client('ask retention "When do they end?"', "…"),
    _client(
        'ask retention "What is new since then?" --search-again --new --json',
        '{…"question": "What is new…',
        NOTHING_FOUND,
    ),
    _client(
        'ask retention "What does the newest guidance say?" --search-again --max-calls 8',
        "…no passage was found in the documents of run retention that answers this question…",
        NOTHING_FOUND,
    ),
    _client("fork retention --cycle 1 --id retention-2 --max-cycles 6 --detach", "…run retention-2, …"),
    _prepare("watch retention-2", "…# …"),
    _client("diff retention retention-2", "# …retention-2…"),
    _client("diff retention retention-2 --json", "{…"),
    _client("diff retention retention-2 -o difference.md", "…difference.md"),
    _client(
        'fork retention --cycle 2 --feedback "Leave the drafts out"',
        "…# …Leave the drafts out…",
        0,
        ("cycle 2", "cycle 1"),
    ),
    _client("archive export retention", "…retention.tenure…"),
    _client("archive export retention ~/retention.tenure", "…retention.tenure…"),
    _client("archive delete retention", "…retention…"),
    _client("archive import ~/retention.tenure", "…retention…"),
)

WAITING: Final = 'start "How long is the retention period?" --docs policies --approve-plan --detach --id '
STEERED: Final = ("retention", "steered")
OWN: Final = ("--workflow-id my-run", "--workflow-id steered-2 --address 127.0.0.1:$TENURE_TEMPORAL_PORT")
ANOTHER: Final = (OWN[0], OWN[1].replace("steered-2", "steered-4"))

STEERING: Final = (
    _prepare(f"{WAITING} steered"),
    _client("outline retention --set outline.txt", "run steered: …", 0, STEERED),
    _client('feedback retention "Say which law applies"', "run steered: …", 0, STEERED),
    _client('feedback retention "Add the exceptions" --topic "Retention period"', "run steered: …", 0, STEERED),
    _client(
        "budget retention --max-tokens 400000 --max-cost 1 --max-calls 200 --max-searches 90 --deadline 2h",
        "error: run steered refuses: cost cannot be limited: the run was started without the prices of its models",
        REFUSED,
        STEERED,
    ),
    _client("pause retention", "run steered: …", 0, STEERED),
    _client("resume retention", "run steered: …", 0, STEERED),
    _client(
        'answer retention "The law of 2024"',
        "error: …waits for approval: `approve` it…",
        REFUSED,
        STEERED,
    ),
    _client("approve retention", "run steered: …", 0, STEERED),
    _prepare("watch steered", "…\n# …“Say which law applies”…"),
    Step(
        f'{PYTHON}start "What do both versions cost?" --approve-plan --interactive --wait 12h --detach',
        "…run steered-2, …",
        0,
        ('"What do both versions cost?"', '"How long is the retention period?" --docs policies --id steered-2'),
    ),
    _client("budget my-run --max-tokens 400000 --deadline 2h", "run steered-2: …", 0, ("my-run", "steered-2")),
    *(
        Step(f"uv run temporal workflow {line}", printed, 0, OWN)
        for line, printed in (
            ("query --workflow-id my-run --type progress", "…Query result…steered-2…"),
            ("query --workflow-id my-run --type state", "…Query result…steered-2…"),
            ('signal --workflow-id my-run --name outline --input \'["Costs", "Versions => Both versions"]\'', SENT),
            ("signal --workflow-id my-run --name feedback --input '\"Say more about costs\"'", SENT),
            (
                "signal --workflow-id my-run --name feedback "
                '--input \'{"text": "Compare both versions", "topic": "Costs"}\'',
                SENT,
            ),
            ('signal --workflow-id my-run --name budget --input \'{"max_calls": 500, "max_seconds": 7200}\'', SENT),
            ("signal --workflow-id my-run --name answer --input '\"The second version.\"'", SENT),
            (
                'update execute --workflow-id my-run --name steer --input \'{"name": "pause"}\'',
                "…No new work starts until it is resumed…",
            ),
            ("signal --workflow-id my-run --name pause", SENT),
            ("signal --workflow-id my-run --name resume", SENT),
            ("signal --workflow-id my-run --name approve", SENT),
            ("signal --workflow-id my-run --name finish", SENT),
        )
    ),
    _prepare(f"{WAITING} steered-3"),
    _client("finish retention", "run steered-3: …", 0, ("retention", "steered-3")),
    _prepare(f"{WAITING} steered-4"),
    Step("uv run temporal workflow signal --workflow-id my-run --name cancel", SENT, 0, ANOTHER),
    _prepare(f"{WAITING} steered-5"),
    _client("cancel retention", "run steered-5: …", 0, ("retention", "steered-5")),
)

MEMORY: Final = (
    _client('memory add "We use metric units" --kind preference', "remembered as preference: …"),
    _client('memory add "The draft is due on Friday." --kind short_term', "remembered as short_term: …"),
    _client(
        'memory add "The Zenne flows through Halle." --subject Zenne --relation "flows through" --object Halle',
        "remembered as semantic: …",
    ),
    _client('memory edit 026af961a8050dce9599fe66 "We use SI units"'),
    _client("memory list --limit 50", "…We use SI units…"),
    _client("memory list --kind semantic", "…The Zenne flows through Halle.…"),
    _client('memory search "hybrid search" --json', '{…"memories": […'),
    _client('memory search "Who founded the Bank of England?"'),
    _client("memory forget 026af961a8050dce9599fe66 --owner ann", "error: this owner has no such memory: …", WRONG),
    _client("memory forget --run research-bees-1a2b3c"),
    _client("memory export -o memories.jsonl --owner ann", "…"),
)

OTHERS: Final = (
    _client('start "Repair median.py" --files median.py --tests test_median.py --id median', "…median.py…"),
    _client("apply median --patch fix.patch", "…patch written to fix.patch…"),
    _client("apply median", "…written: …median.py…"),
    _client(
        'schedule add "What is new in our drafts?" --cron "0 8 * * 1" --docs ~/drafts --name drafts-weekly',
        "…drafts-weekly…",
    ),
    _client("schedule list", "…drafts-weekly…"),
    _client("schedule pause drafts-weekly", "…drafts-weekly…"),
    _client("schedule resume drafts-weekly", "…drafts-weekly…"),
    _client("schedule trigger drafts-weekly", "…drafts-weekly…"),
    _client("schedule backfill drafts-weekly --from 2026-01-01 --to 2026-02-01", "…drafts-weekly…", 0),
    _client("schedule delete drafts-weekly", "…drafts-weekly…"),
    _client("completion bash", "…complete …", 0),
    _client("versions --json", "{…"),
    _client("status --json", '{…"server_ready": true…'),
    _client("serve", "open http://127.0.0.1:…"),
    _client("serve --open", "open http://127.0.0.1:…"),
    Step("key=$(cat .tenure/access.key)", ""),
    _client("logs", "…/logs/worker.log…"),
    _client("doctor", "…"),
    _client("backup /backups/monday", "…", 0, ("/backups", "backups")),
    _client("down", "…Temporal server stopped …"),
    Step("export TENURE_HOME=/srv/tenure", "", 0, ("/srv/tenure", "srv")),
    _client("restore /backups/monday", "…", 0, ("client.py restore /backups", "client.py restore backups")),
)

CHAPTERS: Final = (CORPORA, (*RUN, *MEMORY), STEERING)
"""Sequences of commands that do not depend on each other."""

STEPS: Final = (START, *CORPORA, *RUN, *MEMORY, *STEERING, *OTHERS)

ELSEWHERE: Final = {
    "contributing.md": "development and benchmarks: their own tests",
    "deployment.md": "Docker, Kubernetes, PostgreSQL, teams: tests/system/test_fleet.py, tests/temporal, tests/team",
    "models.md": "settings of model servers: tests/models",
    "repository-tutorial.md": "tests/test_tutorial.py",
    "runbook.md": "tests/system/test_runbook.py",
    "security.md": "keys, codec server, owners and packages: tests/temporal, tests/architecture",
}
"""Pages whose commands other tests run, or that need what a test does not have."""

NOT_RUN: Final = {
    r"--web\b": "needs the network",
    r"TENURE_(?:SEARCH|SEARXNG|OPENSEARCH|MCP_SERVERS|DOMAIN)": "settings of the web: tests/web, tests/sources",
    r"METRICS_PORT|OTEL|--extra otel|--profile monitoring": "collectors: tests/system/test_observability.py",
    r"--database\b|TENURE_DATABASES": "needs a PostgreSQL server: tests/sources",
    r"OPENAI|TENURE_MODEL|TENURE_RERANK": "needs a model server: tests/models, tests/cli",
    r"local-model": "needs llama.cpp and a model: tests/cli/commands/test_up.py, tests/temporal/stack",
    r"pip install|^uv tool|^tenure start|^eval|tenure completion": "needs an installation: .ci/package.py",
    r"mcp --http|serve --port|--follow": "ends with Ctrl-C: tests/mcp_server, tests/site, tests/cli",
    r"curl": "tests/site/test_api.py",
    r"\bID\b": "examples of the README with any run; the page of the command has them with a run",
    r"--mode code|--candidates": "needs a model that writes programs: tests/workflows/coding",
    r'"QUESTION"|~/studies|--docs peps|--docs handbook|~/project|How does hybrid search work|--timezone': (
        "the same options in other words: the steps, tests/cli/commands and benchmarks"
    ),
}
"""Patterns of commands that are not run, with the reasons."""
