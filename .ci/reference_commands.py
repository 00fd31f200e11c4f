"""The part of `docs/cli.md` that lists the commands: words, options and ranges are those of `--help`.

Only the examples are written here; the tests of the manual run them, or state why they are not run.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tenure.cli.argument_types import IntegerRange
from tenure.cli.parser import MAX_COUNT, build_parser

EXAMPLES: Final[Mapping[str, Sequence[str]]] = {
    "start": (
        'start "How does hybrid search work?"',
        'start "What changed in version 3?" --docs ~/project/docs --docs ~/project/notes.txt',
        'start "Compare both drafts" --corpus drafts --max-sections 3 -o report.md',
        'start "What is the retention period?" --docs policies --id retention --detach --json',
        'start "What is new in PostgreSQL?" --web --domain postgresql.org --since year',
        'start "Repair median.py" --files median.py --tests test_median.py --id median',
    ),
    "fork": (
        'fork retention --cycle 2 --feedback "Leave the drafts out"',
        "fork retention --cycle 1 --id retention-2 --max-cycles 6 --detach",
    ),
    "watch": ("watch retention", "watch retention --format json -o retention.json"),
    "report": (
        "report retention",
        "report retention -o retention.pdf --citations author-year",
        "report retention --format csl -o references.json",
        "report retention --open",
    ),
    "apply": ("apply median --patch fix.patch", "apply median"),
    "state": ("state retention", "state retention --json"),
    "trace": ("trace retention", "trace retention --json", "trace retention -o retention.html"),
    "diff": (
        "diff retention retention-2",
        "diff retention retention-2 --json",
        "diff retention retention-2 -o difference.md",
    ),
    "list": ("list --limit 50",),
    "label": ('label retention --title "How long data is kept" --tag archive',),
    "ask": (
        'ask retention "Which of these periods may be extended?"',
        'ask retention "What is new since then?" --search-again --new --json',
    ),
    "feedback": (
        'feedback retention "Say which law applies"',
        'feedback retention "Add the exceptions" --topic "Retention period"',
    ),
    "answer": ('answer retention "The law of 2024"',),
    "outline": ("outline retention --set outline.txt",),
    "budget": ("budget retention --max-tokens 400000 --max-cost 1 --max-calls 200 --max-searches 90 --deadline 2h",),
    "approve": ("approve retention",),
    "pause": ("pause retention",),
    "resume": ("resume retention",),
    "finish": ("finish retention",),
    "cancel": ("cancel retention",),
    "batch start": ("batch start questions.csv --corpus drafts --parallel 2",),
    "schedule add": (
        'schedule add "What is new in our drafts?" --cron "0 8 * * 1" --docs ~/drafts --name drafts-weekly',
    ),
    "schedule list": ("schedule list",),
    "schedule pause": ("schedule pause drafts-weekly",),
    "schedule resume": ("schedule resume drafts-weekly",),
    "schedule trigger": ("schedule trigger drafts-weekly",),
    "schedule delete": ("schedule delete drafts-weekly",),
    "schedule backfill": ("schedule backfill drafts-weekly --from 2026-01-01 --to 2026-02-01",),
    "corpus add": (
        "corpus add ~/papers ~/notes.md --corpus drafts",
        "corpus add ~/inbox --corpus inbox --every 10m",
    ),
    "corpus list": ("corpus list",),
    "corpus stats": ("corpus stats drafts",),
    "corpus search": ('corpus search "hybrid search" --corpus drafts --filter "published>=2020" --limit 3',),
    "corpus drop": ("corpus drop drafts",),
    "corpus graph": ('corpus graph drafts "hybrid search" --limit 10',),
    "corpus watched": ("corpus watched",),
    "corpus unwatch": ("corpus unwatch inbox",),
    "table query": (
        'table query "SELECT region, sum(revenue) AS revenue FROM sales GROUP BY region" --docs sales.csv',
        'table query "SELECT count(*) FROM shop.orders" --database shop --json',
    ),
    "memory add": (
        'memory add "We use metric units" --kind preference',
        'memory add "The Zenne flows through Halle." --subject Zenne --relation "flows through" --object Halle',
    ),
    "memory edit": ('memory edit 026af961a8050dce9599fe66 "We use SI units"',),
    "memory list": ("memory list --limit 50", "memory list --kind semantic"),
    "memory search": ('memory search "hybrid search" --json',),
    "memory forget": (
        "memory forget 026af961a8050dce9599fe66 --owner ann",
        "memory forget --run research-bees-1a2b3c",
    ),
    "memory export": ("memory export -o memories.jsonl --owner ann",),
    "archive export": ("archive export retention", "archive export retention ~/retention.tenure"),
    "archive import": ("archive import ~/retention.tenure",),
    "archive delete": ("archive delete retention",),
    "files list": ("files list retention",),
    "files save": ("files save retention results",),
    "up": ("up", "up --local-model ~/models/Qwen3-8B-Q4_K_M.gguf"),
    "down": ("down",),
    "versions": ("versions --json",),
    "serve": ("serve --open",),
    "mcp": ("mcp --http",),
    "status": ("status --json",),
    "logs": ("logs", "logs page --follow"),
    "doctor": ("doctor",),
    "completion": ("completion bash",),
    "backup": ("backup /backups/monday",),
    "restore": ("restore /backups/monday",),
}
"""Examples of each command."""


def list_commands(
    parser: argparse.ArgumentParser | None = None, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Yield words, parser and effect of each command, and of each noun before its commands."""
    for group in (parser or build_parser())._actions:
        if not isinstance(group, argparse._SubParsersAction):
            continue
        effects = {choice.dest: choice.help or "" for choice in group._choices_actions}
        for name, command in group.choices.items():
            yield f"{prefix}{name}", command, effects[name]
            yield from list_commands(command, f"{prefix}{name} ")


def render_commands() -> str:
    """Return a section for each command."""
    commands = list(list_commands())
    known = _describe_options(next(parser for name, parser, _ in commands if name == "start"))
    return "\n\n".join(_render_command(*command, known) for command in commands)


def _render_command(name: str, parser: argparse.ArgumentParser, effect: str, known: Mapping[str, str]) -> str:
    """Return a heading with effect, examples and options of a command; of a noun, the heading and the effect."""
    level = "###" if " " in name else "##"
    parts = [f"{level} {name}", f"{effect[0].upper()}{effect[1:]}."]
    if not any(isinstance(action, argparse._SubParsersAction) for action in parser._actions):
        words = [_name_argument(action) for action in parser._actions if not action.option_strings]
        usage = " ".join([name, *words])
        parts[1] = f"`{usage}`: {effect}."
        parts.append("\n".join(["```sh", *(f"python client.py {line}" for line in EXAMPLES[name]), "```"]))
        options = _describe_options(parser)
        shared = [] if name == "start" else [flag for flag, text in options.items() if known.get(flag) == text]
        rows = [f"| `{flag}` | {text} |" for flag, text in options.items() if flag not in shared]
        if rows:
            parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]))
        if shared:
            parts.append(_name_shared(shared, known))
    return "\n\n".join(parts)


def _name_shared(shared: Sequence[str], known: Mapping[str, str]) -> str:
    """Return a sentence on the options that a command shares with `start`."""
    if len(shared) > len(known) / 2:
        others = [_shorten(flags) for flags in known if flags not in shared]
        return f"Further options are those of [`start`](#start) except {', '.join(others)}."
    return f"As with [`start`](#start): {', '.join(map(_shorten, shared))}."


def _shorten(flags: str) -> str:
    """Return the long form of an option without its value."""
    return f"`{next(word for word in flags.replace(',', '').split() if word.startswith('--'))}`"


def _name_argument(action: argparse.Action) -> str:
    """Return the placeholder of an argument, with an ellipsis if there may be several."""
    name = str(action.metavar) if action.metavar else "{" + ",".join(action.choices or ()) + "}"
    name = f"{name}…" if action.nargs in ("+", "*") else name
    return f"[{name}]" if action.nargs in ("?", "*") else name


def _describe_options(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the meaning of each option by its flags, without the options that the page explains once."""
    return {
        _name_option(action): _describe_option(action)
        for action in parser._actions
        if action.option_strings and action.dest not in ("help", "json", "verbosity")
    }


def _name_option(action: argparse.Action) -> str:
    """Return the flags of an option with its value."""
    flags = ", ".join(action.option_strings)
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        return flags
    value = action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}"
    return f"{flags} {value}{'…' if action.nargs == '+' else ''}"


def _describe_option(action: argparse.Action) -> str:
    """Return the help of an option, with the range of a number."""
    text = (action.help or "").replace("|", "\\|")
    if isinstance(action.type, IntegerRange) and action.type.maximum < MAX_COUNT:
        text += f"; from {action.type.minimum:,} to {action.type.maximum:,}"
    return f"{text}; required" if action.required else text
