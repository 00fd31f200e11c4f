"""Compare judged claims with their evidence, and report what the check of claims without a model says of them.

    python -m benchmarks.claims [FILE...] [--json] [--abstracts FILE]

The minimal pairs of `benchmarks/support/minimal_pairs.txt` are always measured: a source, claims in nearly its words or
in other words, and false claims that differ in a negation, a role, a number, a unit, a direction, a quantifier, a
condition or a modality. The rules were chosen on the sources with an even hash; those with an odd one are reported.

A FILE is one of SciFact (claims with cited abstracts) or FoolMeTwice (claims with gold evidence), one JSON object per
line. A SciFact claim without evidence is compared with its whole cited abstract; the abstracts are those of a BEIR
corpus (`--abstracts`, by default `../beir/scifact/corpus.jsonl` next to the file). No rule was chosen on these files.

"""

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tenure.algorithms.claims.entailment import judge_claim

ABSTRACTS = Path("../beir/scifact/corpus.jsonl")
MINIMAL_PAIRS = Path(__file__).parent / "support" / "minimal_pairs.txt"


@dataclass(frozen=True)
class LabelledClaim:
    """A claim with evidence and its label."""

    claim: str
    evidence: tuple[str, ...]
    kind: str
    """`true`, `paraphrase` for a true claim in other words, or the kind of a false one."""

    @property
    def is_true(self) -> bool:
        """Whether the evidence supports the claim."""
        return self.kind in ("true", "paraphrase")


@dataclass(frozen=True)
class ClaimFigures:
    """Verdicts on the claims of one kind."""

    claims: int
    supported: int
    refuted: int


def read_minimal_pairs(half: str) -> list[LabelledClaim]:
    """Read the minimal pairs whose sources have an `even` or an `odd` hash."""
    found: list[LabelledClaim] = []
    source = ""
    for line in MINIMAL_PAIRS.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            kind, _, claim = line.strip().partition(": ")
            found.append(LabelledClaim(claim, (source,), kind))
        elif line and not line.startswith("#"):
            source = line
    return [one for one in found if ("even", "odd")[_hash(one.evidence[0]) % 2] == half]


def _hash(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0]


def read_claims(path: Path, abstracts: Path) -> list[LabelledClaim]:
    """Read a set of judged claims."""
    rows = list(_rows(path))
    if rows and "gold_evidence" in rows[0]:
        return [
            LabelledClaim(
                row["claim"],
                tuple(one["text"] for one in row["gold_evidence"]),
                "true" if row["label"] == "SUPPORTS" else "false",
            )
            for row in rows
        ]
    documents = {str(row["_id"]): str(row["text"]) for row in _rows(abstracts)}
    return [_read_scifact(row, documents) for row in rows]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _read_scifact(row: Mapping[str, Any], documents: Mapping[str, str]) -> LabelledClaim:
    stated = tuple(sentence for one in row["evidence"] for sentence in one["text"])
    evidence = stated or tuple(documents[str(name)] for name in row["cited_doc_ids"])
    return LabelledClaim(row["claim"], evidence, "true" if row["label"] == "SUPPORT" else "false")


def measure(claims: Sequence[LabelledClaim]) -> dict[str, ClaimFigures]:
    """Return the verdicts by the kind of claim, and those on all false claims together."""
    verdicts = [(one, judge_claim(one.claim, one.evidence)) for one in claims]
    kinds = dict.fromkeys(one.kind for one in claims)
    groups = {kind: [verdict for one, verdict in verdicts if one.kind == kind] for kind in sorted(kinds)}
    groups["all false"] = [verdict for one, verdict in verdicts if not one.is_true]
    return {
        kind: ClaimFigures(len(found), found.count("supported"), found.count("refuted"))
        for kind, found in groups.items()
    }


def format_table(results: Mapping[str, Mapping[str, ClaimFigures]]) -> str:
    """Return the figures as a table."""
    lines = [f"{'set':20}{'claims':14}{'number':>8}{'supported':>11}{'refuted':>9}{'supported, %':>14}"]
    for name, kinds in results.items():
        for kind, one in kinds.items():
            share = 100 * one.supported / max(1, one.claims)
            lines.append(f"{name:20}{kind:14}{one.claims:>8}{one.supported:>11}{one.refuted:>9}{share:>14.1f}")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a set of judged claims")
    parser.add_argument("--abstracts", type=Path, help="corpus of the abstracts that SciFact claims cite")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    results = {
        "minimal pairs, odd": measure(read_minimal_pairs("odd")),
        **{
            path.stem: measure(read_claims(path, arguments.abstracts or path.parent / ABSTRACTS))
            for path in arguments.files
        },
    }
    if arguments.json:
        shown = {name: {kind: asdict(one) for kind, one in kinds.items()} for name, kinds in results.items()}
        print(json.dumps({"sets": shown}))
    else:
        print(format_table(results))


if __name__ == "__main__":
    main()
