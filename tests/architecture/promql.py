"""Read the expressions of alert rules and dashboards: the metrics, labels and values that they name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser
import yaml

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
ALERTS = MONITORING / "alerts.yml"
DASHBOARD = MONITORING / "grafana" / "tenure.json"

TARGET_LABELS = {"job", "instance"}
"""Labels that Prometheus adds to every series."""

SYNTHETIC = {"up": TARGET_LABELS}
"""Series that Prometheus makes itself, with their labels."""


@dataclass(frozen=True)
class Selector:
    """A selection of series in an expression."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]
    """Label, operator and value of each condition."""


@dataclass(frozen=True)
class Reading:
    """Series and labels that an expression reads."""

    selectors: tuple[Selector, ...]
    grouping: frozenset[str]
    """Labels by which it groups or joins."""


def read_rules() -> list[dict[str, Any]]:
    """Return the alert rules."""
    content = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    return [rule for group in content["groups"] for rule in group["rules"]]


def read_panels() -> list[dict[str, Any]]:
    """Return the panels of the dashboard, without its rows."""
    content = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [panel for panel in content["panels"] if panel["type"] != "row"]


def read_expressions() -> dict[str, str]:
    """Return all expressions by the name of their alert or panel."""
    found = {rule["alert"]: rule["expr"] for rule in read_rules()}
    for panel in read_panels():
        for target in panel["targets"]:
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    return found


def parse(expression: str) -> Reading:
    """Parse an expression."""
    selectors: list[Selector] = []
    grouping: set[str] = set()
    for node in _walk(promql_parser.parse(expression)):
        if isinstance(node, promql_parser.VectorSelector):
            matchers = tuple((one.name, str(one.op), one.value) for one in node.matchers.matchers)
            selectors.append(Selector(str(node.name), matchers))
        modifier = getattr(node, "modifier", None)
        if modifier is not None:
            labels = getattr(modifier, "labels", None) or getattr(getattr(modifier, "matching", None), "labels", None)
            grouping |= set(labels or ())
    return Reading(tuple(selectors), frozenset(grouping))


def _walk(root: promql_parser.Expr) -> list[Any]:
    """Return all nodes of an expression."""
    nodes: list[Any] = []

    def visit(node: Any) -> bool:
        nodes.append(node)
        return True

    promql_parser.walk(root, pre_visit=visit)
    return nodes


def parse_scrape(text: str) -> dict[str, list[Mapping[str, str]]]:
    """Return the label sets of all series of a scrape by the name of the series."""
    series: dict[str, list[Mapping[str, str]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition("{")
            labels = {}
            if rest:
                for part in rest.rpartition("}")[0].split('",'):
                    label, _, value = part.partition('="')
                    labels[label] = value.removesuffix('"')
            series.setdefault(name if rest else line.split(" ")[0], []).append(labels)
    return series


def find_faults(expression: str, series: Mapping[str, Sequence[Mapping[str, str]]]) -> list[str]:
    """Return the names in an expression that a scrape does not contain."""
    reading, faults = parse(expression), list[str]()
    known: set[str] = set(TARGET_LABELS)
    for selector in reading.selectors:
        if selector.name in SYNTHETIC:
            known |= SYNTHETIC[selector.name]
            continue
        if selector.name not in series:
            faults.append(f"no series {selector.name}")
            continue
        labels = set().union(*series[selector.name])
        known |= labels
        for label, operator, value in selector.matchers:
            values = {one.get(label, "") for one in series[selector.name]}
            if label not in labels | TARGET_LABELS:
                faults.append(f"{selector.name} has no label {label}")
            wanted = value.split("|") if "Re" in operator else [value]
            if label in labels and not set(wanted) <= values:
                faults.append(f"{selector.name} has no {label} of {value!r}")
    faults += [f"no series has the label {label}" for label in sorted(reading.grouping - known)]
    return faults
