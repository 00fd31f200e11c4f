"""Measure what a run costs with a model: `python -m benchmarks.model_cost [--effort EFFORT] [--questions N] [--json]`.

Twelve questions on the manual, four of each effort, are answered against a loopback model server whose answers have
the shape of a careful model's. For each effort and role the benchmark prints the calls and the prompt tokens of a run,
the longest chain of calls in which each starts after the end of the one before, the share of the prompts that repeats
the beginning of an earlier prompt, and the share of it that a server with prompt caching charges little for: beginnings
of some length, of prompts that were answered before. With `--memory` each question is asked three times, to see what
the later runs still ask; the first run on new documents may search before all of them have vectors.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.start import environment
from benchmarks.support.scripted_model import ScriptedModel
from tests.model_server.request import read_messages
from tests.support.schema_instance import Json

_ROOT = Path(__file__).resolve().parents[1]
LATENCY_SECONDS: Final = 1.5
"""Latency of every answer, so that calls that could be concurrent are distinguished from those that are not."""
MIN_CACHED_CHARACTERS: Final = 4 * 1024
CACHED_STEP: Final = 4 * 128
"""Length from which servers cache the beginning of a prompt, and steps of its length, in characters."""
QUESTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "simple": (
        "What is a checkpoint of a run?",
        "Which file formats can be read?",
        "What does the command doctor check?",
        "Where does Tenure store its data?",
    ),
    "moderate": (
        "How does a run survive a crash of its worker?",
        "How are the claims of a report verified?",
        "How does Tenure protect itself against instructions in documents?",
        "How does a person steer a run while it is at work?",
    ),
    "complex": (
        "How do the retrieval strategies differ, and which one suits which kind of question?",
        "Compare running Tenure locally, with Docker Compose and on Kubernetes: what does each demand and what fails?",
        "What limits the cost of a run, what happens when a limit is reached, and how do people change it meanwhile?",
        "How do memory, experience and the knowledge base work together, and what does each of them forget?",
    ),
}
"""Questions on the manual by effort."""


_FIGURES = (
    "calls",
    "prompt_tokens",
    "answer_tokens",
    "critical_path",
    "repeated_share",
    "cached_share",
    "cached_share_by_role",
)


class Prompt(NamedTuple):
    """A prompt as a server reads it."""

    role: str
    text: str
    sent: float
    """Time at which it was sent."""
    answered: float
    """Time of its answer."""


def measure(efforts: Mapping[str, Sequence[str]], home: Path, *, memory: bool = False) -> list[dict[str, Any]]:
    """Answer questions by their efforts, and return what the server saw of each run.

    Args:
        efforts: questions by effort.
        home: folder of the runs.
        memory: whether runs have a memory and a cache of answers, and each question is asked three times.
    """
    with ScriptedModel(LATENCY_SECONDS) as model:
        around = environment(home) | model.environment
        if memory:
            around["TENURE_ANSWER_CACHE_MEGABYTES"] = "200"
        try:
            return [
                _measure_run(question, effort, model, around, "--memory" if memory else "--no-memory")
                for effort, questions in efforts.items()
                for question in questions
                for _ in range(3 if memory else 1)
            ]
        finally:
            client = (sys.executable, str(_ROOT / "client.py"))
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)


def _measure_run(
    question: str, effort: str, model: ScriptedModel, around: Mapping[str, str], memory: str
) -> dict[str, Any]:
    """Answer one question.

    Raises:
        RuntimeError: the run did not end in a report.
    """
    known = len(model.billed)
    model.begin(question, effort)
    client = (sys.executable, str(_ROOT / "client.py"))
    asked = ("start", question, "--docs", str(_ROOT / "docs"), "--effort", effort, memory, "--json")
    ran = subprocess.run([*client, *asked], env=around, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"the run ended with code {ran.returncode}: {ran.stderr[-400:]}")
    result = json.loads(ran.stdout)
    billed = [entry for entry in model.billed[known:] if entry.schema_name]
    calls = Counter(entry.schema_name for entry in billed)
    prompt_tokens = Counter[str]()
    for entry in billed:
        prompt_tokens[entry.schema_name] += entry.tokens_in
    prompts = [
        Prompt(
            entry.schema_name,
            _render_prompt(entry.request.json),
            entry.request.arrived,
            entry.request.arrived + LATENCY_SECONDS,
        )
        for entry in billed
    ]
    cached = measure_cached_characters(prompts)
    characters = max(1, sum(len(prompt.text) for prompt in prompts))
    return {
        "question": question,
        "effort": effort,
        "status": result["status"],
        "calls": calls.total(),
        "prompt_tokens": prompt_tokens.total(),
        "answer_tokens": sum(entry.tokens_out for entry in billed),
        "critical_path": len(chain := find_chain(prompts)),
        "chain": chain,
        "told_critical_path": result["usage"].get("critical_path"),
        "repeated_share": round(measure_repeated_share([prompt.text for prompt in prompts]), 3),
        "cached_share": round(sum(cached.values()) / characters, 3),
        "cached_share_by_role": round(measure_cached_characters(prompts, by_role=True).total() / characters, 3),
        "saved_answers": result["usage"]["saved"]["answers"],
        "claims": sum(len(section["claims"]) for section in result["sections"]),
        "fallbacks": [f"{fallback['role']}: {fallback['reason']}" for fallback in result["fallbacks"]],
        "by_role": {role: [calls[role], prompt_tokens[role], cached[role] // 4] for role in sorted(calls)},
    }


def find_chain(prompts: Sequence[Prompt]) -> list[str]:
    """Return the roles of the largest number of calls that follow each other without an overlap."""
    chain: list[Prompt] = []
    for prompt in sorted(prompts, key=lambda one: one.answered):
        if not chain or prompt.sent >= chain[-1].answered:
            chain.append(prompt)
    return [prompt.role for prompt in chain]


def measure_repeated_share(prompts: Sequence[str]) -> float:
    """Return the share of all characters that repeat the beginning of an earlier prompt."""
    known: list[str] = []
    repeated = 0
    for prompt in prompts:
        place = bisect_left(known, prompt)
        # Of all texts in alphabetical order, a neighbour has the longest common prefix.
        repeated += max((_count_common(prompt, near) for near in known[max(place - 1, 0) : place + 1]), default=0)
        insort(known, prompt)
    return repeated / max(1, sum(map(len, prompts)))


def measure_cached_characters(prompts: Sequence[Prompt], *, by_role: bool = False) -> Counter[str]:
    """Return by role the characters that a server has cached: long beginnings of prompts that were answered before.

    Args:
        prompts: the prompts.
        by_role: whether the server reads the schema before the prompt, so that roles have no beginning in common.
    """
    cached = Counter[str]()
    for prompt in prompts:
        before = (other for other in prompts if other.answered <= prompt.sent)
        known = (_count_common(prompt.text, one.text) for one in before if not by_role or one.role == prompt.role)
        longest = max(known, default=0)
        cached[prompt.role] += longest // CACHED_STEP * CACHED_STEP if longest >= MIN_CACHED_CHARACTERS else 0
    return cached


def _count_common(a: str, b: str) -> int:
    """Return the length of the common prefix of two texts."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _render_prompt(request: Json) -> str:
    """Return a prompt as one text, in the order in which a server reads it."""
    return "\n".join(f"{message['role']}\n{message['content']}" for message in read_messages(request))


def summarize(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of the runs of one effort: means and maxima, and means for each role."""
    roles = sorted({role for run in runs for role in run["by_role"]})
    return {
        "runs": len(runs),
        **{
            name: {"mean": _mean([run[name] for run in runs]), "most": max(run[name] for run in runs)}
            for name in _FIGURES
        },
        "fallbacks": sorted({line for run in runs for line in run["fallbacks"]}),
        "by_role": {
            role: {
                "calls": _mean([run["by_role"].get(role, (0, 0))[0] for run in runs]),
                "prompt_tokens": _mean([run["by_role"].get(role, (0, 0))[1] for run in runs]),
                "cached_tokens": _mean([run["by_role"].get(role, (0, 0, 0))[2] for run in runs]),
            }
            for role in roles
        },
    }


def _mean(values: Sequence[float]) -> float:
    return round(statistics.fmean(values), 3)


def _print_summary(effort: str, summary: Mapping[str, Any]) -> None:
    print(f"{effort}, {summary['runs']} runs")
    for name in _FIGURES:
        print(f"  {name.replace('_', ' '):20} mean {summary[name]['mean']:>10}  most {summary[name]['most']:>8}")
    by_cost = sorted(summary["by_role"].items(), key=lambda item: -item[1]["prompt_tokens"])
    for role, used in by_cost:
        print(
            f"    {role:22} {used['calls']:>6} calls {used['prompt_tokens']:>10} prompt tokens, "
            f"{used['cached_tokens']:>10} of them cached"
        )
    for line in summary["fallbacks"]:
        print(f"    fallback: {line}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_cost", description=__doc__)
    parser.add_argument("--effort", choices=tuple(QUESTIONS), help="measure this effort only")
    parser.add_argument("--questions", type=int, default=4, metavar="N", help="questions of each effort (default: 4)")
    parser.add_argument("--memory", action="store_true", help="ask each question three times, with memory")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    efforts = (arguments.effort,) if arguments.effort else tuple(QUESTIONS)
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        runs = measure(
            {effort: QUESTIONS[effort][: arguments.questions] for effort in efforts},
            Path(home),
            memory=arguments.memory,
        )
    summaries = {effort: summarize([run for run in runs if run["effort"] == effort]) for effort in efforts}
    if arguments.json:
        print(json.dumps({"efforts": summaries, "runs": runs}))
        return
    for effort, summary in summaries.items():
        _print_summary(effort, summary)
    for run in runs if arguments.memory else ():
        print(f"{run['effort']}: {run['calls']} calls, {run['saved_answers']} cached answers: {run['question']}")


if __name__ == "__main__":
    main()
