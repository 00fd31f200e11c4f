"""Compare judged claims with their evidence, and report how often the offline checker is right.

    python -m benchmarks.claims FILE... [--json] [--abstracts FILE] [--fit | --sides]

A FILE is one of SciFact (claims with cited abstracts) or FoolMeTwice (claims with gold evidence), one JSON object per
line. A SciFact claim without evidence is compared with the nearest sentence of its cited abstract; the abstracts are
those of a BEIR corpus (`--abstracts`, by default `../beir/scifact/corpus.jsonl` next to the file).

Three methods of detecting supported claims are compared: the majority class, a threshold on the cosine of claim and
evidence, and the checker. The first half of each file is for choosing the threshold, and with `--fit` the checker's
weights, one set for all files. The second half is reported.

With `--sides` the offline detection of support and contradiction is measured instead, on the texts with odd numbers,
counted from 0; its rules were chosen on those with even numbers.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.claims.support import MIN_SUPPORT, ClaimWithEvidence, compute_features, estimate_support
from tenure.algorithms.retrieval.stance import detect_stance
from tenure.algorithms.text.sentences import split_sentences
from tenure.models.minilm.model import MiniLM

PENALTY = 15.0
"""Weight of the L2 regularization of the fit, in claims; features are standardized for it."""
ABSTRACTS = Path("../beir/scifact/corpus.jsonl")

Truths = NDArray[np.bool_]
Scores = NDArray[np.float64]
Embed = Callable[[Sequence[str]], Any]


@dataclass(frozen=True)
class Labelled:
    """A claim with evidence, and whether it is supported."""

    case: ClaimWithEvidence
    supported: bool


@dataclass(frozen=True)
class Figures:
    """Accuracy of a method."""

    accuracy: float
    macro_f1: float


def claims(path: Path, abstracts: Path, embed: Embed) -> list[Labelled]:
    """Read a set of judged claims."""
    rows = list(_rows(path))
    if rows and "gold_evidence" in rows[0]:
        return [_fool_me_twice(row) for row in rows]
    documents = {str(row["_id"]): row for row in _rows(abstracts)}
    return [_scifact(row, documents, embed) for row in rows]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _fool_me_twice(row: Mapping[str, Any]) -> Labelled:
    evidence = tuple(one["text"] for one in row["gold_evidence"])
    return Labelled(ClaimWithEvidence(row["claim"], evidence, row["page"]), row["label"] == "SUPPORTS")


def _scifact(row: Mapping[str, Any], documents: Mapping[str, Mapping[str, Any]], embed: Embed) -> Labelled:
    if not row["evidence"]:
        return Labelled(_nearest(row["claim"], [documents[str(name)] for name in row["cited_doc_ids"]], embed), False)
    evidence = tuple(sentence for one in row["evidence"] for sentence in one["text"])
    titles = dict.fromkeys(documents[str(one["doc_id"])]["title"] for one in row["evidence"])
    return Labelled(ClaimWithEvidence(row["claim"], evidence, " ".join(titles)), row["label"] == "SUPPORT")


def _nearest(claim: str, documents: Sequence[Mapping[str, Any]], embed: Embed) -> ClaimWithEvidence:
    found = [(sentence.text, one["title"]) for one in documents for sentence in split_sentences(one["text"])]
    vectors = embed([claim, *(text for text, _ in found)])
    text, title = found[int(np.argmax(vectors[1:] @ vectors[0]))]
    return ClaimWithEvidence(claim, (text,), title)


def measure_sides(path: Path) -> dict[str, float]:
    """Return the numbers of texts with odd numbers that are labelled with each side, and the shares of right labels."""
    rows = [
        (row["claim"], text, supports)
        for row in _rows(path)
        for text, supports in (
            [(" ".join(one["text"] for one in row["gold_evidence"]), row["label"] == "SUPPORTS")]
            if "gold_evidence" in row
            else [(" ".join(one["text"]), one["label"] == "SUPPORT") for one in row["evidence"]]
        )
    ][1::2]
    labelled = [(detect_stance(claim, text), supports) for claim, text, supports in rows]
    supporting = [supports for side, supports in labelled if side == "supporting"]
    contradicting = [not supports for side, supports in labelled if side == "contradicting"]
    return {
        "texts": len(rows),
        "supporting": len(supporting),
        "supporting_right": round(sum(supporting) / max(1, len(supporting)), 3),
        "contradicting": len(contradicting),
        "contradicting_right": round(sum(contradicting) / max(1, len(contradicting)), 3),
    }


def cosines(found: Sequence[Labelled], embed: Embed) -> Scores:
    """Return how near each claim is to its evidence as a whole."""
    said, evidence = (embed(texts) for texts in ([one.case.claim for one in found], [one.case.text for one in found]))
    return np.asarray((said * evidence).sum(axis=1), dtype=np.float64)


def measure(rows: Sequence[dict[str, float]], cosine: Scores, truth: Truths) -> dict[str, Any]:
    """Set the three ways side by side over the second half."""
    half = len(truth) // 2
    checker = np.asarray([estimate_support(row) for row in rows])
    majority = bool(truth[:half].mean() >= 0.5)
    return {
        "claims": len(truth),
        "reported": len(truth) - half,
        "majority": asdict(_figures(np.full(len(truth) - half, majority), truth[half:])),
        "cosine": asdict(_figures(cosine[half:] >= _threshold(cosine[:half], truth[:half]), truth[half:])),
        "checker": asdict(_figures(checker[half:] >= MIN_SUPPORT, truth[half:])),
        "checker_first_half": asdict(_figures(checker[:half] >= MIN_SUPPORT, truth[:half])),
    }


def _figures(said: Truths, truth: Truths) -> Figures:
    return Figures(float((said == truth).mean()), float(np.mean([_f1(said, truth), _f1(~said, ~truth)])))


def _f1(said: Truths, truth: Truths) -> float:
    hits = int((said & truth).sum())
    return 2 * hits / (int(said.sum()) + int(truth.sum())) if hits else 0.0


def _measured(found: Sequence[Labelled], model: MiniLM) -> list[dict[str, float]]:
    return compute_features([one.case for one in found], model.embed, model.read_tokens)


def _threshold(scores: Scores, truth: Truths) -> float:
    """Return the threshold with the best macro-F1."""
    return float(max(np.unique(scores), key=lambda least: _figures(scores >= least, truth).macro_f1))


def fit(rows: Sequence[dict[str, float]], truth: Truths) -> tuple[dict[str, float], float]:
    """Return weights and bias of a logistic regression, found by Newton's method."""
    names = list(rows[0])
    values = np.asarray([[row[name] for name in names] for row in rows])
    mean, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    design = np.column_stack([(values - mean) / spread, np.ones(len(values))])
    penalty = np.diag([PENALTY] * len(names) + [0.0])
    weights = np.zeros(design.shape[1])
    for _ in range(25):
        said = 1.0 / (1.0 + np.exp(-design @ weights))
        slope = design.T @ (truth - said) - penalty @ weights
        weights += np.linalg.solve(design.T @ (design * (said * (1 - said))[:, None]) + penalty, slope)
    scaled = weights[:-1] / spread
    return dict(zip(names, scaled.round(3).tolist(), strict=True)), round(float(weights[-1] - scaled @ mean), 3)


def table(results: Mapping[str, dict[str, Any]]) -> str:
    """Set the figures as a table."""
    lines = [f"{'set':24}{'claims':>8}  {'way':10}{'accuracy':>10}{'macro-F1':>10}"]
    for name, result in results.items():
        for way in ("majority", "cosine", "checker"):
            figures = result[way]
            lines.append(
                f"{name:24}{result['reported']:>8}  {way:10}{figures['accuracy']:>10.3f}{figures['macro_f1']:>10.3f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a set of judged claims")
    parser.add_argument("--abstracts", type=Path, help="corpus of the abstracts that SciFact claims cite")
    parser.add_argument("--fit", action="store_true", help="print new weights, made from the first halves")
    parser.add_argument("--sides", action="store_true", help="measure the detection of support and contradiction")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if arguments.sides:
        print(json.dumps({path.stem: measure_sides(path) for path in arguments.files}, indent=4))
        return
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        model = MiniLM(Path(folder))
        sets = {
            path.stem: claims(path, arguments.abstracts or path.parent / ABSTRACTS, model.embed)
            for path in arguments.files
        }
        rows = {name: _measured(found, model) for name, found in sets.items()}
        near = {name: cosines(found, model.embed) for name, found in sets.items()}
    truths = {name: np.asarray([one.supported for one in found]) for name, found in sets.items()}
    if arguments.fit:
        first = [row for found in rows.values() for row in found[: len(found) // 2]]
        print(json.dumps(fit(first, np.concatenate([truth[: len(truth) // 2] for truth in truths.values()])), indent=4))
        return
    results = {name: measure(found, near[name], truths[name]) for name, found in rows.items()}
    print(json.dumps({"sets": results}) if arguments.json else table(results))


if __name__ == "__main__":
    main()
