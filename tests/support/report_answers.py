"""Answers of a test server to roles that answer in text: an outline, a plan, a report for it, and its review."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.support.schema_instance import MARKER

_OUTLINE = re.compile(r"<outline>\n(.*?)\n</outline>", re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_ONLY = re.compile(r"Write only their sections.*?\n((?:## .+\n?)+)", re.DOTALL)
_TASK = re.compile(r'<task name="(\w+)">')
_KEYWORDS = {"ADD_TO_OUTLINE": "ADD", "DROP_TOPIC": "DROP", "ASK_HUMAN": "ASK"}
_OPTIONS = {
    "or": "alternative",
    "or by": "alternative_strategy",
    "by": "strategy",
    "mode": "search_mode",
    "assumed": "expected_output",
}


def find_text_role(prompt: str) -> str:
    """Return the role whose task ends a prompt and that answers in text; empty if there is none."""
    found = _TASK.findall(prompt)
    return found[-1] if found else ""


def list_headings(prompt: str) -> list[str]:
    """Return the headings of the sections that a prompt asks for."""
    only = _ONLY.search(prompt.rpartition("<task ")[2])
    outline = _OUTLINE.search(prompt)
    return _HEADING.findall(only[1]) if only else _HEADING.findall(outline[1]) if outline else []


def build_text(role: str, prompt: str, about: str) -> str:
    """Return a small answer of a role, which cites the first passage; `about` distinguishes those to other requests."""
    headings = list_headings(prompt)
    if role == "report_reviewer":
        return "\n".join([*(f"SECTION {heading}: NONE – it holds." for heading in headings), "DONE"])
    if role == "outliner":
        topics = [{"heading": f"{MARKER} {about} {word}", "question": f"What is {word}?"} for word in ("one", "two")]
        return render_outline({"topics": topics})
    if role == "reasoner":
        return (
            f"STEP 1 premise: {MARKER} {about} states a fact [1].\nCONCLUSION after 1: {MARKER} {about} concludes [1]."
        )
    if role == "planner":
        searches = [f"SEARCH s1 [{heading}]: {MARKER} {about} asks about {heading}" for heading in headings[:1]]
        return "\n".join(["DECISION: CONTINUE – something is missing.", *searches])
    sections = "\n\n".join(
        f"## {heading}\n\n{MARKER} {about} states the first thing on {heading} [1]. "
        f"{MARKER} {about} adds to {heading} [1]."
        for heading in headings
    )
    if "Write only their sections" in prompt:
        return sections
    return f"# {MARKER} {about} title\n\n{MARKER} {about} answers the question [1].\n\n{sections}\n"


def render_fields(role: str, answer: Mapping[str, Any]) -> str:
    """Return an answer, given by the fields of a role's output, in the form in which the role answers."""
    if role == "planner":
        return render_plan(answer)
    return render_outline(answer) if role == "outliner" and "topics" in answer else json.dumps(answer)


def render_outline(outline: Mapping[str, Any]) -> str:
    """Return an outline, given by the fields of an outliner's output, as entries."""
    lines: list[str] = []
    for topic in outline["topics"]:
        lines += [f"TOPIC: {topic['heading']}", f"QUESTION: {topic['question']}"]
        lines += [f"ANSWER: {topic['answer']}"] if topic.get("answer") else []
        lines += [f"KNOWN: {', '.join(map(str, topic['known']))}"] if topic.get("known") else []
        lines += [f"SEARCH: {query}" for query in topic.get("queries", ())]
    return "\n".join(lines)


def render_plan(plan: Mapping[str, Any]) -> str:
    """Return a plan, given by the fields of a planner's output, as entries."""
    actions = plan.get("plan", ())
    choice = "FINISH" if any(action["action"] == "FINISH" for action in actions) else "CONTINUE"
    lines = [f"{name.upper()}: {plan[name]}" for name in ("situation", "complication") if plan.get(name)]
    lines += [f"PART {missing}" for missing in plan.get("missing", ())]
    lines += [f"DECISION: {choice} – {plan.get('critique', 'It is early.')}"]
    for action in actions:
        lines += _render_action(action) if action["action"] != "FINISH" else []
    return "\n".join(lines)


def _render_action(action: Mapping[str, Any]) -> list[str]:
    after = f"after {', '.join(action['depends_on'])}" if action.get("depends_on") else ""
    topic = action.get("target_outline_topic", "")
    head = (
        _KEYWORDS.get(action["action"], action["action"]),
        action.get("id", ""),
        str(action.get("passage") or ""),
        after,
        f"[{topic}]" if topic else "",
    )
    options = [f"  {name}: {action[field]}" for name, field in _OPTIONS.items() if action.get(field)]
    return [f"{' '.join(filter(None, head))}: {action.get('query', '')}", *options]
