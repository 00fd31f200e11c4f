"""Define the command line's grammar; imports nothing slow, so that `--help` and usage errors are fast."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

import tenure
from tenure.cli.argument_types import (
    IntegerRange,
    parse_datetime,
    parse_duration,
    parse_language,
    parse_money,
    parse_path,
    parse_text,
)
from tenure.cli.command_parser import CommandParser
from tenure.contracts.choices import ListedStatus
from tenure.contracts.run.limits import BudgetFields
from tenure.contracts.run.options import Option, list_options
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.installation import IS_PACKAGED, PROGRAM
from tenure.runs.options import AskOptions, ForkOptions, RunOptions, SearchOptions, SecretOptions, TableOptions
from workflows.research.strategies import list_search_strategies

EPILOG = """\
exit codes: 0 done; 1 failed; 2 usage, or a kind of task that is not available; 3 no evidence found,
or a program with failing tests; 4 cannot reach what is needed; 130 interrupted (the run continues)
"""

EXAMPLES = f"""
Answer a question from documents, with a report in which every sentence names its source:
  {PROGRAM} start "What changed in the last release?" --docs ~/project/docs -o report.html

Write a program that passes tests:
  {PROGRAM} start "Repair median.py" --files median.py --tests test_median.py

Follow the latest runs, and steer one:
  {PROGRAM} list
  {PROGRAM} feedback ID "Say more about costs"

All commands: {PROGRAM} --help
"""
"""Text for a command line without a command."""

MAX_COUNT = 10**12
"""Largest value of a count without a maximum of its own."""

STATUSES = get_args(ListedStatus)
"""Statuses of a run in `list`."""


def build_parser() -> CommandParser:
    """Return the parser; each command names its handler as `module:function`."""
    parser = CommandParser(
        prog="tenure" if IS_PACKAGED else "client.py",
        description="Tenure answers questions from documents and writes tested programs, in durable runs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.examples = EXAMPLES
    parser.add_argument("--version", action="version", version=f"tenure {tenure.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_start(commands)
    _add_schedule(commands)
    _add_looking(commands)
    _add_archive(commands)
    _add_going_on(commands)
    _add_steering(commands)
    _add_corpora(commands)
    _add_memory(commands)
    _add_stack(commands)
    return parser


Commands = argparse._SubParsersAction  # the type argparse gives no public name to


def _add(commands: "Commands[CommandParser]", name: str, handler: str, about: str) -> argparse.ArgumentParser:
    """Add a command with the options that all commands share."""
    command = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
    command.add_argument("--json", action="store_true", help="print one JSON document on standard output")
    command.set_defaults(handler=handler, verbosity="normal")
    return command


def _add_verbosity(command: argparse.ArgumentParser) -> None:
    """Add options for the amount of progress on standard error."""
    amount = command.add_mutually_exclusive_group()
    for verbosity, about in (
        ("quiet", "show no progress: only the result, errors, and what the run asks"),
        ("verbose", "show every change of the progress in a line of its own"),
    ):
        amount.add_argument(
            f"-{verbosity[0]}", f"--{verbosity}", dest="verbosity", action="store_const", const=verbosity, help=about
        )


def _add_output(command: argparse.ArgumentParser) -> None:
    """Add options for the destination and the format of a report."""
    command.add_argument("-o", "--output", type=parse_path, metavar="FILE", help="write the report into a file")
    command.add_argument(
        "--format",
        choices=["md", "html", "pdf", "docx", "json", "bibtex", "csl"],
        help="format of the report, or of its references alone (default: by the file's name, else md)",
    )
    command.add_argument(
        "--citations",
        choices=["numeric", "author-year"],
        default="numeric",
        help="how citation marks name their sources (default: numeric)",
    )


def _add_start(commands: "Commands[CommandParser]") -> None:
    """Add `start`."""
    start = _add(
        commands,
        "start",
        "tenure.cli.commands.start:start",
        "ask a question and get a cited report, or a tested program",
    )
    start.add_argument("question", nargs="?", type=parse_text, metavar="QUESTION")
    start.add_argument(
        "--batch", type=parse_path, metavar="FILE", help="ask the questions of a file: .jsonl, .csv or lines"
    )
    start.add_argument(
        "--parallel", type=IntegerRange(1, 50), metavar="N", help="with --batch: concurrent runs (default: 4)"
    )
    start.add_argument("--detach", action="store_true", help="start the run and do not wait for it")
    _add_verbosity(start)
    _add_options(start, RunOptions)
    _add_output(start)


def _add_options(
    command: argparse.ArgumentParser, declaration: type, *, without: Iterable[str] = (), prefix: str = ""
) -> None:
    """Add the options that a class declares; `prefix` precedes their help."""
    for name, annotation, option in list_options(declaration):
        if name not in without:
            details = _describe_value(name, annotation, option)
            if not hasattr(declaration, name):
                details["required"] = True
            command.add_argument(option.flag, dest=name, help=prefix + _describe_option(annotation, option), **details)


def _describe_option(annotation: Any, option: Option) -> str:
    """Return the help of an option: its own, or its description as a phrase."""
    if option.help:
        return option.help.format(providers=", ".join(list_extensions(SEARCH_PROVIDERS)))
    phrase = (option.description[0].lower() + option.description[1:].rstrip(".")).replace("`", "")
    return f"{phrase}; may be repeated" if get_origin(annotation) is Sequence else phrase


def _describe_value(name: str, annotation: Any, option: Option) -> dict[str, Any]:
    """Return how the value of an option is read, by the type of its field."""
    given = [kind for kind in get_args(annotation) if kind is not type(None)]
    kind = given[0] if type(None) in get_args(annotation) else annotation
    kind = getattr(kind, "__origin__", kind) if get_origin(kind) is Annotated else kind
    if name == "strategy":
        return {"choices": list_search_strategies()}
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if get_origin(kind) is Sequence:
        many = {"nargs": "+", "action": "extend"} if option.kind == "paths" else {"action": "append"}
        return {**many, "metavar": option.metavar}
    if kind is bool:
        either = argparse.BooleanOptionalAction if type(None) in get_args(annotation) else "store_true"
        return {"action": either, "default": None}
    return {"type": _value_parser(kind, option), "metavar": option.metavar or ("N" if kind is int else None)}


def _value_parser(kind: type, option: Option) -> Callable[[str], object]:
    """Return the function that reads a value."""
    if kind is int:
        return IntegerRange(int(option.minimum or 0), int(option.maximum or MAX_COUNT))
    return {"amount": parse_money, "duration": parse_duration, "language": parse_language}.get(option.kind, parse_text)


def _add_schedule(commands: "Commands[CommandParser]") -> None:
    """Add `schedule`."""
    schedule = _add(
        commands,
        "schedule",
        "tenure.cli.commands.schedule:schedule",
        "ask a question on a schedule, or manage scheduled questions",
    )
    schedule.add_argument(
        "what", type=parse_text, metavar="QUESTION", help="or list, pause, resume, trigger, backfill or delete"
    )
    schedule.add_argument("id", nargs="?", type=parse_text, metavar="ID", help="with an action: the scheduled question")
    schedule.add_argument(
        "--cron", type=parse_text, metavar='"0 8 * * 1"', help="cron expression: minute hour day month weekday"
    )
    schedule.add_argument(
        "--timezone", metavar="NAME", help="time zone of --cron, such as Europe/Berlin (default: UTC)"
    )
    schedule.add_argument("--jitter", type=parse_duration, metavar="5m", help="maximum random delay")
    schedule.add_argument(
        "--overlap",
        choices=["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all"],
        help="what to do if the last run is still running (default: skip)",
    )
    schedule.add_argument(
        "--catchup", type=parse_duration, metavar="1h", help="catch-up window for missed times (default: 1h)"
    )
    schedule.add_argument("--paused", action="store_true", help="create the schedule paused")
    schedule.add_argument(
        "--name", type=parse_text, metavar="ID", help="name of the schedule (default: made from the question)"
    )
    schedule.add_argument(
        "--from", dest="begin", type=parse_datetime, metavar="TIME", help="with backfill: such as 2026-01-31T08:00Z"
    )
    schedule.add_argument(
        "--to", dest="end", type=parse_datetime, metavar="TIME", help="with backfill: up to when (default: now)"
    )
    _add_options(schedule, RunOptions, without=("id",))


def _add_looking(commands: "Commands[CommandParser]") -> None:
    """Add commands that inspect runs."""
    watch = _add(commands, "watch", "tenure.cli.commands.runs:watch", "follow a run and print its report")
    state = _add(commands, "state", "tenure.cli.commands.runs:state", "show the state of a run")
    report = _add(commands, "report", "tenure.cli.commands.runs:report", "print the report of a finished run")
    trace = _add(commands, "trace", "tenure.cli.commands.trace:trace", "show the trace of a run, from its history")
    files = _add(
        commands,
        "files",
        "tenure.cli.commands.files:list_files",
        "list or save the files that the programs of a run created",
    )
    for command in (watch, state, report, trace, files):
        command.add_argument("id", metavar="ID")
    files.add_argument("-o", "--output", type=parse_path, metavar="DIR", help="save the files into this folder")
    trace.add_argument("--html", action="store_true", help="print one HTML page with a timeline of all calls")
    trace.add_argument(
        "-o", "--output", type=parse_path, metavar="FILE", help="write the trace into a file, Markdown or .html"
    )
    _add_output(watch)
    _add_verbosity(watch)
    _add_output(report)
    report.add_argument("--open", action="store_true", help="open the report as a page in the browser")
    runs = _add(commands, "list", "tenure.cli.commands.runs:list_runs", "list the latest runs")
    runs.add_argument("--limit", type=IntegerRange(1, 1000), default=20, metavar="N", help="runs to show (default: 20)")
    runs.add_argument("--owner", type=parse_text, metavar="NAME", help="show only the runs of this owner")
    runs.add_argument(
        "--status", choices=STATUSES, metavar="STATUS", help=f"show only runs with this status: {', '.join(STATUSES)}"
    )


def _add_archive(commands: "Commands[CommandParser]") -> None:
    """Add commands for the archive of finished runs."""
    module = "tenure.cli.commands.archives"
    export = _add(commands, "export", f"{module}:export_run", "write the archive of a finished run into a file")
    export.add_argument("id", metavar="ID")
    export.add_argument("file", nargs="?", type=parse_path, metavar="FILE", help="file to write (default: ID.tenure)")
    imported = _add(commands, "import", f"{module}:import_file", "add the runs of an archive file to this home")
    imported.add_argument("file", type=parse_path, metavar="FILE")
    delete = _add(commands, "delete", f"{module}:delete_run", "delete a finished run from the archive and the server")
    delete.add_argument("id", metavar="ID")


def _add_going_on(commands: "Commands[CommandParser]") -> None:
    """Add commands that continue from a run."""
    ask = _add(commands, "ask", "tenure.cli.commands.ask:ask", "ask a follow-up question about a run")
    ask.add_argument("id", metavar="ID")
    ask.add_argument("question", type=parse_text, metavar="QUESTION")
    _add_verbosity(ask)
    _add_options(ask, AskOptions)
    fork = _add(commands, "fork", "tenure.cli.commands.fork:fork", "start a new run from an earlier cycle of a run")
    fork.add_argument("origin", metavar="ID")
    fork.add_argument("--detach", action="store_true", help="start the run and do not wait for it")
    _add_verbosity(fork)
    _add_options(fork, ForkOptions)
    _add_output(fork)
    diff = _add(commands, "diff", "tenure.cli.commands.diff:diff", "compare the reports of two runs")
    diff.add_argument("a", metavar="A")
    diff.add_argument("b", metavar="B")
    diff.add_argument("-o", "--output", type=parse_path, metavar="FILE", help="write the difference into a file")


def _add_steering(commands: "Commands[CommandParser]") -> None:
    """Add commands that steer a run."""
    steering = {
        name: _add(commands, name, "tenure.cli.commands.steer:steer", about)
        for name, about in (
            ("feedback", "give a run feedback on its research or its report"),
            ("outline", "set the topics of a run's report"),
            ("budget", "change what a run may use"),
            ("approve", "approve the plan of a run"),
            ("answer", "answer a run's question"),
            ("pause", "pause a run before its next step"),
            ("resume", "resume a paused run"),
            ("finish", "finish a run with what it has"),
            ("cancel", "stop a run"),
        )
    }
    for command in steering.values():
        command.add_argument("id", metavar="ID")
    for name in ("feedback", "answer"):
        steering[name].add_argument("text", metavar="TEXT")
    steering["feedback"].add_argument("--topic", help="heading of the section it concerns (default: the whole report)")
    steering["outline"].add_argument(
        "--set",
        type=parse_path,
        required=True,
        metavar="FILE",
        help="file with the new outline: one topic per line, or a JSON list",
    )
    _add_options(steering["budget"], BudgetFields)
    steering["cancel"].add_argument("--discard", action="store_true", help="deliver no report")


def _add_corpora(commands: "Commands[CommandParser]") -> None:
    """Add commands for documents."""
    ingest = _add(commands, "ingest", "tenure.cli.commands.corpora:ingest", "read documents into a corpus")
    ingest.add_argument("paths", nargs="+", metavar="PATH")
    ingest.add_argument("--corpus", metavar="NAME", help="name of the corpus (default: made from the paths)")
    ingest.add_argument(
        "--every", type=parse_duration, metavar="10m", help="re-read the paths at this interval: 10m, 6h, 1d"
    )
    _add_options(ingest, SecretOptions)
    _add_verbosity(ingest)
    sql = _add(commands, "sql", "tenure.cli.commands.sql:run_sql", "run SQL over tables in documents and databases")
    sql.add_argument("sql", type=parse_text, metavar="SELECT")
    _add_options(sql, TableOptions)
    search = _add(
        commands, "search", "tenure.cli.commands.corpora:search", "search corpora and print the best passages"
    )
    search.add_argument("words", type=parse_text, metavar="WORDS")
    _add_options(search, SearchOptions)
    corpus = _add(
        commands,
        "corpus",
        "tenure.cli.commands.corpora:corpus",
        "list, measure, watch or drop corpora, or query the graph",
    )
    corpus.add_argument("action", choices=["list", "stats", "drop", "graph", "watched", "unwatch"])
    corpus.add_argument("name", nargs="?", metavar="NAME")
    corpus.add_argument("entity", nargs="?", metavar="ENTITY", help="with `graph`: entity to look up")
    corpus.add_argument(
        "--most", type=IntegerRange(1, 200), metavar="N", help="with `graph`: relations shown (default: 20)"
    )


def _add_memory(commands: "Commands[CommandParser]") -> None:
    """Add commands for memories."""
    memory = _add(
        commands,
        "memory",
        "tenure.cli.commands.memory:memory",
        "write, edit, list, search, forget or export memories",
    )
    memory.add_argument("action", choices=["add", "edit", "list", "search", "forget", "export"])
    memory.add_argument(
        "what",
        nargs="*",
        type=parse_text,
        metavar="WHAT",
        help="with `add` and `search`: a text; with `edit`: an id and the new text; with `forget`: ids of memories",
    )
    memory.add_argument(
        "--owner", default="", metavar="NAME", help="owner of the memories (default: runs without an owner)"
    )
    memory.add_argument(
        "--kind",
        dest="kinds",
        action="append",
        default=[],
        choices=["short_term", "long_term", "episodic", "semantic", "procedural", "preference"],
        help="only memories of this kind; may be repeated; with `add`: kind of the memory (default: by its text)",
    )
    memory.add_argument("--subject", type=parse_text, metavar="NAME", help="with `add`: subject of the fact")
    memory.add_argument(
        "--relation", type=parse_text, metavar="WORDS", help="with `add`: relation of subject and object"
    )
    memory.add_argument("--object", type=parse_text, metavar="NAME", help="with `add`: object of the fact")
    memory.add_argument("--limit", type=IntegerRange(1, 100), metavar="N", help="memories to show (default: 20)")
    memory.add_argument("--run", type=parse_text, metavar="ID", help="with `forget`: memories of this run")
    memory.add_argument(
        "--source", type=parse_text, metavar="ID", help="with `forget`: memories that only this source supports"
    )
    memory.add_argument(
        "--all", dest="all_memories", action="store_true", help="with `forget`: all memories of the owner"
    )
    memory.add_argument("-o", "--output", type=parse_path, metavar="FILE", help="with `export`: write into a file")


def _add_stack(commands: "Commands[CommandParser]") -> None:
    """Add commands for the local stack."""
    up = _add(commands, "up", "tenure.cli.commands.up:start_stack", "start the local stack, or its missing parts")
    model = up.add_mutually_exclusive_group()
    model.add_argument(
        "--local-model",
        type=parse_text,
        metavar="FILE-OR-URL",
        help="from now on, serve this model with llama.cpp and use it: a GGUF file, or a URL that is downloaded once "
        "and may end in #sha256=DIGEST",
    )
    model.add_argument("--no-local-model", action="store_true", help="serve no model from now on")
    up.add_argument("--yes", action="store_true", help="download without asking")
    _add(
        commands,
        "down",
        "tenure.cli.commands.stack:stop_stack",
        "stop the local stack; runs continue when it is started again",
    )
    versions = _add(
        commands,
        "versions",
        "tenure.cli.commands.up:show_versions",
        "show the versions of the code that workers run, and how many runs each has",
    )
    versions.add_argument(
        "--make-current",
        action="store_true",
        help="let new runs use the version of this installation, once its workers poll",
    )
    versions.add_argument(
        "--move",
        dest="run",
        type=parse_text,
        metavar="ID",
        help="let a run continue under the version of this installation, if its code can replay the run",
    )
    serve = _add(
        commands,
        "serve",
        "tenure.cli.serve:serve",
        "print the link of the page that asks, follows, steers and reads runs, or serve it if the stack does not",
    )
    serve.add_argument(
        "--port", type=IntegerRange(1, 65_535), metavar="N", help="serve a further page on this port of 127.0.0.1"
    )
    serve.add_argument("--open", action="store_true", help="open the page in the browser")
    mcp = _add(
        commands,
        "mcp",
        "tenure.cli.mcp:serve_mcp",
        "offer runs to other programs over the Model Context Protocol, on standard input and output or over HTTP",
    )
    mcp.add_argument("--http", action="store_true", help="serve over HTTP on this machine")
    mcp.add_argument(
        "--port",
        type=IntegerRange(1, 65_535),
        metavar="N",
        help="port of --http on 127.0.0.1 (default: TENURE_MCP_PORT)",
    )
    _add(commands, "status", "tenure.cli.commands.stack:show_status", "show the state of the local stack")
    _add(commands, "doctor", "tenure.cli.commands.doctor:doctor", "check everything a run needs")
    completion = _add(
        commands,
        "completion",
        "tenure.cli.completion:print_completion",
        "print the script by which a shell completes command lines of tenure",
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    backup = _add(
        commands, "backup", "tenure.cli.commands.backup:back_up", "copy the home into a folder, also while it is in use"
    )
    backup.add_argument("folder", type=parse_path, metavar="DIR", help="new or empty folder")
    restore = _add(
        commands,
        "restore",
        "tenure.cli.commands.backup:restore",
        "restore a copy into TENURE_HOME, which must be empty",
    )
    restore.add_argument("folder", type=parse_path, metavar="DIR", help="folder that `backup` has written")
