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
    parse_question,
    parse_text,
)
from tenure.cli.command_parser import CommandParser
from tenure.contracts.choices import CitationStyle, ListedStatus, MemoryKind, ReportFormat, ReportProofs, WritableKind
from tenure.contracts.run.limits import BudgetFields
from tenure.contracts.run.options import Option, list_options
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.installation import IS_PACKAGED, PROGRAM
from tenure.runs.options import (
    AskOptions,
    BackfillOptions,
    BatchOptions,
    EntityOptions,
    ForkOptions,
    RunOptions,
    ScheduleOptions,
    SearchOptions,
    SecretOptions,
    TableOptions,
)
from workflows.research.strategies import list_search_strategies

EPILOG = """\
exit codes: 0 done; 1 failed; 2 usage, or a kind of task that is not available; 3 no evidence found,
or a program with failing tests; 4 cannot reach what is needed; 130 interrupted (the run continues)
"""

EXAMPLES = f"""
Answer a question from documents, with a report in which every sentence names its source:
  {PROGRAM} start "What changed in the last release?" --docs ~/project/docs -o report.html

Write a program that passes tests:
  {PROGRAM} start "Repair median.py" --files median.py --tests test_median.py --id median

Resolve an issue in a Git repository, in a private copy, and commit it to a branch:
  {PROGRAM} start @issue.md --repo ~/project --branch fix/issue

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
    """Return the parser; each command names its function as `module:function`."""
    parser = CommandParser(
        prog="tenure" if IS_PACKAGED else "client.py",
        description="Tenure answers questions from documents and writes tested programs, in durable runs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.examples = EXAMPLES
    parser.add_argument("--version", action="version", version=f"tenure {tenure.__version__}")
    program = _Group(parser, starts=False)
    _add_runs(program)
    _add_steering(program)
    _add_batches(program)
    _add_schedules(program)
    _add_corpora(program)
    _add_memories(program)
    _add_archives(program)
    _add_stack(program)
    return parser


class _Group:
    """Commands of the program or of a noun; with `starts`, they start the local stack if it is needed."""

    def __init__(self, parser: CommandParser, *, starts: bool) -> None:
        self._commands = parser.add_subparsers(required=True, metavar="COMMAND")
        self._starts = starts

    def add_group(self, name: str, about: str, *, starts: bool = True) -> "_Group":
        """Add a noun with its own commands."""
        return _Group(self._add_parser(name, about), starts=starts)

    def add(
        self, name: str, function: str, about: str, *words: str, options: Sequence[type] = (), starts: bool = False
    ) -> CommandParser:
        """Add a command with the option that all commands share.

        Args:
            name: its name.
            function: its function as `module:function` below the package of commands.
            about: its effect.
            words: its arguments by their placeholders, in lower case the fields that they set.
            options: classes that declare its options.
            starts: whether it starts the local stack, which it does also if its group says so.
        """
        command = self._add_parser(name, about)
        for word in words:
            readers = {"FILE": parse_path, "DIR": parse_path, "QUESTION": parse_question}
            reader = readers.get(word, parse_text)
            argument = command.add_argument(
                {"ID": "run", "DIR": "folder"}.get(word, word.lower()), metavar=word, type=reader
            )
            _complete_names(argument)
        command.add_argument("--json", action="store_true", help="print one JSON document on standard output")
        for declaration in options:
            _add_options(command, declaration)
        command.set_defaults(
            handler=f"tenure.cli.commands.{function}",
            command=command.prog.split(" ", 1)[1],
            parser=command,
            starts=starts or self._starts,
            verbosity="normal",
        )
        return command

    def _add_parser(self, name: str, about: str) -> CommandParser:
        return self._commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")


def _complete_names(argument: argparse.Action) -> None:
    """Let a shell complete the ids of runs and the names of corpora."""
    kind = {"ID": "run", "A": "run", "B": "run", "CORPUS": "corpus"}.get(str(argument.metavar))
    if kind or "--corpus" in argument.option_strings:

        def complete(**known: Any) -> list[str]:
            from tenure.cli import run_choice

            return (run_choice.complete_run if kind == "run" else run_choice.complete_corpus)(**known)

        argument.completer = complete  # type: ignore[attr-defined]


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


def _add_delivery(command: argparse.ArgumentParser) -> None:
    """Add options for the destination and the format of a report."""
    command.add_argument("-o", "--output", type=parse_path, metavar="FILE", help="write the report into a file")
    command.add_argument(
        "--format",
        choices=get_args(ReportFormat),
        help="format of the report, or of its references alone (default: by the file's name, else md)",
    )
    command.add_argument(
        "--citations",
        choices=get_args(CitationStyle),
        default="numeric",
        help="how citation marks name their sources (default: numeric)",
    )
    command.add_argument(
        "--proofs",
        choices=get_args(ReportProofs),
        help="full: with all quotes and the record of how the report was made; short: with citations and references; "
        "none: with neither; only: the quotes and the record alone (default: full in a file, short on a terminal)",
    )


def _add_write_back(command: argparse.ArgumentParser) -> None:
    """Add options for the files of a program."""
    command.add_argument("--patch", type=parse_path, metavar="FILE", help="write them as a patch for `git apply`")
    command.add_argument("--branch", type=parse_text, metavar="NAME", help="commit them to a new branch of Git")
    command.add_argument("--to", type=parse_path, metavar="DIR", help="folder instead of that of the given files")
    command.add_argument("--failing", action="store_true", help="write a program even if its tests fail")


def _add_file(command: argparse.ArgumentParser, about: str) -> None:
    """Add an option for a file that the command writes."""
    command.add_argument("-o", "--output", dest="file", type=parse_path, metavar="FILE", help=about)


def _add_detach(command: argparse.ArgumentParser) -> None:
    """Add the options of a command that starts a run and follows it."""
    command.add_argument("--detach", action="store_true", help="start the run and do not wait for it")
    _add_verbosity(command)


def _add_options(command: argparse.ArgumentParser, declaration: type, *, without: Iterable[str] = ()) -> None:
    """Add the options that a class declares."""
    for name, annotation, option in list_options(declaration):
        if name not in without:
            details = _describe_value(name, annotation, option)
            if not hasattr(declaration, name):
                details["required"] = True
            about = _describe_option(annotation, option)
            _complete_names(command.add_argument(option.flag, dest=name, help=about, **details))


def _describe_option(annotation: Any, option: Option) -> str:
    """Return the help of an option: its own, or its description as a phrase."""
    if option.help:
        return option.help.format(providers=", ".join(list_extensions(SEARCH_PROVIDERS)))
    phrase = (option.description[0].lower() + option.description[1:].rstrip(".")).replace("`", "")
    return f"{phrase}; may be repeated" if get_origin(annotation) is Sequence else phrase


def _describe_value(name: str, annotation: Any, option: Option) -> dict[str, Any]:
    """Return how the value of an option is read, by the type of its field."""
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    kind = kinds[0] if type(None) in get_args(annotation) else annotation
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


def _add_runs(program: _Group) -> None:
    """Add the commands that start, inspect and continue runs."""
    about = "ask a question and get a cited report, a tested program, or a change of a repository"
    start = program.add("start", "start:start", about, "QUESTION", options=[RunOptions], starts=True)
    fork = program.add(
        "fork",
        "start:fork",
        "start a new run from an earlier cycle or answer of a run",
        "ID",
        options=[ForkOptions],
        starts=True,
    )
    watch = program.add("watch", "runs:watch", "follow a run or a batch and print its report", "ID")
    report = program.add("report", "runs:report", "print the report of a finished run", "ID")
    report.add_argument("--open", dest="opens", action="store_true", help="open the report as a page in the browser")
    about = "write the files of an accepted program to where they came from, into a patch, or onto a branch"
    apply = program.add("apply", "apply:apply", about, "ID")
    program.add("state", "runs:show_state", "show the state of a run", "ID")
    trace = program.add("trace", "trace:trace", "show the trace of a run", "ID")
    trace.add_argument("--html", action="store_true", help="print one HTML page with a timeline of all calls")
    _add_file(trace, "write the trace into a file, Markdown or .html")
    diff = program.add("diff", "trace:diff", "compare the reports of two runs", "A", "B")
    _add_file(diff, "write the difference into a file")
    runs = program.add("list", "runs:list_runs", "list the latest runs")
    runs.add_argument("--limit", type=IntegerRange(1, 1000), default=20, metavar="N", help="runs to show (default: 20)")
    runs.add_argument("--owner", type=parse_text, metavar="NAME", help="show only the runs of this owner")
    runs.add_argument(
        "--status", choices=STATUSES, metavar="STATUS", help=f"show only runs with this status: {', '.join(STATUSES)}"
    )
    runs.add_argument("--words", type=parse_text, metavar="TEXT", help="show only runs with these words or #tags")
    label = program.add("label", "runs:label", "give a run a title and tags, or show them", "ID")
    label.add_argument("--title", help="title in place of the question; an empty one removes it")
    tags = label.add_mutually_exclusive_group()
    tags.add_argument("--tag", dest="tags", action="append", metavar="NAME", help="tag; may be repeated")
    tags.add_argument("--no-tags", dest="tags", action="store_const", const=[], help="remove all tags")
    about = "ask a follow-up question about a run"
    ask = program.add("ask", "runs:ask", about, "ID", "QUESTION", options=[AskOptions], starts=True)
    for command in (start, fork):
        _add_detach(command)
    start.add_argument("--apply", action="store_true", help="write the accepted program to where --files came from")
    apply.set_defaults(apply=False)
    for command in (start, apply):
        _add_write_back(command)
    for command in (start, fork, watch, report):
        _add_delivery(command)
    for command in (watch, report, ask):
        _add_verbosity(command)


def _add_steering(program: _Group) -> None:
    """Add commands that steer a run."""
    about = "give a run feedback on its research or its report"
    feedback = program.add("feedback", "steer:send_text", about, "ID", "TEXT")
    feedback.add_argument("--topic", help="heading of the section it concerns (default: the whole report)")
    program.add("answer", "steer:send_text", "answer a run's question", "ID", "TEXT").set_defaults(topic=None)
    outline = program.add("outline", "steer:set_outline", "set the topics of a run's report", "ID")
    outline.add_argument(
        "--set",
        dest="file",
        type=parse_path,
        required=True,
        metavar="FILE",
        help="file with the new outline: one topic per line, or a JSON list",
    )
    program.add("budget", "steer:set_budget", "change what a run may use", "ID", options=[BudgetFields])
    program.add("approve", "steer:send", "approve the plan of a run", "ID")
    program.add("pause", "steer:send", "pause a run before its next step", "ID")
    program.add("resume", "steer:send", "resume a paused run", "ID")
    program.add("finish", "steer:send", "finish a run with what it has", "ID")
    cancel = program.add("cancel", "steer:cancel", "stop a run", "ID")
    cancel.add_argument("--discard", action="store_true", help="deliver no report")


def _add_batches(program: _Group) -> None:
    batch = program.add_group("batch", "ask many questions")
    about = "ask the questions of a file: .jsonl, .csv or lines"
    _add_detach(batch.add("start", "batches:start", about, "FILE", options=[BatchOptions]))


def _add_schedules(program: _Group) -> None:
    """Add the commands of scheduled questions."""
    schedule = program.add_group("schedule", "ask questions on a schedule, and manage scheduled questions")
    add = schedule.add("add", "schedules:add", "ask a question on a schedule", "QUESTION", options=[ScheduleOptions])
    _add_options(add, RunOptions, without=("id",))
    schedule.add("list", "schedules:show", "list the scheduled questions")
    for name, about in (
        ("pause", "pause a scheduled question"),
        ("resume", "resume a paused scheduled question"),
        ("trigger", "ask a scheduled question now"),
        ("delete", "delete a scheduled question; its runs remain"),
    ):
        schedule.add(name, "schedules:change", about, "NAME").set_defaults(action=name)
    about = "ask a scheduled question for missed times"
    backfill = schedule.add("backfill", "schedules:backfill", about, "NAME", options=[BackfillOptions])
    backfill.add_argument(
        "--from",
        dest="begin",
        type=parse_datetime,
        required=True,
        metavar="TIME",
        help="first moment, such as 2026-01-31T08:00Z",
    )
    backfill.add_argument("--to", dest="end", type=parse_datetime, metavar="TIME", help="last moment (default: now)")


def _add_corpora(program: _Group) -> None:
    """Add the commands of documents and tables."""
    corpus = program.add_group("corpus", "fill, list, measure, search, watch or drop corpora")
    add = corpus.add("add", "corpora:add", "read documents into a corpus", options=[SecretOptions])
    add.add_argument("paths", nargs="+", metavar="PATH")
    add.add_argument("--corpus", metavar="NAME", help="name of the corpus (default: made from the paths)")
    add.add_argument(
        "--every", type=parse_duration, metavar="10m", help="re-read the paths at this interval: 10m, 6h, 1d"
    )
    corpus.add("list", "corpora:show", "list the corpora")
    stats = corpus.add("stats", "corpora:measure", "show the figures of a corpus, or of everything")
    _complete_names(stats.add_argument("corpus", nargs="?", type=parse_text, metavar="CORPUS"))
    about = "search corpora and print the best passages"
    corpus.add("search", "corpora:search", about, "WORDS", options=[SearchOptions])
    corpus.add("drop", "corpora:drop", "drop a corpus", "CORPUS")
    about = "show the relations of an entity in a corpus"
    corpus.add("graph", "corpora:show_graph", about, "CORPUS", "ENTITY", options=[EntityOptions])
    corpus.add("watched", "corpora:show_watched", "list the corpora that are re-read")
    corpus.add("unwatch", "corpora:unwatch", "stop re-reading a corpus", "CORPUS")
    table = program.add_group("table", "query tables")
    about = "run SQL over tables in documents and databases"
    table.add("query", "tables:query", about, "SQL", options=[TableOptions])


def _add_memories(program: _Group) -> None:
    memory = program.add_group("memory", "write, edit, list, search, forget or export memories")
    add = memory.add("add", "memory:add", "store a memory", "TEXT")
    add.add_argument("--kind", choices=get_args(WritableKind), help="kind of the memory (default: by its text)")
    add.add_argument("--subject", type=parse_text, metavar="NAME", help="subject of the fact")
    add.add_argument("--relation", type=parse_text, metavar="WORDS", help="relation of subject and object")
    add.add_argument("--object", type=parse_text, metavar="NAME", help="object of the fact")
    edit = memory.add("edit", "memory:add", "replace the text of a memory")
    edit.add_argument("replaces", type=parse_text, metavar="MEMORY", help="id of the memory")
    edit.add_argument("text", type=parse_text, metavar="TEXT", help="its new text")
    listed = memory.add("list", "memory:show", "list the latest memories")
    search = memory.add("search", "memory:search", "search memories", "WORDS")
    forget = memory.add("forget", "memory:forget", "forget memories")
    forget.add_argument("ids", nargs="*", type=parse_text, metavar="MEMORY", help="ids of memories")
    forget.add_argument("--run", type=parse_text, metavar="ID", help="memories of this run")
    forget.add_argument("--source", type=parse_text, metavar="ID", help="memories that only this source supports")
    forget.add_argument("--all", dest="all_memories", action="store_true", help="all memories of the owner")
    export = memory.add("export", "memory:export", "print all memories, one JSON document a line")
    _add_file(export, "write them into a file")
    for command in (listed, search):
        command.add_argument(
            "--limit", type=IntegerRange(1, 100), default=20, metavar="N", help="memories to show (default: 20)"
        )
    for command in (add, edit, listed, search, forget, export):
        command.add_argument(
            "--owner", default="", metavar="NAME", help="owner of the memories (default: runs without an owner)"
        )
        if command not in (add, edit):
            command.add_argument(
                "--kind",
                dest="kinds",
                action="append",
                choices=get_args(MemoryKind),
                help="only memories of this kind; may be repeated",
            )


def _add_archives(program: _Group) -> None:
    """Add the commands of finished runs and of the files that their programs created."""
    archive = program.add_group("archive", "export, import or delete finished runs", starts=False)
    export = archive.add("export", "archives:export", "write the archive of a finished run into a file", "ID")
    export.add_argument("file", nargs="?", type=parse_path, metavar="FILE", help="file to write (default: ID.tenure)")
    archive.add("import", "archives:import_file", "add the runs of an archive file to this home", "FILE")
    archive.add("delete", "archives:delete", "delete a finished run from the archive and the server", "ID")
    files = program.add_group("files", "list or save the files that the programs of a run created", starts=False)
    files.add("list", "archives:show_files", "list the files of a run", "ID")
    files.add("save", "archives:save", "save the files of a run into a folder", "ID", "DIR")


def _add_stack(program: _Group) -> None:
    """Add commands for the local stack."""
    up = program.add("up", "up:start_stack", "start the local stack, or its missing parts")
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
    program.add("down", "stack:stop_stack", "stop the local stack; runs continue when it is started again")
    about = "show the versions of the code that workers run, and how many runs each has"
    versions = program.add("versions", "up:show_versions", about)
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
    about = "print the link of the page that asks, follows, steers and reads runs, or serve it if the stack does not"
    serve = program.add("serve", "serve:serve", about, starts=True)
    _add_port(serve, "serve a further page on this port of 127.0.0.1")
    serve.add_argument("--open", dest="opens", action="store_true", help="open the page in the browser")
    serve.add_argument(
        "--team", action="store_true", help="serve page, API and MCP to people who sign in (settings of a team)"
    )
    about = "offer runs to other programs over the Model Context Protocol, on standard input and output or over HTTP"
    mcp = program.add("mcp", "mcp:serve_mcp", about)
    mcp.add_argument("--http", action="store_true", help="serve over HTTP on this machine")
    _add_port(mcp, "port of --http on 127.0.0.1 (default: TENURE_MCP_PORT)")
    program.add("status", "stack:show_status", "show the state of the local stack")
    logs = program.add("logs", "logs:show_logs", "print the end of a log of the local stack")
    logs.add_argument("part", nargs="?", choices=["worker", "page", "temporal", "model"], default="worker")
    logs.add_argument(
        "-n", "--lines", type=IntegerRange(1, 10_000), default=40, metavar="N", help="lines (default: 40)"
    )
    logs.add_argument("-f", "--follow", action="store_true", help="print what is added, until Ctrl-C")
    program.add("doctor", "doctor:doctor", "check everything a run needs")
    about = "print the script by which a shell completes command lines of tenure"
    completion = program.add("completion", "completion:print_completion", about)
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    about = "copy the home into a new or empty folder, also while it is in use"
    program.add("backup", "backup:back_up", about, "DIR")
    about = "restore a copy that `backup` has written into TENURE_HOME, which must be empty"
    program.add("restore", "backup:restore", about, "DIR")


def _add_port(command: argparse.ArgumentParser, about: str) -> None:
    """Add an option for the port of a server."""
    command.add_argument("--port", type=IntegerRange(1, 65_535), metavar="N", help=about)
