"""The command line's grammar. Imports nothing slow: `--help` and mistakes are answered at once."""

import argparse
import math
import re
from pathlib import Path

from tenure.cli.argument_types import length_of_time as _duration
from tenure.cli.argument_types import moment as _moment

EPILOG = """\
exit codes: 0 done; 1 failed; 2 usage, or a kind of task that is not available; 3 no evidence found,
or a program with failing tests; 4 cannot reach what is needed; 130 interrupted (a run goes on)
"""

STATUSES = (
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
    "terminated",
)
"""How a run may stand, as `list` shows it; the last one is an end that only the server knows of."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; each command names its handler as `module:function`."""
    parser = argparse.ArgumentParser(
        prog="client.py",
        description="Tenure answers questions from documents and writes tested programs, in durable runs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_start(commands)
    _add_schedule(commands)
    _add_looking(commands)
    _add_going_on(commands)
    _add_steering(commands)
    _add_corpora(commands)
    _add_memory(commands)
    _add_stack(commands)
    return parser


Commands = argparse._SubParsersAction  # the type argparse gives no public name to


def _add(commands: "Commands[argparse.ArgumentParser]", name: str, handler: str, about: str) -> argparse.ArgumentParser:
    """Add a command with the option that all of them share."""
    command = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
    command.add_argument("--json", action="store_true", help="print one JSON document on standard output")
    command.set_defaults(handler=handler)
    return command


def _add_output(command: argparse.ArgumentParser) -> None:
    """Add where a report goes, and in which format."""
    command.add_argument("-o", "--output", type=_path, metavar="FILE", help="write the report into a file")
    command.add_argument(
        "--format",
        choices=["md", "html", "pdf", "json", "bibtex", "csl"],
        help="format of the report, or of its references alone (default: by the file's name, else md)",
    )
    command.add_argument(
        "--citations",
        choices=["numeric", "author-year"],
        default="numeric",
        help="how citation marks name their sources (default: numeric)",
    )


def _add_start(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add `start`."""
    start = _add(
        commands,
        "start",
        "tenure.cli.commands.start:start",
        "ask a question and get a cited report, or a tested program",
    )
    start.add_argument("question", nargs="?", type=_text, metavar="QUESTION")
    start.add_argument("--batch", type=_path, metavar="FILE", help="ask the questions of a file: .jsonl, .csv or lines")
    start.add_argument(
        "--parallel", type=_between(1, 50), metavar="N", help="with --batch: runs at the same time (default: 4)"
    )
    start.add_argument("--id", type=_text, metavar="ID", help="name of the run (default: made from the question)")
    start.add_argument("--detach", action="store_true", help="start the run and do not wait for it")
    _add_asking(start)
    _add_output(start)


def _add_asking(start: argparse.ArgumentParser) -> None:
    """Add how a question is answered."""
    start.add_argument("--mode", choices=["auto", "research", "code"], default="auto", help="path (default: auto)")
    start.add_argument(
        "--docs", action="append", default=[], metavar="PATH", help="read this file or folder; may be repeated"
    )
    start.add_argument(
        "--corpus", action="append", default=[], metavar="NAME", help="read a corpus made before; may be repeated"
    )
    _add_database(start)
    _add_web(start)
    _add_mcp(start)
    start.add_argument(
        "--tests", action="append", default=[], metavar="FILE", help="tests a program has to pass; may be repeated"
    )
    start.add_argument(
        "--files", nargs="+", action="extend", default=[], metavar="PATH", help="files a program reads or is to change"
    )
    start.add_argument("--candidates", type=_between(1, 8), metavar="N", help="programs written side by side")
    start.add_argument("--max-attempts", type=_between(1, 20), metavar="N", help="generations of a program")
    start.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="CONDITION",
        help="read only such passages, as in published>=2020 or suffix=.md,.rst; may be repeated",
    )
    _add_turn(start, "3")
    start.add_argument(
        "--effort",
        choices=["simple", "moderate", "complex"],
        help="how much work it is worth (default: by the question)",
    )
    start.add_argument(
        "--language", type=_language, metavar="NAME", help="language of the report (default: that of the question)"
    )
    start.add_argument("--max-cycles", type=_between(1, 100), metavar="N", help="cycles of research at the most")
    start.add_argument("--subagents", type=_between(1, 8), metavar="N", help="searches of one cycle at the most")
    start.add_argument(
        "--strategy",
        choices=["direct", "iterative", "multi_hop", "hierarchical", "contrastive", "memory", "react"],
        help="how every task searches (default: by its query)",
    )
    start.add_argument(
        "--memory",
        action=argparse.BooleanOptionalAction,
        help="learn from earlier runs, and leave to later ones what was learned (default: as TENURE_MEMORY says)",
    )
    start.add_argument(
        "--reasoning",
        choices=[*("chain", "tree", "analogical", "causal", "counterfactual", "self_consistency", "multi_hop", "none")],
        help="how it reasons from what it finds (default: by the question)",
    )
    start.add_argument("--max-sections", type=_between(1, 12), metavar="N", help="sections of the report at the most")
    start.add_argument("--max-revisions", type=_between(0, 10), metavar="N", help="generations of the report")
    start.add_argument("--max-reflexions", type=_between(0, 10), metavar="N", help="review rounds of one section")
    _add_model_budget(start)
    _add_other_budget(start)
    start.add_argument(
        "--approve-plan", action="store_true", default=None, help="wait until a person approves the outline"
    )
    start.add_argument("--interactive", action="store_true", default=None, help="wait for answers to what it asks")
    start.add_argument(
        "--wait",
        dest="answer_seconds",
        type=_duration,
        metavar="24h",
        help="how long it waits for a person before it goes on (default: a day)",
    )


def _add_schedule(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add `schedule`."""
    schedule = _add(
        commands,
        "schedule",
        "tenure.cli.commands.schedule:schedule",
        "ask a question again and again, or look after such questions",
    )
    schedule.add_argument(
        "what", type=_text, metavar="QUESTION", help="or list, pause, resume, trigger, backfill or delete"
    )
    schedule.add_argument("id", nargs="?", type=_text, metavar="ID", help="with an action: the standing question")
    schedule.add_argument(
        "--cron", type=_text, metavar='"0 8 * * 1"', help="when it is asked: minute hour day month weekday"
    )
    schedule.add_argument(
        "--timezone", metavar="NAME", help="time zone of --cron, such as Europe/Berlin (default: UTC)"
    )
    schedule.add_argument("--jitter", type=_duration, metavar="5m", help="how much later at the most, by chance")
    schedule.add_argument(
        "--overlap",
        choices=["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all"],
        help="what happens while the last run is still at work (default: skip)",
    )
    schedule.add_argument(
        "--catchup", type=_duration, metavar="1h", help="how long what was missed is made up for (default: 1h)"
    )
    schedule.add_argument("--paused", action="store_true", help="ask nothing before it is resumed")
    schedule.add_argument(
        "--name", type=_text, metavar="ID", help="what it is called (default: made from the question)"
    )
    schedule.add_argument(
        "--from", dest="begin", type=_moment, metavar="TIME", help="with backfill: such as 2026-01-31T08:00Z"
    )
    schedule.add_argument(
        "--to", dest="end", type=_moment, metavar="TIME", help="with backfill: up to when (default: now)"
    )
    _add_asking(schedule)


def _add_turn(command: argparse.ArgumentParser, default: str) -> None:
    """Add whose a run is, and when its steps get their turn."""
    command.add_argument("--owner", type=_text, metavar="NAME", help="whose it is; owners take turns where many wait")
    command.add_argument(
        "--priority",
        type=_between(1, 5),
        metavar="N",
        help=f"1 goes first where many wait, 5 last (default: {default})",
    )


def _add_database(command: argparse.ArgumentParser) -> None:
    """Add which databases are asked."""
    command.add_argument(
        "--database", action="append", default=[], metavar="NAME", help="ask this database; may be repeated"
    )


def _add_web(command: argparse.ArgumentParser) -> None:
    """Add what of the web is read."""
    command.add_argument(
        "--web",
        action=argparse.BooleanOptionalAction,
        help="read the web (default: no, or as TENURE_WEB says; never with --docs alone)",
    )
    command.add_argument(
        "--provider", action="append", default=[], metavar="NAME", help="with --web: ask this engine; may be repeated"
    )
    command.add_argument(
        "--domain",
        action="append",
        default=[],
        metavar="NAME",
        help="with --web: read only this domain, or with a leading minus never; may be repeated",
    )
    command.add_argument(
        "--since", choices=["day", "week", "month", "year"], help="with --web: how old a page may be (default: any age)"
    )
    command.add_argument("--pages", type=_between(1, 30), metavar="N", help="with --web: pages read for one search")


def _add_mcp(command: argparse.ArgumentParser) -> None:
    """Add whose tools may be called."""
    command.add_argument(
        "--mcp",
        action="append",
        default=[],
        metavar="NAME",
        help="tasks may call the tools of this server of TENURE_MCP_SERVERS; may be repeated",
    )


def _add_model_budget(command: argparse.ArgumentParser, when: str = "") -> None:
    """Add what the model may cost."""
    for flag, kind, metavar, about in (
        ("--max-tokens", _between(1, 10**12), "N", "tokens that may be used"),
        ("--max-cost", _money, "USD", "money that may be spent"),
        ("--max-calls", _between(1, 10**9), "N", "answers of the model at the most"),
    ):
        dest = "max_cost_usd" if flag == "--max-cost" else flag.removeprefix("--").replace("-", "_")
        command.add_argument(flag, dest=dest, type=kind, metavar=metavar, help=when + about)


def _add_other_budget(command: argparse.ArgumentParser) -> None:
    """Add how much may be searched, and how long it may take."""
    command.add_argument("--max-searches", type=_between(1, 10**9), metavar="N", help="searches at the most")
    command.add_argument(
        "--deadline", dest="max_seconds", type=_duration, metavar="30m", help="when to write up what there is: 90s, 2h"
    )


def _add_looking(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add what looks at runs."""
    watch = _add(commands, "watch", "tenure.cli.commands.runs:watch", "follow a run and print its report")
    state = _add(commands, "state", "tenure.cli.commands.runs:state", "show what a run knows and does")
    report = _add(commands, "report", "tenure.cli.commands.runs:report", "print the report of a finished run")
    trace = _add(commands, "trace", "tenure.cli.commands.trace:trace", "tell the story of a run from its history")
    for command in (watch, state, report, trace):
        command.add_argument("id", metavar="ID")
    _add_output(watch)
    _add_output(report)
    runs = _add(commands, "list", "tenure.cli.commands.runs:list_runs", "list the latest runs")
    runs.add_argument("--limit", type=_between(1, 1000), default=20, metavar="N", help="runs to show (default: 20)")
    runs.add_argument("--owner", type=_text, metavar="NAME", help="show only the runs of this owner")
    runs.add_argument(
        "--status", choices=STATUSES, metavar="STATUS", help=f"show only such runs: {', '.join(STATUSES)}"
    )


def _add_going_on(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add what goes on from what a run knows."""
    ask = _add(commands, "ask", "tenure.cli.commands.ask:ask", "ask a follow-up question about a run")
    ask.add_argument("id", metavar="ID")
    ask.add_argument("question", type=_text, metavar="QUESTION")
    ask.add_argument(
        "--search", action="store_true", help="search once more for what is missing, on the web where the run may"
    )
    ask.add_argument("--new", action="store_true", help="forget what was asked before")
    _add_model_budget(ask)
    fork = _add(
        commands, "fork", "tenure.cli.commands.fork:fork", "research on from an earlier cycle of a run, in a new run"
    )
    fork.add_argument("origin", metavar="ID")
    fork.add_argument("--cycle", type=_between(1, 100), required=True, metavar="N", help="the last cycle to take over")
    fork.add_argument("--feedback", type=_text, metavar="TEXT", help="what the new run is to take into account")
    fork.add_argument("--id", type=_text, metavar="ID", help="name of the new run (default: made from the old one)")
    fork.add_argument("--detach", action="store_true", help="start the run and do not wait for it")
    fork.add_argument("--max-cycles", type=_between(1, 100), metavar="N", help="cycles at the most, old ones included")
    _add_turn(fork, "as the old run")
    _add_model_budget(fork)
    _add_output(fork)
    diff = _add(commands, "diff", "tenure.cli.commands.diff:diff", "show what differs between the reports of two runs")
    diff.add_argument("a", metavar="A")
    diff.add_argument("b", metavar="B")
    diff.add_argument("-o", "--output", type=_path, metavar="FILE", help="write the difference into a file")


def _add_steering(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add what steers a running run."""
    steering = {
        name: _add(commands, name, "tenure.cli.commands.steer:steer", about)
        for name, about in (
            ("feedback", "tell a run something it is to take into account"),
            ("outline", "set the topics of a run's report"),
            ("budget", "change what a run may use"),
            ("approve", "approve the plan that a run has made"),
            ("answer", "answer the question that a run has asked"),
            ("pause", "hold a run before its next step"),
            ("resume", "let a paused run go on"),
            ("finish", "have a run write up what there is"),
            ("cancel", "stop a run"),
        )
    }
    for command in steering.values():
        command.add_argument("id", metavar="ID")
    for name in ("feedback", "answer"):
        steering[name].add_argument("text", metavar="TEXT")
    steering["feedback"].add_argument("--topic", help="heading of the section it concerns (default: the whole report)")
    steering["outline"].add_argument(
        "--set", type=_path, required=True, metavar="FILE", help="the new outline: a topic a line, or a JSON list"
    )
    _add_model_budget(steering["budget"])
    _add_other_budget(steering["budget"])
    steering["cancel"].add_argument("--discard", action="store_true", help="deliver nothing of what is written")


def _add_corpora(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add what looks after documents."""
    ingest = _add(commands, "ingest", "tenure.cli.commands.corpora:ingest", "read documents into a corpus")
    ingest.add_argument("paths", nargs="+", metavar="PATH")
    ingest.add_argument("--corpus", metavar="NAME", help="name of the corpus (default: made from the paths)")
    ingest.add_argument("--every", type=_duration, metavar="10m", help="read the paths again and again: 10m, 6h, 1d")
    sql = _add(commands, "sql", "tenure.cli.commands.sql:sql", "run SQL over tables in documents and databases")
    sql.add_argument("sql", type=_text, metavar="SELECT")
    sql.add_argument("--docs", action="append", default=[], metavar="PATH", help="tables of this file or folder")
    sql.add_argument("--corpus", action="append", default=[], metavar="NAME", help="tables of a corpus made before")
    _add_database(sql)
    corpus = _add(
        commands,
        "corpus",
        "tenure.cli.commands.corpora:corpus",
        "list, measure, relate, watch or drop corpora, or ask a graph",
    )
    corpus.add_argument("action", choices=["list", "stats", "drop", "relate", "graph", "watched", "unwatch"])
    corpus.add_argument("name", nargs="?", metavar="NAME")
    corpus.add_argument("entity", nargs="?", metavar="ENTITY", help="with `graph`: what is looked up")
    corpus.add_argument(
        "--most", type=_between(1, 200), metavar="N", help="with `graph`: relations shown (default: 20)"
    )
    _add_model_budget(corpus, "with `relate`: ")


def _add_memory(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add what looks after memories."""
    memory = _add(
        commands, "memory", "tenure.cli.commands.memory:memory", "list, search, forget or export what is remembered"
    )
    memory.add_argument("action", choices=["list", "search", "forget", "export"])
    memory.add_argument(
        "what", nargs="*", type=_text, metavar="WHAT", help="with `search`: a text; with `forget`: ids of memories"
    )
    memory.add_argument("--owner", default="", metavar="NAME", help="whose memories (default: those of nobody named)")
    memory.add_argument(
        "--kind",
        action="append",
        default=[],
        choices=["short_term", "long_term", "episodic", "semantic", "procedural"],
        help="only memories of this kind; may be repeated",
    )
    memory.add_argument("--limit", type=_between(1, 100), metavar="N", help="memories to show (default: 20)")
    memory.add_argument("--run", type=_text, metavar="ID", help="with `forget`: what this run has remembered")
    memory.add_argument("--source", type=_text, metavar="ID", help="with `forget`: what this source alone says")
    memory.add_argument("--all", action="store_true", help="with `forget`: all memories of the owner")
    memory.add_argument("-o", "--output", type=_path, metavar="FILE", help="with `export`: write into a file")


def _add_stack(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add what manages this machine."""
    _add(commands, "up", "tenure.cli.commands.up:up", "start the local stack, or what of it is missing")
    _add(commands, "down", "tenure.cli.commands.stack:down", "stop the local stack; runs go on when it is up again")
    _add(commands, "status", "tenure.cli.commands.stack:status", "show how the local stack stands")
    _add(commands, "doctor", "tenure.cli.commands.doctor:doctor", "check everything a run needs")


def _text(value: str) -> str:
    """Accept a text with something in it."""
    if not value.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return value


def _language(value: str) -> str:
    """Accept the name or the code of a language."""
    if not re.fullmatch(r"[^\W\d_]+(?:[ -][^\W_]+){0,3}", value.strip()) or len(value) > 40:
        raise argparse.ArgumentTypeError("must be the name or the code of a language, such as German or pt-BR")
    return value.strip()


def _path(value: str) -> Path:
    """Accept a path, with the shell's `~`."""
    return Path(value).expanduser()


def _money(value: str) -> float:
    """Accept a sum above nothing."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError("must be a sum in US dollars above 0, such as 0.50")
    return number


class _between:
    """Accepts whole numbers of a range."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def __call__(self, value: str) -> int:
        """Turn an argument into a number."""
        try:
            number = int(value)
        except ValueError:
            number = self._least - 1
        if not self._least <= number <= self._most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {self._least} to {self._most}")
        return number
