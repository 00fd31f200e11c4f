"""Test the deployment files by schemas, settings and a real server, without a container engine."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import AliasChoices
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.settings import Settings
from tenure.temporal.shutdown import SHUTDOWN_MARGIN_SECONDS
from tenure.temporal.stack.server import build_command
from tenure.temporal.stack.source import WORKER_SOURCES
from tests.support.ports import free_ports
from tests.support.servers.temporal_server import run_temporal_server
from tests.support.tiers import RUN_ALL, slow
from tests.support.waiting import wait_until
from tests.support.workers import PatientWorker
from workflows.runtime import search_attributes
from workflows.runtime import task_queues as queues

ROOT = Path(__file__).resolve().parents[2]
BINARIES = Path(sys.executable).parent
COMPOSE_TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONE_SHOTS = {
    dependency
    for service in SERVICES.values()
    for dependency, how in service.get("depends_on", {}).items()
    if how["condition"] == "service_completed_successfully"
}
WORKERS = {name: service for name, service in SERVICES.items() if "build" in service}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def setting_names() -> set[str]:
    """Return every name that a setting is read from."""
    names: set[str] = set()
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        names |= (
            {str(choice) for choice in alias.choices} if isinstance(alias, AliasChoices) else {f"TENURE_{name.upper()}"}
        )
    return names | {
        f"TENURE_{provider}_{suffix}".upper()
        for provider in list_extensions(SEARCH_PROVIDERS)
        for suffix in ("key", "token", "url")
    }


def queues_of(arguments: list[str]) -> list[str]:
    """Return the task queues that a command line names."""
    return arguments[arguments.index("--queues") + 1].split(",")


def test_compose_follows_the_compose_specification() -> None:
    """The file validates against the Compose specification's own schema."""
    vendored = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    schema = json.loads(vendored.read_text(encoding="utf-8"))

    assert [error.message for error in Draft202012Validator(schema).iter_errors(COMPOSE)] == []


@pytest.mark.parametrize(
    "path",
    [
        "docker-compose.yml",
        "deploy/draining.yml",
        "deploy/compose.env.example",
        "deploy/worker.env.example",
        "deploy/payload-keys.env.example",
    ],
)
def test_every_tenure_variable_is_a_setting(path: str) -> None:
    """No file of the deployment sets or reads a TENURE_ or OPENAI_ variable that the code does not know."""
    used = set(re.findall(r"\b(?:TENURE|OPENAI)_[A-Z_]+\b", (ROOT / path).read_text(encoding="utf-8")))

    assert used <= setting_names()
    assert used


def test_every_task_queue_has_a_worker() -> None:
    """The workers together serve all task queues there are, and no other."""
    served = [queue for worker in WORKERS.values() for queue in queues_of(worker["command"])]

    assert sorted(served) == sorted(queues.ALL_QUEUES)


def test_a_worker_is_healthy_only_if_it_polls_what_it_serves() -> None:
    """Each worker's health check asks for exactly its own queues."""
    for worker in WORKERS.values():
        assert queues_of(worker["healthcheck"]["test"]) == queues_of(worker["command"])


def test_images_are_pinned() -> None:
    """Every image of the Dockerfile, Compose and Kubernetes names a version and its digest, but those built here."""
    files_ = [ROOT / "Dockerfile", ROOT / "docker-compose.yml", *(ROOT / "deploy").rglob("*.y*ml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files_)
    images = re.findall(r"^\s*(?:- )?(?:FROM|image:) +(\S+)", text, re.MULTILINE)
    foreign = {image for image in images if not image.startswith("tenure-worker:")}

    assert {service["image"] for service in SERVICES.values()} <= set(images)
    assert [image for image in foreign if not re.search(r":v?\d+\.\d+\S*@sha256:[0-9a-f]{64}$", image)] == []
    assert len({image.partition("@")[0] for image in foreign}) == len(foreign) == 9


def test_packages_of_the_image_are_installed_by_their_hashes() -> None:
    """Every installation of the Dockerfile requires hashes: uv by its own, all others by those of the constraints."""
    runs = re.findall(r"^RUN (?:.*\\\n)*.*$", DOCKERFILE, re.MULTILINE)
    installing = [run for run in runs if re.search(r"\b(?:install|sync|add)\b(?! --directory)", run)]

    assert len(installing) == 2
    assert all("--require-hashes" in run for run in installing)
    assert re.search(r'"uv==\S+ \\\n(?: +--hash=sha256:[0-9a-f]{64}["\\ \n]+){2}', installing[0])
    assert "--constraints deploy/constraints.txt" in installing[1]


@pytest.mark.parametrize("name", SERVICES)
def test_every_lasting_service_has_a_health_check(name: str) -> None:
    """Long-running services have health checks; one-off services are waited for."""
    assert ("healthcheck" in SERVICES[name]) == (name not in ONE_SHOTS)


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_bound_to_the_loopback_interface(name: str) -> None:
    """Nothing listens to the network by default, and only the proxy of a team has a setting for it."""
    ports = SERVICES[name].get("ports", [])
    if name == "team-proxy":
        ports = [port.replace("${TEAM_ADDRESS:-127.0.0.1}", "127.0.0.1") for port in ports]
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_a_team_is_served_behind_tls_by_processes_without_privileges() -> None:
    """The proxy reaches nothing but the server, which has no port and no capability."""
    server, proxy = SERVICES["team"], SERVICES["team-proxy"]
    assert SERVICES["model-worker"]["env_file"][1] in server["env_file"]
    configuration = (ROOT / "deploy" / "team-proxy.conf").read_text(encoding="utf-8")

    assert "ports" not in server
    assert "knowledge:/var/lib/tenure" in server["volumes"]
    assert proxy["networks"] == ["team"]
    for service in (server, proxy):
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert "@sha256:" in service["image"] or service["pull_policy"] == "never"
    assert f"proxy_pass http://team:{server['environment']['TENURE_SITE_PORT']};" in configuration
    assert proxy["ports"][0].endswith(":8443") and "listen 8443 ssl;" in configuration
    example = (ROOT / "deploy" / "team.env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"^#?(TENURE_[A-Z_]+)=", example, re.MULTILINE)) <= setting_names()


@pytest.mark.parametrize("name", ["temporal", "ui", "postgres"])
def test_services_without_a_login_are_not_published(name: str) -> None:
    """Neither Temporal, its web UI nor the database is reachable from the machine, except through the gate."""
    assert "ports" not in SERVICES[name]


def test_the_web_ui_is_published_behind_the_gate() -> None:
    """The gate serves the web UI's service under the published number, which it compares with every request."""
    gate = SERVICES["ui-gate"]
    (published,) = gate["ports"]
    port = gate["environment"]["TENURE_UI_PORT"]

    assert published == f"127.0.0.1:{port}:{port}"
    assert gate["command"][:2] == ["--server", "ui:8080"]
    assert "standalone" in gate["entrypoint"][-1]
    assert f"gate:{gate['environment']['TENURE_HOME']}" in gate["volumes"]


def test_mounted_files_exist_and_named_volumes_are_declared() -> None:
    """Every bind mount has its file in the repository and every other mount a named volume."""
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    local = [mount.split(":")[0] for mount in mounts if mount.startswith("./")]
    named = [mount.split(":")[0] for mount in mounts if not mount.startswith((".", "$"))]

    assert local
    assert all((ROOT / path).is_file() for path in local)
    assert set(named) == set(COMPOSE["volumes"])


def test_the_knowledge_base_outlives_the_workers() -> None:
    """The home of every worker but the one that runs programs is the named volume."""
    for name, worker in WORKERS.items():
        if name == "sandbox-worker":
            continue
        assert f"knowledge:{worker['environment']['TENURE_HOME']}" in worker["volumes"]


def test_all_services_agree_on_the_namespace() -> None:
    """Workers, those of the version before, the registration and the web UI take it from one variable."""
    draining = yaml.safe_load((ROOT / "deploy" / "draining.yml").read_text(encoding="utf-8"))["services"]
    named = [
        value
        for service in (*SERVICES.values(), *draining.values())
        for name, value in service.get("environment", {}).items()
        if name in ("TEMPORAL_NAMESPACE", "TEMPORAL_DEFAULT_NAMESPACE")
    ]

    assert set(named) == {"${TEMPORAL_NAMESPACE:-default}"}
    assert len(named) == len(WORKERS) + len(draining) + 3  # the registration, the web UI and the server of a team


def test_programs_have_nothing_of_the_stack_around_them() -> None:
    """The worker of programs has no volume, no keys, no capability, a read-only root and only the gate in reach."""
    worker, gate = SERVICES["sandbox-worker"], SERVICES["sandbox-gate"]
    networks = {name: service.get("networks", ["default"]) for name, service in SERVICES.items()}

    assert (worker["volumes"], worker["networks"]) == ([], ["programs"])
    assert [file["path"] for file in worker["env_file"]] == ["deploy/payload-keys.env"]
    assert {name for name, joined in networks.items() if "programs" in joined} == {"sandbox-worker", "sandbox-gate"}
    assert COMPOSE["networks"]["programs"] == {"internal": True}
    assert set(worker["environment"]) == {
        *("TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TENURE_HOME", "TENURE_WORKER_VERSIONING"),
    }
    assert worker["environment"]["TEMPORAL_ADDRESS"] == "sandbox-gate:7233"
    assert any(mount.startswith(f"{worker['environment']['TENURE_HOME']}:") for mount in worker["tmpfs"])
    for service in (worker, gate):
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert "no-new-privileges:true" in service["security_opt"]
        assert "ports" not in service
    assert gate["volumes"] == ["./deploy/sandbox-gate.conf:/etc/nginx/gate.conf:ro"]


def test_every_worker_can_read_encrypted_requests_and_programs_have_no_other_secret() -> None:
    """All workers read the file of payload keys, and its example names what decrypts or checks requests only."""
    example = (ROOT / "deploy" / "payload-keys.env.example").read_text(encoding="utf-8")
    others = (ROOT / "deploy" / "worker.env.example").read_text(encoding="utf-8")
    secrets = {"TENURE_ENCRYPTION_KEYS", "TENURE_OWNERS"}

    assert all("deploy/payload-keys.env" in [file["path"] for file in one["env_file"]] for one in WORKERS.values())
    assert set(re.findall(r"^#(TENURE_[A-Z_]+|OPENAI_[A-Z_]+)=", example, re.MULTILINE)) == secrets
    assert not any(name in others for name in secrets)


def test_a_worker_is_stopped_later_than_it_stops_by_itself() -> None:
    """The engine waits longer than the worker's own limit, which lets a model call of the default length finish."""
    for name, worker in WORKERS.items():
        seconds = float(worker["environment"].get("TENURE_SHUTDOWN_SECONDS", Settings(_env_file=None).shutdown_seconds))
        grace = float(worker["stop_grace_period"].removesuffix("s"))

        assert seconds + SHUTDOWN_MARGIN_SECONDS < grace
        assert name == "sandbox-worker" or seconds >= Settings(_env_file=None).model_timeout


def test_the_gate_lets_through_what_a_worker_of_activities_asks() -> None:
    """The gate names methods one by one; none of them starts, signals, lists or reads a workflow."""
    text = (ROOT / "deploy" / "sandbox-gate.conf").read_text(encoding="utf-8")
    found = re.search(r"WorkflowService/\(([A-Za-z|]+)\)\$ \{", text)

    assert found is not None
    assert set(found[1].split("|")) == {
        *("GetSystemInfo", "DescribeNamespace", "PollActivityTaskQueue"),
        *("RecordActivityTaskHeartbeat", "RespondActivityTaskCompleted", "RespondActivityTaskFailed"),
        *("RespondActivityTaskCanceled", "RecordWorkerHeartbeat", "ShutdownWorker"),
    }
    assert text.count("grpc_pass") == 2
    assert "add_header grpc-status 7 always;" in text


def test_the_server_is_given_settings_that_it_knows() -> None:
    """The dynamic configuration has the form that the server reads, and owners take turns as on the local stack."""
    given = yaml.safe_load((ROOT / "deploy" / "temporal" / "dynamic-config.yaml").read_text(encoding="utf-8"))
    entry = {"type": "object", "required": ["value"], "properties": {"value": {}, "constraints": {"type": "object"}}}
    entries = {"type": "array", "minItems": 1, "items": {**entry, "additionalProperties": False}}
    schema = {"type": "object", "additionalProperties": entries}
    local = build_command(Settings(_env_file=None), Path("temporal"))
    shared = {local[at + 1].partition("=")[0] for at, part in enumerate(local) if part == "--dynamic-config-value"}
    mount = SERVICES["temporal"]["volumes"][0].split(":")

    assert [error.message for error in Draft202012Validator(schema).iter_errors(given)] == []
    assert set(given) == shared
    assert given["matching.enableFairness"] == [{"value": True}]
    assert (ROOT / mount[0]).name == "dynamic-config.yaml"
    assert SERVICES["temporal"]["environment"]["DYNAMIC_CONFIG_FILE_PATH"] == mount[1]


def test_every_worker_has_the_version_of_its_image() -> None:
    """All workers take part in versioning, one of them makes the version current, and a setting turns it off."""
    commands = {name: worker["command"][2:] for name, worker in WORKERS.items()}

    assert commands.pop("worker") == ["--make-current"]
    assert {tuple(options) for options in commands.values()} == {("--versioned",)}
    for worker in WORKERS.values():
        assert worker["environment"]["TENURE_WORKER_VERSIONING"] == "${TENURE_WORKER_VERSIONING:-on}"


def test_the_image_contains_the_source_of_its_version() -> None:
    """The image has every file that the build id is computed from, so that it is the one of the repository."""
    copies = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    sources = {source for line in copies for source in shlex.split(line)[:-1]}

    assert set(WORKER_SOURCES) <= sources


def test_draining_workers_are_those_of_the_version_before() -> None:
    """Workers of the image before an upgrade serve all queues, under the same restrictions, and get no new runs."""
    text = (ROOT / "deploy" / "draining.yml").read_text(encoding="utf-8")
    draining = yaml.safe_load(text)["services"]
    vendored = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    schema = json.loads(vendored.read_text(encoding="utf-8"))
    own = {"image", "build", "pull_policy", "command", "healthcheck", "environment"}

    assert [error.message for error in Draft202012Validator(schema).iter_errors(yaml.safe_load(text))] == []
    served = [queue for worker in draining.values() for queue in queues_of(worker["command"])]
    assert sorted(served) == sorted(queues.ALL_QUEUES)
    for name, worker in draining.items():
        today = SERVICES[name.removeprefix("draining-")]
        assert (worker["image"], worker["pull_policy"]) == ("tenure-worker:draining", "never")
        assert worker["command"][2:] == ["--versioned"]
        assert queues_of(worker["healthcheck"]["test"]) == queues_of(worker["command"])
        assert {key: value for key, value in worker.items() if key not in own} == {
            key: value for key, value in today.items() if key not in own
        }
        more = {"TENURE_WORKER_VERSIONING": "on"}
        searching = {"TENURE_SEARXNG_URL": WORKERS["web-worker"]["environment"]["TENURE_SEARXNG_URL"]}
        expected = today["environment"] | more | (searching if name == "draining-worker" else {})
        assert worker["environment"] == expected


def test_secrets_are_not_in_the_repository() -> None:
    """Passwords and keys come from ignored files, and the examples hold none."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    examples = [path.read_text(encoding="utf-8") for path in (ROOT / "deploy").glob("*.env.example")]

    assert {".env", "deploy/*.env"} <= set(ignored)
    assert len(examples) == 4
    assert not any(re.search(r"(PASSWORD|KEY|SECRET)=\S", text) for text in examples)
    assert {"POSTGRES_PASSWORD:?", "SEARXNG_SECRET:?"} <= set(re.findall(r"\w+:\?", COMPOSE_TEXT))


def test_the_search_engine_gives_what_workers_ask_for() -> None:
    """The settings of SearXNG allow JSON, turn no worker away, and hold no secret; the worker knows where it is."""
    given = yaml.safe_load((ROOT / "deploy" / "searxng" / "settings.yml").read_text(encoding="utf-8"))

    assert "json" in given["search"]["formats"]
    assert given["server"]["limiter"] is False
    assert "secret_key" not in given["server"]
    assert given["use_default_settings"] is True
    assert WORKERS["web-worker"]["environment"]["TENURE_SEARXNG_URL"] == "http://searxng:8080"


def test_the_dockerfile_copies_what_exists() -> None:
    """Every COPY from the build context has an existing source that the build context contains."""
    copies = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    sources = [source for line in copies for source in shlex.split(line)[:-1]]
    admitted = re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)

    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert {source.split("/")[0] for source in sources} == set(admitted)


def test_the_image_runs_as_an_ordinary_user() -> None:
    """The last user of the image is not root."""
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE) == ["tenure"]


@slow
@pytest.mark.parametrize("name", WORKERS if RUN_ALL else ("worker",))
def test_worker_commands_parse(name: str) -> None:
    """worker.py understands the command that the service gives it."""
    entry = json.loads(DOCKERFILE.rstrip().rpartition("ENTRYPOINT ")[2])
    port = re.findall(r"TENURE_HEALTH_PORT=(\d+)", DOCKERFILE)
    command = [sys.executable, *entry[1:3], sys.executable, *entry[4:], *WORKERS[name]["command"], "--help"]
    environment = os.environ | {"TENURE_HEALTH_PORT": port[0]}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=False)

    assert ran.returncode == 0


@pytest.mark.parametrize("script", sorted((ROOT / "deploy").rglob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_posix_shell(script: Path) -> None:
    """A script parses in the plain shell that runs it."""
    ran = subprocess.run(["sh", "-n", script], check=False)

    assert ran.returncode == 0


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[WorkflowEnvironment]:
    """Start a Temporal server that knows none of Tenure's search attributes."""
    async with run_temporal_server(search_attributes=[]) as env:
        yield env


@slow
def test_registration_creates_every_search_attribute_and_can_be_repeated(server: WorkflowEnvironment) -> None:
    """On a real server the script leaves the attributes that the workflows set, the second time too."""
    address = server.client.service_client.config.target_host
    environment = os.environ | {"TEMPORAL_ADDRESS": address, "PATH": f"{BINARIES}:{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(["sh", ROOT / "deploy" / "temporal" / "register.sh"], env=environment, check=True)
    listing = subprocess.run(
        [BINARIES / "temporal", "operator", "search-attribute", "list"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    registered = {(name, kind) for name, kind in (line.split() for line in listing.splitlines() if line.split())}
    assert {(key.name, "Keyword") for key in search_attributes.ALL} <= registered


@activity.defn
async def idle() -> None:
    """Do nothing: an activity for a worker that only has to poll."""


@slow
@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx on this machine: `apt-get install nginx-light`")
async def test_the_gate_serves_a_worker_and_starts_nothing(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Through the gate, a worker polls and answers; starting, listing and signalling workflows is refused."""
    (port,) = free_ports(1)
    text = (ROOT / "deploy" / "sandbox-gate.conf").read_text(encoding="utf-8")
    for old, new in (
        ("listen 7233", f"listen 127.0.0.1:{port}"),
        ("temporal:7233", server.client.service_client.config.target_host),
        ("resolver 127.0.0.11 valid=10s;", ""),
        ("/run/gate/", f"{tmp_path}/"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "gate.conf").write_text(text, encoding="utf-8")
    gate = subprocess.Popen(["nginx", "-c", str(tmp_path / "gate.conf"), "-g", "daemon off;"])
    try:
        client = await wait_until("the gate", lambda: Client.connect(f"127.0.0.1:{port}"), ignored=RuntimeError)
        async with (
            PatientWorker(client, task_queue="gated", activities=[idle]),
            PatientWorker(server.client, task_queue="caller", workflows=[CallIdle]),
        ):
            await server.client.execute_workflow(CallIdle.run, id="call-idle", task_queue="caller")
            for attempt in (
                client.start_workflow(CallIdle.run, id="refused", task_queue="caller"),
                client.get_workflow_handle("call-idle").describe(),
                client.get_workflow_handle("call-idle").fetch_history(),
                client.get_workflow_handle("call-idle").terminate(),
                client.count_workflows(),
            ):
                with pytest.raises(RPCError) as refusal:
                    await attempt
                assert refusal.value.status == RPCStatusCode.PERMISSION_DENIED
    finally:
        gate.terminate()
        gate.wait()


@workflow.defn(sandboxed=False)
class CallIdle:
    """Workflow with one activity behind the gate."""

    @workflow.run
    async def run(self) -> None:
        """Call the activity."""
        await workflow.execute_activity(idle, task_queue="gated", start_to_close_timeout=timedelta(seconds=60))


def test_health_check_reports_an_absent_worker() -> None:
    """With no worker to ask, the check fails and says why in one line."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        environment = os.environ | {"TENURE_HEALTH_PORT": str(unused.getsockname()[1]), "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(
            [sys.executable, ROOT / "deploy" / "health.py"],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )

    assert ran.returncode == 1
    assert ran.stderr.startswith("the worker is not healthy: nothing listens on its health port")
    assert len(ran.stderr.splitlines()) == 1
