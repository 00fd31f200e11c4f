"""Measure the share of each prompt that repeats the previous one: `python -m benchmarks.prompts [--cycles N] [--json]`.

A server with prompt caching charges little for a prefix that it has read before. One run goes through the given number
of research cycles over the manual, against a loopback server whose planner always continues; for every prompt the
common prefix with the previous prompt of the same role is counted, in characters. The baseline of the same run is the
share if only the system message were common.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from benchmarks.start import environment
from tests.model_server import ModelServer
from tests.model_server.request import read_messages
from tests.support.schema_instance import Json

_ROOT = Path(__file__).resolve().parents[1]
_QUESTION = "How does Tenure keep a run alive, what does a run cost, and how do people steer it?"
CONVERSATIONS = ("planner", "synthesizer")
_SEARCHES = 4


def measure(cycles: int, home: Path) -> dict[str, Any]:
    """Run the given number of cycles; return the shares by role, and the number of prompts of each role."""
    with ModelServer(prompt_cache=True) as model:
        headings = _headings()
        turns = count(1)
        model.on("router", {"mode": "RESEARCH", "complexity": "complex", "query_type": "factual", "reason": "asked"})
        model.on("planner", lambda _: _plan(next(turns), headings))
        model.on("synthesizer", lambda request: _synthesis(request))
        model.on("decider", lambda request: _decision())
        around = environment(home) | model.environment
        client = (sys.executable, str(_ROOT / "client.py"))
        # One search a task: with richer ones the whole manual is read, and the research ended, before the last cycle.
        bounds = ("--max-cycles", str(cycles), "--strategy", "direct")
        asked = ("start", _QUESTION, "--docs", str(_ROOT / "docs"), *bounds, "--json")
        try:
            ran = subprocess.run([*client, *asked], env=around, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise RuntimeError(f"the run ended with code {ran.returncode}: {ran.stderr[-400:]}")
        finally:
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)
        result = json.loads(ran.stdout)
        prompts = {role: [_spoken(request.json) for request in model.requests_of(role)] for role in CONVERSATIONS}
        systems = {role: len(read_messages(model.requests_of(role)[0].json)[0]["content"]) for role in CONVERSATIONS}
    usage = result["usage"]
    return {
        "cycles": len(result["information_gain"]),
        **{role: _shares(said, systems[role]) for role, said in prompts.items()},
        "tokens_in": usage["tokens_in"],
        "tokens_cached": usage["tokens_cached"],
    }


def _headings() -> list[str]:
    """Return the manual's headings, which make searches that find something."""
    pages = sorted((_ROOT / "docs").glob("*.md"))
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    return [line.removeprefix("## ") for line in lines if line.startswith("## ")]


def _plan(turn: int, headings: Sequence[str]) -> Json:
    first = (turn - 1) * _SEARCHES
    asked = [headings[(first + n) * 7 % len(headings)] for n in range(_SEARCHES)]
    return {
        "critique": f"Cycle {turn}: the outline is only partly filled, and its text rests on few pages.",
        "thought": "The searches below name what no search has named yet, each for the topic it helps most.",
        "plan": [_search(number, heading) for number, heading in enumerate(asked, 1)],
    }


def _search(number: int, heading: str) -> Json:
    return {
        "id": f"s{number}",
        "action": "SEARCH",
        "query": f"What does the manual say on {heading}?",
        "target_outline_topic": "",
        "passage": 0,
        "depends_on": [],
        "expected_output": f"passages on {heading}",
    }


def _synthesis(request: Json) -> Json:
    """Return a synthesis of the usual length."""
    line = "Tenure writes every finished step of a run down before the next one begins, so that nothing is paid twice."
    said = [{"text": f"Statement {n}: {line}", "passages": [n]} for n in range(1, 5)]
    return {"situation": said, "complication": said[:3], "resolution": []}


def _decision() -> Json:
    missing = ["what a crash costs", "who may steer a run"]
    return {"needs_more_research": True, "reasoning": "Half of the question is open.", "key_factors": missing}


def _spoken(request: Json) -> str:
    """Return a prompt as one text, in the order in which a server reads it."""
    return "\n".join(f"{message['role']}\n{message['content']}" for message in read_messages(request))


def _shares(prompts: Sequence[str], system: int) -> dict[str, float | int]:
    """Return the share of characters that repeat the previous prompt's beginning, the first prompt included."""
    whole = sum(map(len, prompts))
    repeated = sum(_common(earlier, later) for earlier, later in pairwise(prompts))
    return {
        "prompts": len(prompts),
        "characters": whole,
        "repeated_share": round(repeated / whole, 3),
        "repeated_share_without_history": round(system * (len(prompts) - 1) / whole, 3),
    }


def _common(a: str, b: str) -> int:
    """Return the length of the common prefix of two texts."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompts", description=__doc__)
    parser.add_argument("--cycles", type=int, default=6, metavar="N", help="cycles of research (default: 6)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(arguments.cycles, Path(home))
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):14} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
