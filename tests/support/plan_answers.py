"""Write a planner's answer in the form that the planner is asked for."""

from collections.abc import Mapping
from typing import Any

_KEYWORDS = {"ADD_TO_OUTLINE": "ADD", "DROP_TOPIC": "DROP", "ASK_HUMAN": "ASK"}
_OPTIONS = {
    "or": "alternative",
    "or by": "alternative_strategy",
    "by": "strategy",
    "mode": "search_mode",
    "assumed": "expected_output",
}


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
