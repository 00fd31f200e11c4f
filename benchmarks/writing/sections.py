"""Measure the model calls of a report's sections: `python -m benchmarks.writing.sections [--sections N] [--json]`.

One run over the manual writes the given number of sections against a loopback server. Each section has ten sentences
over twelve passages; the review of each finds two sentences wrong, and that of the last one asks for a search. Calls,
prompt tokens and the share of tokens that a prompt cache has read before are counted by role, and the longest chain of
calls of one section. Abstract, synthesis and reasoning are empty, so that all checks of claims are those of sections.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.start import environment
from tests.model_server import ModelServer
from tests.model_server.ledger import BilledRequest
from tests.model_server.request import read_messages
from tests.support.schema_instance import Json

_ROOT = Path(__file__).resolve().parents[2]
_QUESTION = "How does Tenure keep a run alive, what does a run cost, and how do people steer it?"
ROLES = ("section_writer", "section_reviewer", "claim_checker")
"""Roles whose calls belong to sections."""
_HEADINGS = ("Budgets", "Control", "Documents", "Durability", "Memory", "Models", "Reports", "Schedules")
_SENTENCES = 10
_PASSAGES = 12


def measure(sections: int, home: Path) -> dict[str, Any]:
    """Write a report with the given number of sections; return the figures by role and in total.

    Raises:
        RuntimeError: the run did not end in a report.
    """
    complexity = "simple" if sections == 1 else "moderate"
    topics = [{"heading": name, "question": f"What does the manual say on {name}?"} for name in _HEADINGS[:sections]]
    with ModelServer(prompt_cache=True) as model:
        model.on("router", {"mode": "RESEARCH", "complexity": complexity, "query_type": "factual", "reason": "asked"})
        model.on("outliner", {"topics": topics})
        model.on("synthesizer", {"situation": [], "complication": [], "resolution": []})
        model.on("abstract_writer", {"blocks": []})
        model.on("reasoner", {"steps": [], "conclusion": 0, "answer": "", "confidence": 0.0})
        model.on("report_reflector", {"critiques": [], "further_considerations": []})
        model.on("section_writer", {"blocks": [_block(0, 5), _block(5, 10)]})
        model.on("section_reviewer", lambda request: _review(request, searched=topics[-1]["heading"]))
        around = environment(home) | model.environment | {"TENURE_PASSAGES_PER_SECTION": str(_PASSAGES)}
        client = (sys.executable, str(_ROOT / "client.py"))
        bounds = ("--effort", complexity, "--max-cycles", "1", "--strategy", "direct", "--reasoning", "none")
        asked = ("start", _QUESTION, "--docs", str(_ROOT / "docs"), *bounds, "--json")
        try:
            ran = subprocess.run([*client, *asked], env=around, capture_output=True, text=True, check=False)
        finally:
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)
        if ran.returncode:
            raise RuntimeError(f"the run ended with code {ran.returncode}: {ran.stderr[-400:]}")
        billed = [entry for entry in model.billed if entry.schema_name in ROLES]
    chains = Counter(_find_topic(entry) for entry in billed)
    by_role = {role: _sum([entry for entry in billed if entry.schema_name == role]) for role in ROLES}
    return {
        "sections": sections,
        **{role: figures for role, figures in by_role.items() if figures["calls"]},
        "total": _sum(billed),
        "longest_chain": max(chains.values()),
    }


def _sum(billed: Sequence[BilledRequest]) -> dict[str, float | int]:
    tokens = sum(entry.tokens_in for entry in billed)
    return {
        "calls": len(billed),
        "prompt_tokens": tokens,
        "answer_tokens": sum(entry.tokens_out for entry in billed),
        "repeated_share": round(sum(entry.tokens_cached for entry in billed) / tokens, 3) if tokens else 0.0,
    }


def _find_topic(entry: BilledRequest) -> str:
    """Return the section that a request is about; checks of claims name none."""
    said = "\n".join(message["content"] for message in read_messages(entry.request.json))
    return said.partition("<topic>\n")[2].partition("\n")[0]


def _block(first: int, end: int) -> Json:
    return {"kind": "paragraph", "sentences": [_sentence(number) for number in range(first, end)]}


def _sentence(number: int) -> Json:
    text = (
        f"The part of the manual with the letter {'abcdefghijkl'[number]} explains to its readers at some length how a "
        "durable run is planned, written, checked and continued by its workers."
    )
    return {"text": text, "passages": [number % _PASSAGES + 1, (number + 1) % _PASSAGES + 1]}


def _review(request: Json, searched: str) -> Json:
    """Return a review that corrects two sentences at first, and that asks for a search in one section."""
    said = "\n".join(message["content"] for message in read_messages(request))
    if "<queries>" in said:
        return {"critique": "", "add": [{**_sentence(10), "after": _SENTENCES}]}
    wrong = (3, 7)
    return {
        "critique": "Two sentences go further than their passages.",
        "verdicts": [{"sentence": number, "verdict": "neutral", "confidence": 0.8} for number in wrong],
        "replace": [{**_sentence(number), "sentence": number} for number in wrong],
        "query": "codec server, schedules and owners" if f"<topic>\n{searched}\n" in said else "",
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writing.sections", description=__doc__)
    parser.add_argument("--sections", type=int, default=4, metavar="N", help="sections of the report (default: 4)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(arguments.sections, Path(home))
    print(json.dumps(figures) if arguments.json else "\n".join(f"{name:17} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
