"""Test that alerts, dashboard, metrics and runbook fit each other, without a worker."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tenure.cli.parser import build_parser
from tenure.metrics import ALL_METRICS
from tenure.temporal.stack.server import find_binary
from tests.architecture.promql import (
    DASHBOARD,
    MONITORING,
    ROOT,
    SYNTHETIC,
    find_faults,
    parse,
    parse_scrape,
    read_expressions,
    read_panels,
    read_rules,
)
from tests.support.tiers import slow

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
SITUATIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", RUNBOOK, re.MULTILINE))
SDK_METRIC = re.compile(r"temporal_[a-z_]+")
SHELL_LINES = [
    line.strip()
    for block in re.findall(r"^```sh\n(.*?)^```", RUNBOOK, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as web front ends of repositories make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("name", read_expressions())
def test_an_expression_reads_metrics_that_are_defined(name: str) -> None:
    """Every metric of the product in an alert or panel is in the table, with its labels."""
    defined = {metric.exported_name: set(metric.labels) for metric in ALL_METRICS}
    for selector in parse(read_expressions()[name]).selectors:
        base = re.sub(r"_(bucket|sum|count)$", "", selector.name)
        if selector.name in SYNTHETIC or SDK_METRIC.fullmatch(selector.name):
            continue
        labels = defined.get(selector.name, defined.get(base))
        assert labels is not None, selector.name
        assert {label for label, _, _ in selector.matchers} <= labels


def test_every_alert_leads_to_a_situation_of_the_runbook() -> None:
    """The link of each alert is a heading, whose text names the alert."""
    headings = {anchor(heading): text for heading, text in SITUATIONS.items()}
    for rule in read_rules():
        page, _, fragment = rule["annotations"]["runbook_url"].partition("#")
        assert page == "docs/runbook.md"
        assert f"`{rule['alert']}`" in headings.get(fragment, ""), rule["alert"]


def test_alerts_have_all_that_an_operator_needs() -> None:
    """Names are unique, and each alert has a severity, a summary and a description."""
    rules = read_rules()

    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    for rule in rules:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}


@pytest.mark.parametrize("heading", [name for name in SITUATIONS if name != "First look at an alert"])
def test_a_situation_has_symptom_check_and_fix(heading: str) -> None:
    """Each situation says how it shows, which command confirms it, and which one ends it."""
    text = SITUATIONS[heading]

    assert "**Symptom:**" in text
    assert re.search(r"\*\*Check( and fix)?:\*\*", text)
    assert re.search(r"(\*\*Fix|Check and fix)", text)
    assert "```sh" in text


def test_the_runbook_has_the_situations_that_operators_meet() -> None:
    """No situation of the list is missing."""
    wanted = {
        *("Stuck run", "Full disk", "Lost key", "Server moved", "Upgrade", "Restore"),
        *("Frozen worker", "Queue lag", "Model server down"),
    }

    assert wanted <= SITUATIONS.keys()


@pytest.mark.parametrize("line", [line for line in dict.fromkeys(SHELL_LINES) if "client.py" in line])
def test_a_command_of_the_client_parses(line: str) -> None:
    """The real parser accepts each client command of the runbook."""
    build_parser().parse_args(shlex.split(line.partition("client.py ")[2]))


@slow
@pytest.mark.parametrize("line", [line for line in dict.fromkeys(SHELL_LINES) if line.startswith("temporal ")])
def test_a_command_of_temporal_exists(line: str) -> None:
    """The installed `temporal` has the subcommand and the options of each line."""
    words = shlex.split(line)[1:]
    subcommand = [word for word in words[: next(i for i, word in enumerate(words) if word.startswith("-"))]]
    shown = subprocess.run(
        [str(find_binary()), *subcommand, "--help"], capture_output=True, text=True, check=True, timeout=60
    ).stdout

    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", shown), option


def test_every_program_of_the_runbook_is_known() -> None:
    """Shell lines start with a program of the project or of every machine."""
    known = {"python", "temporal", "docker", "uv", "export", "tail", "grep", "ps", "kill", "df", "du", "rm", "mv"}

    assert {line.split()[0] for line in SHELL_LINES} <= known


def test_the_dashboard_is_complete() -> None:
    """Panels have unique ids and titles, do not overlap, and read the source that a person chooses."""
    content = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    panels = read_panels()
    cells = [
        (x, y)
        for panel in content["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len({panel["id"] for panel in content["panels"]}) == len(content["panels"])
    assert len({panel["title"] for panel in panels}) == len(panels) >= 20
    assert len(cells) == len(set(cells))
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in panels)


def test_every_metric_of_the_product_is_on_the_dashboard() -> None:
    """An operator sees each metric without writing an expression."""
    used = {selector.name for expression in read_expressions().values() for selector in parse(expression).selectors}
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in used}

    assert {metric.exported_name for metric in ALL_METRICS} - shown == {"tenure_home_size_bytes"} - shown


def test_labels_hold_nothing_of_a_run() -> None:
    """No label is made for a run, an owner, a corpus or a text."""
    labels = {label for metric in ALL_METRICS for label in metric.labels}

    assert labels <= {
        *("role", "outcome", "priced", "kind", "status", "phase", "state", "cache", "result", "mode", "provider"),
        *("origin", "verdict", "activity", "error", "queue", "version"),
    }


def test_grafana_and_prometheus_read_each_other() -> None:
    """The data source, the rules and the dashboard are where the services look for them."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    source = yaml.safe_load((MONITORING / "grafana" / "datasource.yml").read_text(encoding="utf-8"))
    provider = yaml.safe_load((MONITORING / "grafana" / "dashboards.yml").read_text(encoding="utf-8"))
    scraping = yaml.safe_load((MONITORING / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = scraping["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    folder = Path(provider["providers"][0]["options"]["path"])

    assert source["datasources"][0]["url"] == "http://prometheus:9090"
    assert any(mount.split(":")[1] == str(folder / "tenure.json") for mount in compose["grafana"]["volumes"])
    assert {mount.split(":")[1] for mount in compose["prometheus"]["volumes"]} >= set(scraping["rule_files"])
    assert job["job_name"] == "tenure"
    for name in found["names"]:
        assert compose[name]["environment"]["TENURE_METRICS_PORT"] == str(found["port"])
    assert {compose[name]["profiles"][0] for name in ("prometheus", "grafana")} == {"monitoring"}


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("tenure_gone_total", "no series tenure_gone_total"),
        ('tenure_runs_total{size="big"}', "tenure_runs_total has no label size"),
        ('tenure_runs_total{status="lost"}', "tenure_runs_total has no status of 'lost'"),
        ('rate(tenure_runs_total{status=~"done|lost"}[5m])', "tenure_runs_total has no status of 'done|lost'"),
        ("sum by (colour) (tenure_runs_total)", "no series has the label colour"),
        ('sum by (status) (tenure_runs_total{status="done"}) and on () up{job="tenure"} == 1', ""),
    ],
)
def test_an_expression_that_reads_nothing_is_found(expression: str, fault: str) -> None:
    """Names, labels, values and groupings that a scrape does not contain are faults."""
    series = parse_scrape('# TYPE tenure_runs_total counter\ntenure_runs_total{status="done",mode="a{b"} 2\nplain 1\n')

    assert series["plain"] == [{}]
    assert find_faults(expression, series) == ([fault] if fault else [])
