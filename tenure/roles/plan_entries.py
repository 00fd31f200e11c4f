"""Parse a critique of the research with its plan: one entry a line, each with a keyword at its start."""

import re
from collections.abc import Sequence
from typing import Final, get_args

from tenure.contracts.choices import SearchMode
from tenure.contracts.research.cycle import ActionKind, PlannedAction
from tenure.roles.base import RoleOutput
from tenure.roles.entries import Entry, join_lines, split_entries

MAX_ACTIONS: Final = 24
"""Maximum number of actions of a plan."""
MAX_PARTS: Final = 12
"""Maximum number of parts with something missing."""
MAX_QUERY_CHARACTERS: Final = 1000
"""Maximum length of a query."""

_ACTIONS: Final[dict[str, ActionKind]] = {
    "SEARCH": "SEARCH",
    "READ": "READ",
    "ANALYZE": "ANALYZE",
    "COMPARE": "COMPARE",
    "CALCULATE": "CALCULATE",
    "ADD": "ADD_TO_OUTLINE",
    "DROP": "DROP_TOPIC",
    "ASK": "ASK_HUMAN",
    "FINISH": "FINISH",
}
# "SEARCH s1 [Bread]: query", "- **READ** s2 12 [Bread]: words", "3. DECISION: FINISH – why"; in capitals only, and with
# something after it, since a sentence may begin with such a word.
_ENTRY = re.compile(
    r"^[ \t]{0,8}(?:[-*+•#>`]{1,4}|\d{1,2}[.)])?[ \t]?[*`]{0,3}"
    r"(?P<keyword>SITUATION|COMPLICATION|PART|DECISION|" + "|".join(_ACTIONS) + r")"
    r"(?:_TO_OUTLINE|_TOPIC|_HUMAN)?(?=[ \t*`:–—-]|$)(?P<rest>[^\n]{0,4000})",
    re.MULTILINE,
)
# "- or by: react", "Mode: hybrid", "assumed: version 4".
_OPTION = re.compile(r"^[ \t]*(?:[-*•][ \t]*)?(or by|or|by|mode|assumed)[ \t]*:[ \t]*(\S[^\n]{0,1000})$", re.IGNORECASE)
# The topic of "SEARCH s1 [Bread]: query".
_TOPIC = re.compile(r"\[([^\[\]\n]{1,300})\]")
# "s1 [Bread] after s0: query", "s1 – query".
_QUERY = re.compile(r":|(?<=\s)[–—-](?=\s)")
# The steps of "s3 [Bread] after s1, s2 and s0: query".
_AFTER = re.compile(r"\bafter[ \t]+([\w., \t]{1,200})")
# Names of steps and strategies: "s1", "multi_hop".
_NAME = re.compile(r"[^\W\d]\w{0,39}")
# Numbers of passages in "READ s2 12 [Bread]", but not that of the step.
_NUMBER = re.compile(r"(?<!\w)\d{1,4}(?!\w)")
# "**CONTINUE** – rye is missing", ": FINISH".
_CHOICE = re.compile(r"\A\W{0,4}(CONTINUE|FINISH)\b\W{0,4}")
# "**[Bread]**: partly", as it begins an entry.
_HEADING = re.compile(r"\A[ \t*`:]{0,4}\[([^\[\]\n]{1,300})\]")
# "[Bread]: answered", "Costs: **partly** – prices of salt"; a part that is answered has nothing missing.
_ANSWERED = re.compile(r"\A(?:\[[^\]\n]{1,300}\]|[^:–—\n]{0,300}?)[ \t]?[:–—-][ \t*`]{0,4}answered\b", re.IGNORECASE)
_MODES: Final = frozenset(get_args(SearchMode))


class PlannerOutput(RoleOutput):
    """Critique of the state of the research, and the plan of a cycle."""

    situation: str = ""
    """Established facts."""
    complication: str = ""
    """Conflicts, exceptions and limits."""
    missing: tuple[str, ...] = ()
    """Parts of the outline without a full answer, each with what is missing."""
    critique: str = ""
    """Reason to continue, with the most important gap, or to finish."""
    plan: tuple[PlannedAction, ...] = ()
    """Actions, most important first."""


def parse_plan(text: str) -> PlannerOutput:
    """Return a critique and a plan by their entries.

    Raises:
        ValueError: the text has no decision and no action; the message is addressed to the model.
    """
    entries = list(split_entries(_ENTRY, text))
    decided = _find_text(entries, "DECISION")
    choice = _CHOICE.match(decided)
    plan = [_read_action(entry) for entry in entries if entry.keyword in _ACTIONS]
    if not decided and not plan:
        raise ValueError(
            "it contains no decision: write `DECISION: CONTINUE – why` with actions such as SEARCH, or FINISH."
        )
    if choice and choice[1] == "FINISH":
        plan = [PlannedAction(id="", action="FINISH")]
    return PlannerOutput(
        situation=_find_text(entries, "SITUATION"),
        complication=_find_text(entries, "COMPLICATION"),
        missing=tuple(
            join_lines(_HEADING.sub(r"\1", entry.text))
            for entry in entries
            if entry.keyword == "PART" and not _ANSWERED.search(entry.text)
        )[:MAX_PARTS],
        critique=decided[choice.end() :] if choice else decided,
        plan=tuple(plan[:MAX_ACTIONS]),
    )


def _find_text(entries: Sequence[Entry], keyword: str) -> str:
    return next((join_lines(entry.text) for entry in entries if entry.keyword == keyword), "")


def _read_action(entry: Entry) -> PlannedAction:
    """Return an action, given as name, passage, part and needed steps before its query, and options below it."""
    lines = entry.text.split("\n")
    options = {match[1].casefold(): match[2].strip(" `") for line in lines[1:] if (match := _OPTION.match(line))}
    # The next line is a remark of the model, unless the query begins there.
    action_line, *following = [line for line in lines if not _OPTION.match(line)] or [""]
    topic = _TOPIC.search(action_line)
    start = topic.end() if topic else 0
    colon = _QUERY.search(action_line, start)
    head = action_line[: topic.start() if topic else colon.start() if colon else 0]
    between = action_line[start : colon.start()] if topic and colon else ""
    query = join_lines(action_line[colon.end() if colon else start :]) or join_lines("\n".join(following[:1]))
    after = _AFTER.search(head) or _AFTER.search(between)
    head = _AFTER.sub("", head)
    name, number = _NAME.search(head), _NUMBER.search(head)
    mode = options.get("mode", "").casefold()
    return PlannedAction.model_validate(
        {
            "id": name[0] if name else "",
            "action": _ACTIONS[entry.keyword],
            "query": query[:MAX_QUERY_CHARACTERS],
            "target_outline_topic": topic[1].strip() if topic else "",
            "passage": int(number[0]) if number else 0,
            "depends_on": tuple(name for name in _NAME.findall(after[1]) if name != "and") if after else (),
            "expected_output": options.get("assumed", ""),
            "strategy": _read_strategy(options.get("by")),
            "search_mode": mode if mode in _MODES else None,
            "alternative": options.get("or", ""),
            "alternative_strategy": _read_strategy(options.get("or by")),
        }
    )


def _read_strategy(text: str | None) -> str | None:
    """Return the name of a strategy as the registry writes it; whether it exists, the caller knows."""
    match = _NAME.search(text.replace("-", "_")) if text else None
    return match[0].casefold() if match else None
