"""Stored figures of the evaluations, and the page that shows them."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from evals.solvers import read_git

FIGURES: Final = Path(__file__).parent / "figures.json"
"""Stored figures, with their date, commit and conditions."""
PAGE: Final = Path(__file__).parents[1] / "docs" / "evaluation.md"
"""Page of the stored figures."""
_PARTS: Final = {
    "search": "What mechanisms of one search bring",
    "strategies": "What strategies of a task bring over one search",
    "research": "What mechanisms of the research loop bring",
    "excerpts": "What mechanisms of a report without a model bring",
}

_EXPLANATION: Final = """\
Differences with a mechanism against without it, over the same questions, with the 95 % interval of a bootstrap over
questions; in points of percent, and bold if the interval excludes 0 and both halves of the questions agree. Times are
those of a busy machine: only their order means something. The decisions on the learned choice, the short answers and
the review rest on runs whose figures are not stored. `evals/README.md` has the commands; HotpotQA, MuSiQue,
SciFact, FoolMeTwice and the manual of a model server are public sets whose texts are not part of the checkout."""


def describe_conditions() -> dict[str, str]:
    """Return the date and the commit of figures that are measured now."""
    commit = read_git("rev-parse", "--short=8", "HEAD").strip()
    return {"date": datetime.now(UTC).date().isoformat(), "commit": commit}


def load_figures() -> dict[str, Any]:
    """Return all stored figures."""
    figures: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return figures


def write_figures(figures: Mapping[str, Any]) -> None:
    """Store all figures, the numbers of a list on one line."""
    text = json.dumps(figures, indent=1, sort_keys=True, ensure_ascii=False)
    compact = re.sub(r"\[[-\d.,e\s]+\]", lambda numbers: " ".join(numbers[0].split()), text)
    FIGURES.write_text(compact + "\n", encoding="utf-8")


def store_mechanisms(part: str, task: str, effects: Mapping[str, Any]) -> None:
    """Store the effects of mechanisms on a task."""
    figures = load_figures()
    stored = figures.setdefault("mechanisms", {}).setdefault(part, {})
    for name, effect in effects.items():
        stored.setdefault(name, {})[task] = dict(effect) | describe_conditions()
    write_figures(figures)


def render_mechanisms(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the decisions on mechanisms, and the tables of what they bring, a row for each mechanism and task."""
    if decisions := figures["mechanisms"].get("decisions"):
        head = "| mechanism | costs | brings | decision |\n|---|---|---|---|"
        yield f"## Decisions\n\n{_EXPLANATION}"
        yield "\n".join([head, *(f"| {' | '.join(row)} |" for row in decisions)])
    for part, title in _PARTS.items():
        stored: dict[str, dict[str, Any]] = figures["mechanisms"].get(part, {})
        measured = [(name, task, effect) for name, tasks in stored.items() for task, effect in tasks.items()]
        if not measured:
            continue
        yield f"## {title}"
        qualities = list(dict.fromkeys(key for *_, effect in measured for key in effect if key[0].isupper()))
        costs = list(dict.fromkeys(key for *_, effect in measured for key in effect if is_cost(key)))
        lines = [
            f"| mechanism | task | {' | '.join([*qualities, *costs])} |",
            f"|{'---|' * (2 + len(qualities + costs))}",
        ]
        for name, task, effect in measured:
            shown = [_show(effect.get(key)) for key in qualities]
            shown += [f"{effect[key]:+.3g}" if key in effect else "" for key in costs]
            lines.append(f"| {name} | {task}, {effect['questions']} | {' | '.join(shown)} |")
        yield "\n".join(lines)


def is_cost(key: str) -> bool:
    """Return whether a figure is a cost, of which less is better."""
    return key[0].islower() and key not in {"questions", "date", "commit"}


def _show(halves: Mapping[str, list[float]] | None) -> str:
    """Return the effect on all questions with its interval in points, bold if both halves agree with it."""
    if halves is None:
        return ""
    mean, low, high = (100 * value for value in halves["all"])
    same = all(halves[half][0] * mean > 0 for half in ("even", "odd"))
    text = f"{mean:+.1f} ({low:+.1f} … {high:+.1f})"
    return f"**{text}**" if same and (low > 0 or high < 0) else text
