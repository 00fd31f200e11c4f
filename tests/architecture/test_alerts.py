"""Test when the alerts fire, by the tool that comes with Prometheus."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.promql import ALERTS, MONITORING, read_rules
from tests.support.tiers import slow

PROMTOOL = shutil.which("promtool")

needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="no promtool on this machine: `apt-get install prometheus` installs it"
)

UP = 'up{job="tenure",instance="a"}'
HEARTBEAT = 'tenure_worker_heartbeat_timestamp_seconds{instance="a"}'
AGE = 'tenure_task_queue_backlog_age_seconds{queue="tenure-model",kind="activity",instance="a"}'
PROGRAMS = 'tenure_sandbox_verdicts_total{verdict="%s"}'
BACKLOG = 'tenure_task_queue_backlog{queue="tenure-web",kind="activity",instance="a"}'
POLLERS = 'tenure_task_queue_pollers{queue="tenure-web",kind="activity",instance="a"}'
TASKS = 'temporal_workflow_task_execution_failed_total{workflow_type="SpiralWorkflow",instance="a"}'
OPEN = 'tenure_runs_open{state="active",instance="a"}'
SLOTS = 'temporal_worker_task_slots_used{worker_type="ActivityWorker",task_queue="tenure",instance="a"}'
RECEIVED = 'temporal_activity_task_received_total{task_queue="tenure",instance="a"}'


def calls(outcome: str) -> str:
    """Return the series of calls with an outcome."""
    return f'tenure_model_calls_total{{role="router",outcome="{outcome}",instance="a"}}'


@dataclass(frozen=True)
class Case:
    """Series of a minute's interval, and whether an alert fires at a minute."""

    alert: str
    about: str
    minute: int
    fires: bool
    series: dict[str, str]


CASES = [
    Case("TenureNoWorker", "gone", 5, True, {UP: "1 1 0x10"}),
    Case("TenureNoWorker", "one of two", 5, False, {UP: "0x10", UP.replace('"a"', '"b"'): "1x10"}),
    Case("TenureNoWorker", "never seen", 5, True, {}),
    Case("TenureWorkerFrozen", "loop hangs", 5, True, {UP: "1x10", HEARTBEAT: "0 60 60x10"}),
    Case("TenureWorkerFrozen", "alive", 5, False, {UP: "1x10", HEARTBEAT: "0+60x10"}),
    Case("TenureWorkerFrozen", "does not answer", 5, True, {UP: "1 1 0x10"}),
    Case("TenureWorkerFrozen", "stopped long ago", 30, False, {UP: "1 1 0x40"}),
    Case("TenureWorkerFrozen", "port that nothing uses", 5, False, {UP: "0x10"}),
    Case("TenureTemporalDown", "down", 5, True, {'tenure_temporal_up{instance="a"}': "1 0x10"}),
    Case("TenureTemporalDown", "up", 5, False, {'tenure_temporal_up{instance="a"}': "1x10"}),
    Case("TenureQueueLag", "old tasks", 25, True, {AGE: "0+60x40"}),
    Case("TenureQueueLag", "burst that ends", 25, False, {AGE: "0+60x12 0x40"}),
    Case("TenureQueueUnserved", "no poller", 8, True, {BACKLOG: "0 3x20", POLLERS: "1 0x20"}),
    Case("TenureQueueUnserved", "served", 8, False, {BACKLOG: "0 3x20", POLLERS: "1x20"}),
    Case("TenureQueueUnserved", "nothing to do", 8, False, {BACKLOG: "0x20", POLLERS: "0x20"}),
    Case("TenureWorkflowTasksFail", "rising", 15, True, {TASKS: "0x10 1 2 3 4 5x10"}),
    Case("TenureWorkflowTasksFail", "first failure", 15, True, {TASKS: "_x11 1x20"}),
    Case("TenureWorkflowTasksFail", "over", 40, False, {TASKS: "0x10 1 2 3x40"}),
    Case("TenureRunsStuck", "nothing runs", 50, True, {OPEN: "1x60", SLOTS: "0x60", RECEIVED: "5x60"}),
    Case("TenureRunsStuck", "long activity", 50, False, {OPEN: "1x60", SLOTS: "1x60", RECEIVED: "5x60"}),
    Case("TenureRunsStuck", "retries", 50, False, {OPEN: "1x60", SLOTS: "0x60", RECEIVED: "5+1x60"}),
    Case("TenureRunsStuck", "no run", 50, False, {OPEN: "0x60", SLOTS: "0x60", RECEIVED: "5x60"}),
    Case("TenureModelUnavailable", "down", 12, True, {calls("unavailable"): "0+2x20", calls("answered"): "9x20"}),
    Case("TenureModelUnavailable", "busy", 12, False, {calls("unavailable"): "0+2x20", calls("answered"): "0+9x20"}),
    Case("TenureModelRejects", "wrong key", 5, True, {calls("rejected"): "0 0 1x20"}),
    Case("TenureModelRejects", "none", 5, False, {calls("rejected"): "0x20"}),
    Case("TenureModelAnswersUnusable", "third", 50, True, {calls("fallback"): "0+1x60", calls("answered"): "0+2x60"}),
    Case("TenureModelAnswersUnusable", "tenth", 50, False, {calls("fallback"): "0+1x60", calls("answered"): "0+9x60"}),
    Case("TenureDiskFull", "bytes", 5, True, {'tenure_home_free_bytes{instance="a"}': "1e9x20"}),
    Case(
        "TenureDiskFull",
        "share",
        5,
        True,
        {'tenure_home_free_bytes{instance="a"}': "2e10x20", 'tenure_home_size_bytes{instance="a"}': "1e12x20"},
    ),
    Case(
        "TenureDiskFull",
        "enough",
        5,
        False,
        {'tenure_home_free_bytes{instance="a"}': "2e10x20", 'tenure_home_size_bytes{instance="a"}': "1e11x20"},
    ),
    Case("TenureRunsFail", "one", 5, True, {'tenure_runs_total{status="failed",instance="a"}': "0 0 1x20"}),
    Case("TenureRunsFail", "none", 5, False, {'tenure_runs_total{status="failed",instance="a"}': "3x20"}),
    Case("TenureSandboxFails", "many", 14, True, {PROGRAMS % "error": "0+1x20"}),
    Case("TenureSandboxFails", "failing tests", 14, False, {PROGRAMS % "failed": "0+1x20"}),
    Case(
        "TenureVersionsDiffer",
        "two",
        70,
        True,
        {
            'tenure_worker_info{version="0.1.0",instance="a"}': "1x80",
            'tenure_worker_info{version="0.2.0",instance="b"}': "1x80",
        },
    ),
    Case("TenureVersionsDiffer", "one", 70, False, {'tenure_worker_info{version="0.1.0",instance="a"}': "1x80"}),
]


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    """No alert is without an example of both."""
    names = {rule["alert"] for rule in read_rules()}

    assert {case.alert for case in CASES if case.fires} == names
    assert {case.alert for case in CASES if not case.fires} == names


@slow
@needs_promtool
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}-{case.about}")
def test_an_alert_fires_when_it_should(case: Case, tmp_path: Path) -> None:
    """Prometheus evaluates the rule over the series of the case."""
    firing = f'count(ALERTS{{alertname="{case.alert}",alertstate="firing"}}) or vector(0)'
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "promql_expr_test": [
            {
                "expr": firing,
                "eval_time": f"{case.minute}m",
                "exp_samples": [{"labels": "{}", "value": int(case.fires)}],
            }
        ],
    }
    file = tmp_path / "case.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [test]}))
    ran = subprocess.run(
        [str(PROMTOOL), "test", "rules", str(file)], capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


@slow
@needs_promtool
def test_prometheus_reads_its_configuration() -> None:
    """The scrape configuration and the rules have the form that Prometheus reads."""
    for command in (
        ("check", "rules", str(ALERTS)),
        ("check", "config", "--syntax-only", str(MONITORING / "prometheus.yml")),
    ):
        ran = subprocess.run([str(PROMTOOL), *command], capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
