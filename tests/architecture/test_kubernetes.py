"""Test the Kubernetes manifests by schemas, by their promises, and by the gate of the programs, without a cluster."""

import asyncio
import copy
import io
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft202012Validator
from pyarrow.fs import FileSelector, S3FileSystem
from pydantic import SecretStr
from temporalio import workflow
from temporalio.api.deployment.v1 import WorkerDeploymentVersion as VersionMessage
from temporalio.api.enums.v1 import DescribeTaskQueueMode, TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkerDeploymentVersionRequest,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker, WorkerDeploymentConfig

from tenure import __version__
from tenure.files.file_store import FileStore, FileStoreUnreachable
from tenure.settings import Settings
from tenure.temporal.deployment import DEPLOYMENT_NAME
from tenure.temporal.stack.source import BUILD_ID_VARIABLE
from tests.architecture.test_deployment import SERVICES, setting_names
from tests.support.ports import free_ports
from tests.support.servers.object_store import object_store
from tests.support.tiers import slow
from tests.support.waiting import block_until, wait_until
from worker import GRACEFUL_SHUTDOWN_TIMEOUT
from workflows.runtime import task_queues

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("base", "overlays/fleet", "overlays/temporal", "overlays/team")
SUFFIX = "-" + __version__.replace(".", "-")
"""End of the names of this version's Deployments."""
KUBERNETES_VERSION = "1.34"
"""Version whose schemas the manifests follow; the fields of the sandbox worker need 1.33."""


VERSION_LABEL = "app.kubernetes.io/version"
VERSION_FIELDS = {"nameSuffix", "labels", "images", "configurations", "replacements"}
"""Fields of a Kustomization with which workers of several versions run at the same time."""

SCALED_OBJECT: dict[str, Any] = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "keda.sh/v1alpha1"},
        "kind": {"const": "ScaledObject"},
        "metadata": {"type": "object", "required": ["name", "namespace"]},
        "spec": {
            "type": "object",
            "required": ["scaleTargetRef", "triggers"],
            "additionalProperties": False,
            "properties": {
                "scaleTargetRef": {
                    "type": "object",
                    "required": ["name"],
                    "additionalProperties": False,
                    "properties": {"name": {"type": "string"}},
                },
                **{
                    name: {"type": "integer", "minimum": least}
                    for name, least in {
                        "minReplicaCount": 1,
                        "maxReplicaCount": 1,
                        "pollingInterval": 1,
                        "cooldownPeriod": 0,
                    }.items()
                },
                "triggers": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["type", "metadata"],
                        "additionalProperties": False,
                        "properties": {
                            "type": {"const": "temporal"},
                            "metadata": {
                                "type": "object",
                                "required": ["endpoint", "taskQueue"],
                                "additionalProperties": False,
                                "properties": {
                                    "endpoint": {"type": "string", "pattern": r"^[a-z0-9.-]+:\d+$"},
                                    "namespace": {"type": "string"},
                                    "taskQueue": {"type": "string"},
                                    "queueTypes": {"type": "string", "pattern": "^(workflow|activity)(,activity)?$"},
                                    "targetQueueSize": {"type": "string", "pattern": r"^\d+$"},
                                    "workerDeploymentName": {"type": "string"},
                                    "workerDeploymentBuildId": {"type": "string"},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The part of the schema of a ScaledObject of KEDA that the manifests use, with the parameters of its triggers."""


def load_documents(path: Path) -> list[dict[str, Any]]:
    """Return the documents of a YAML file."""
    return [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document]


def describe(resource: dict[str, Any]) -> tuple[str, str, str]:
    """Return the kind, the namespace and the name of a resource."""
    return resource["kind"], resource["metadata"].get("namespace", ""), resource["metadata"]["name"]


def merge(base: Any, patch: Any) -> Any:
    """Return a value with a patch of mappings; a patch of lists would need Kustomize's rules."""
    assert not isinstance(patch, list)
    if not isinstance(patch, dict):
        return patch
    return {**base, **{key: merge(base.get(key, {}), value) for key, value in patch.items()}}


def build(folder: Path) -> list[dict[str, Any]]:
    """Build the resources of a folder: the part of Kustomize that the manifests use, and no other."""
    (plan,) = load_documents(folder / "kustomization.yaml")
    assert set(plan) <= {"apiVersion", "kind", "resources", "configMapGenerator", "patches", *VERSION_FIELDS}
    found: list[dict[str, Any]] = []
    for name in plan.get("resources", ()):
        path = folder / name
        found += build(path.resolve()) if path.is_dir() else load_documents(path)
    for wanted in plan.get("configMapGenerator", ()):
        assert wanted["options"] == {"disableNameSuffixHash": True}
        metadata = {"name": wanted["name"], "namespace": wanted["namespace"]}
        data = {name: (folder / name).read_text(encoding="utf-8") for name in wanted["files"]}
        found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    for patch in plan.get("patches", ()):
        if "target" in patch:
            replace_values(found, patch["target"], yaml.safe_load((folder / patch["path"]).read_text(encoding="utf-8")))
            continue
        for change in load_documents(folder / patch["path"]):
            (at,) = [at for at, resource in enumerate(found) if describe(resource) == describe(change)]
            found[at] = merge(found[at], change)
    if "nameSuffix" in plan:
        assert set(plan) >= VERSION_FIELDS
        found = [set_version(resource, plan) for resource in found]
    return found


def replace_values(found: list[dict[str, Any]], target: dict[str, str], operations: list[dict[str, Any]]) -> None:
    """Apply operations of a JSON patch that replace values to the resources that a target names."""
    chosen = [one for one in found if one["kind"] == target["kind"]]
    chosen = [one for one in chosen if re.fullmatch(target["name"], one["metadata"]["name"])]
    assert chosen
    for resource in chosen:
        for operation in operations:
            assert operation["op"] == "replace"
            *parents, last = [int(part) if part.isdecimal() else part for part in operation["path"].split("/")[1:]]
            value: Any = resource
            for part in parents:
                value = value[part]
            value[last] = operation["value"]


def set_version(resource: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """Return a Deployment or scaler with the name, the labels and the image of a version."""
    labels, spec = plan["labels"][0]["pairs"], resource["spec"]
    metadata = {**resource["metadata"], "name": resource["metadata"]["name"] + plan["nameSuffix"]}
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    if resource["kind"] == "ScaledObject":
        spec["scaleTargetRef"]["name"] += plan["nameSuffix"]
        for trigger in spec["triggers"]:
            trigger["metadata"]["workerDeploymentBuildId"] = labels[VERSION_LABEL]
    else:
        spec["selector"]["matchLabels"] |= labels
        spec["template"]["metadata"]["labels"] |= labels
        (image,), (container,) = plan["images"], spec["template"]["spec"]["containers"]
        container["image"] = f"{image['name']}:{image['newTag']}"
    return {**resource, "metadata": metadata}


@cache
def _build_once(overlay: str) -> list[dict[str, Any]]:
    return build(MANIFESTS / overlay)


def rendered(overlay: str = "overlays/temporal", kind: str = "") -> list[dict[str, Any]]:
    """Return the resources of an overlay, or those of one kind."""
    resources = copy.deepcopy(_build_once(overlay))
    return [resource for resource in resources if kind in ("", resource["kind"])]


def templates() -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    """Yield the pods of all workloads."""
    for resource in rendered():
        if resource["kind"] in ("Deployment", "Job"):
            yield describe(resource), resource["spec"]["template"]["spec"]


def workers() -> dict[str, dict[str, Any]]:
    """Return the pods of workers, by the names of their Deployments without the version."""
    return {
        name.removesuffix(SUFFIX): pod for (_, _, name), pod in templates() if pod["containers"][0]["name"] == "worker"
    }


def queues_of(pod: dict[str, Any]) -> list[str]:
    """Return the task queues that a worker serves."""
    arguments = pod["containers"][0]["args"]
    return str(arguments[arguments.index("--queues") + 1]).split(",")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_manifests_follow_the_schemas_of_kubernetes(overlay: str) -> None:
    """Every resource validates against the strict schema of its kind, so no field is misspelt."""
    kinds = set()
    for resource in rendered(overlay):
        kinds.add(resource["kind"])
        if resource["apiVersion"].startswith("keda.sh/"):
            assert [error.message for error in Draft202012Validator(SCALED_OBJECT).iter_errors(resource)] == []
        else:
            kubernetes_validate.validate(resource, KUBERNETES_VERSION, strict=True)

    assert {"Deployment", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "Namespace"} <= kinds
    assert len({describe(resource) for resource in rendered(overlay)}) == len(rendered(overlay))


def test_a_misspelt_field_is_noticed() -> None:
    """The schemas refuse fields that do not exist, in Kubernetes' resources and in KEDA's."""
    deployment = rendered(kind="Deployment")[0]
    deployment["spec"]["template"]["spec"]["terminationGracePeriod"] = 9
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, KUBERNETES_VERSION, strict=True)
    scaled = rendered(kind="ScaledObject")[0]
    scaled["spec"]["triggers"][0]["metadata"]["queueName"] = "tenure"
    assert list(Draft202012Validator(SCALED_OBJECT).iter_errors(scaled))


def test_the_server_of_a_team_shares_its_home_and_listens_behind_tls() -> None:
    """Uploads lie where those who read them look, and nothing but the Ingress reaches the server."""
    deployments = {one["metadata"]["name"]: one["spec"] for one in rendered("overlays/team", "Deployment")}
    homes = {
        name: next(one for one in spec["template"]["spec"].get("volumes", ()) if one["name"] == "home")
        for name, spec in deployments.items()
        if name in ("team", f"worker{SUFFIX}", f"embed-worker{SUFFIX}")
    }
    (ingress,) = rendered("overlays/team", "Ingress")
    (config,) = [one["data"] for one in rendered("overlays/team", "ConfigMap") if one["metadata"]["name"] == "team"]
    (policy,) = [one for one in rendered("overlays/team", "NetworkPolicy") if one["metadata"]["name"] == "team"]
    host = ingress["spec"]["rules"][0]["host"]

    assert {str(home) for home in homes.values()} == {str(homes["team"])}
    assert (deployments["team"]["replicas"], deployments["team"]["strategy"]["type"]) == (1, "Recreate")
    assert ingress["spec"]["tls"][0]["hosts"] == [host]
    assert config["TENURE_TEAM_URL"] == f"https://{host}"
    assert [[*rule] for rule in policy["spec"]["ingress"]] == [["from", "ports"]]
    assert config.keys() <= setting_names()


@slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kustomize_builds_the_same(overlay: str) -> None:
    """Kustomize itself gives the resources that these tests check."""
    ran = subprocess.run(["kubectl", "kustomize", MANIFESTS / overlay], capture_output=True, text=True, check=True)
    found = {describe(resource): resource for resource in yaml.safe_load_all(ran.stdout)}

    assert found == {describe(resource): resource for resource in rendered(overlay)}


def test_every_task_queue_has_a_worker() -> None:
    """The workers together serve all task queues there are, and no other."""
    served = [queue for pod in workers().values() for queue in queues_of(pod)]

    assert sorted(served) == sorted(task_queues.ALL_QUEUES)


def test_every_worker_is_scaled_by_the_backlog_of_its_queues() -> None:
    """Each worker has one scaler with a trigger for each of its queues, at the address that the workers use."""
    scalers = {scaled["spec"]["scaleTargetRef"]["name"]: scaled for scaled in rendered(kind="ScaledObject")}
    (client,) = [one for one in rendered(kind="ConfigMap") if one["metadata"]["name"] == "temporal-client"]

    assert scalers.keys() == {name + SUFFIX for name in workers()}
    for name, pod in workers().items():
        triggers = [trigger["metadata"] for trigger in scalers[name + SUFFIX]["spec"]["triggers"]]
        assert [trigger["taskQueue"] for trigger in triggers] == queues_of(pod)
        assert {trigger["endpoint"] for trigger in triggers} == {client["data"]["TEMPORAL_ADDRESS"]}
        assert {trigger["namespace"] for trigger in triggers} == {client["data"]["TEMPORAL_NAMESPACE"]}
        for trigger in triggers:
            runs_workflows = trigger["taskQueue"] == task_queues.TENURE_QUEUE
            assert trigger["queueTypes"] == ("workflow,activity" if runs_workflows else "activity")
            # Tasks of a version are counted under its name only.
            assert (trigger["workerDeploymentName"], trigger["workerDeploymentBuildId"]) == (
                DEPLOYMENT_NAME,
                __version__,
            )
        # The autoscaler owns the number: applying the manifests again must not reset it.
        (deployment,) = [one for one in rendered(kind="Deployment") if one["metadata"]["name"] == name + SUFFIX]
        assert "replicas" not in deployment["spec"]


def test_workers_serve_one_namespace_with_one_knowledge_base() -> None:
    """All of them, the autoscaler and the registration name the same namespace; only programs have no base."""
    data = {describe(one)[1:]: one["data"] for one in rendered(kind="ConfigMap")}
    places: dict[str, str] = {}
    namespaces = {
        variable["value"]
        for _, pod in templates()
        for container in pod["containers"]
        for variable in container.get("env", ())
        if variable["name"] == "TEMPORAL_NAMESPACE"
    }
    for (_, namespace, name), pod in templates():
        if pod["containers"][0]["name"] != "worker":
            continue
        sources = [one["configMapRef"]["name"] for one in pod["containers"][0]["envFrom"] if "configMapRef" in one]
        values = {key: value for source in sources for key, value in data[namespace, source].items()}
        namespaces.add(values["TEMPORAL_NAMESPACE"])
        places[name.removesuffix(SUFFIX)] = values.get("TENURE_LANCEDB_URI", "")

    assert len(namespaces) == 1
    assert places.pop("sandbox-worker") == ""
    assert len(set(places.values())) == 1 and "" not in places.values()


def test_workers_of_two_versions_run_next_to_each_other() -> None:
    """A version has Deployments, pods and scalers of its own, and each worker serves the version of its label."""
    for name, pod in workers().items():
        (deployment,) = [one for one in rendered(kind="Deployment") if one["metadata"]["name"] == name + SUFFIX]
        (container,) = pod["containers"]
        (build_id,) = [one for one in container["env"] if one["name"] == BUILD_ID_VARIABLE]
        pods = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"] == pods
        assert pods[VERSION_LABEL] == __version__
        assert container["image"] == f"tenure-worker:{__version__}"
        assert build_id["valueFrom"] == {"fieldRef": {"fieldPath": f"metadata.labels['{VERSION_LABEL}']"}}
        # New runs use the version when its workers serve all queues; one of them is enough to ask for that.
        runs_workflows = task_queues.TENURE_QUEUE in queues_of(pod)
        assert container["args"][2:] == ["--make-current" if runs_workflows else "--versioned"]


def test_workers_have_more_time_to_stop_than_they_need() -> None:
    """Kubernetes kills a worker only after the time within which it ends."""
    for pod in workers().values():
        assert pod["terminationGracePeriodSeconds"] > 2 * GRACEFUL_SHUTDOWN_TIMEOUT.total_seconds() + 60


def test_workers_are_restarted_when_they_stand_still() -> None:
    """Each worker answers its probes on the health port, on an address that the node reaches."""
    for pod in workers().values():
        (container,) = pod["containers"]
        variables = {one["name"]: one.get("value") for one in container["env"]}
        assert container["ports"] == [{"name": "health", "containerPort": int(variables["TENURE_HEALTH_PORT"])}]
        assert variables["TENURE_HEALTH_HOST"] == "0.0.0.0"
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["port"] == "health"


def test_a_drained_node_takes_one_worker_of_a_kind() -> None:
    """Every Deployment of Tenure has a disruption budget that selects its pods."""
    budgets = {
        (one["metadata"]["namespace"], tuple(one["spec"]["selector"]["matchLabels"].items()))
        for one in rendered(kind="PodDisruptionBudget")
    }
    pods = {
        (
            one["metadata"]["namespace"],
            tuple(item for item in one["spec"]["template"]["metadata"]["labels"].items() if item[0] != VERSION_LABEL),
        )
        for one in rendered(kind="Deployment")
        if one["metadata"]["namespace"] != "temporal"
    }

    assert budgets == pods


def test_containers_have_no_more_rights_than_they_need() -> None:
    """All run as ordinary users without capabilities and bounded memory; only the sandbox worker is unconfined."""
    for (_, namespace, name), pod in templates():
        profile = pod["securityContext"]["seccompProfile"]["type"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["automountServiceAccountToken"] is False
        assert (profile == "Unconfined") == (name.removesuffix(SUFFIX) == "sandbox-worker")
        for container in pod["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"].get("readOnlyRootFilesystem", False) or namespace == "temporal"
            assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]


def test_programs_reach_only_the_gate() -> None:
    """The worker of programs has no document, no knowledge base and no name server, and one way out: the gate."""
    pod = workers()["sandbox-worker"]
    (container,) = pod["containers"]
    policies = [one for one in rendered(kind="NetworkPolicy") if one["metadata"]["namespace"] == "tenure-programs"]
    (own,) = [one["spec"] for one in policies if one["metadata"]["name"] == "sandbox-worker"]
    (settings,) = [one for one in rendered(kind="ConfigMap") if one["metadata"]["name"] == "sandbox-worker"]
    gate = {"app.kubernetes.io/name": "tenure", "app.kubernetes.io/component": "sandbox-gate"}

    assert [one["spec"]["podSelector"] for one in policies if one["metadata"]["name"] == "nothing"] == [{}]
    assert [rule["to"] for rule in own["egress"]] == [[{"podSelector": {"matchLabels": gate}}]]
    assert "ingress" not in own
    assert (pod["hostUsers"], pod["dnsPolicy"], pod["dnsConfig"]) == (False, "None", {"nameservers": ["127.0.0.1"]})
    assert all("emptyDir" in volume for volume in pod["volumes"])
    assert {one["secretRef"]["name"] for one in container["envFrom"] if "secretRef" in one} == {"payload-keys", "files"}
    assert set(settings["data"]) == {"TEMPORAL_NAMESPACE", "TENURE_FILES_URI", "AWS_REGION"}
    for variable in container["env"]:
        assert variable["name"] not in ("TEMPORAL_ADDRESS", "AWS_ENDPOINT_URL") or "GATE" in variable["value"]


@pytest.mark.parametrize("namespace", ["tenure", "tenure-programs"])
def test_nothing_is_reachable_unless_it_is_named(namespace: str) -> None:
    """All traffic is refused by default, and no rule opens the addresses of the cluster or of cloud metadata."""
    policies = [one for one in rendered(kind="NetworkPolicy") if one["metadata"]["namespace"] == namespace]
    blocks = [
        peer["ipBlock"] for one in policies for rule in one["spec"].get("egress", ()) for peer in rule.get("to", ())
        if "ipBlock" in peer
    ]  # fmt: skip
    wide = [rule for one in policies for rule in one["spec"].get("egress", ()) if not rule.get("to")]

    assert {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]} in [one["spec"] for one in policies]
    assert all({"10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"} <= set(block["except"]) for block in blocks)
    assert wide == []


def test_every_variable_is_a_setting() -> None:
    """No manifest sets a TENURE_ variable that the code does not know, and the values are valid together."""
    texts = "".join(path.read_text(encoding="utf-8") for path in MANIFESTS.rglob("*.yaml"))
    used = set(re.findall(r"\bTENURE_[A-Z_]+\b", texts))
    (codec,) = [one for one in rendered(kind="ConfigMap") if one["metadata"]["name"] == "codec"]
    values = {name.removeprefix("TENURE_").lower(): value for name, value in codec["data"].items()}

    assert used <= setting_names()
    assert Settings(_env_file=None, codec_token=SecretStr("0" * 32), **values).codec_host == "0.0.0.0"


def test_secrets_are_references() -> None:
    """No manifest contains a secret; each that a pod needs is named for the operator."""
    guide = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    needed = {
        source["secretRef"]["name"]
        for _, pod in templates()
        for container in pod["containers"]
        for source in container.get("envFrom", ())
        if "secretRef" in source
    } | {volume["secret"]["secretName"] for _, pod in templates() for volume in pod["volumes"] if "secret" in volume}

    assert rendered(kind="Secret") == []
    assert needed == {"worker", "payload-keys", "files", "codec", "codec-tls", "postgres"}
    assert [name for name in sorted(needed) if f"`{name}`" not in guide] == []
    for one in rendered(kind="ConfigMap"):
        paths = {"TENURE_CODEC_PRIVATE_KEY"}
        assert not any(re.search("KEY$|SECRET|PASSWORD|TOKEN", name) for name in one["data"].keys() - paths)


def test_what_pods_refer_to_exists() -> None:
    """Every ConfigMap, claim and Service selector that a manifest names is one of the manifests."""
    known = {describe(resource) for resource in rendered()}
    labels = [
        (namespace, resource["spec"]["template"]["metadata"].get("labels", {}))
        for resource in rendered()
        if resource["kind"] == "Deployment" and (namespace := resource["metadata"]["namespace"])
    ]
    for (_, namespace, _), pod in templates():
        sources = [source for container in pod["containers"] for source in container.get("envFrom", ())]
        maps = [source["configMapRef"]["name"] for source in sources if "configMapRef" in source]
        maps += [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
        claims = [
            volume["persistentVolumeClaim"]["claimName"]
            for volume in pod["volumes"]
            if "persistentVolumeClaim" in volume
        ]
        assert {("ConfigMap", namespace, name) for name in maps} <= known
        assert {("PersistentVolumeClaim", namespace, name) for name in claims} <= known
        mounted = {mount["name"] for container in pod["containers"] for mount in container.get("volumeMounts", ())}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
    for service in rendered(kind="Service"):
        selector = service["spec"]["selector"].items()
        assert any(service["metadata"]["namespace"] == space and selector <= found.items() for space, found in labels)
    assert {space for _, space, _ in known if space} == {name for kind, _, name in known if kind == "Namespace"}


def test_images_are_those_of_compose() -> None:
    """Both deployments run the same versions of the same programs."""
    compose = {service["image"] for service in SERVICES.values()}

    assert {container["image"] for _, pod in templates() for container in pod["containers"]} <= compose


def test_the_gate_refuses_what_the_gate_of_compose_refuses() -> None:
    """Both gates let the same calls of Temporal through."""
    allowed = [
        re.findall(r"WorkflowService/\(([A-Za-z|]+)\)\$ \{", path.read_text(encoding="utf-8"))
        for path in (ROOT / "deploy" / "sandbox-gate.conf", MANIFESTS / "base" / "sandbox-gate.conf")
    ]

    assert allowed[0] == allowed[1] != []


QUEUE = "backlog"
VERSION = WorkerDeploymentVersion(deployment_name="backlog", build_id="one")


@workflow.defn(sandboxed=False, versioning_behavior=VersioningBehavior.PINNED)
class Waiting:
    """Workflow that does nothing."""

    @workflow.run
    async def run(self) -> None:
        """Return."""


async def count_waiting_tasks(client: Client) -> tuple[int, int]:
    """Return the backlog that a scaler reads without a version, and with one."""
    queue = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=QUEUE),
            api_mode=DescribeTaskQueueMode.DESCRIBE_TASK_QUEUE_MODE_ENHANCED,
            task_queue_types=[TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW],
            report_stats=True,
        )
    )
    plain = [found.stats for version in queue.versions_info.values() for found in version.types_info.values()]
    message = VersionMessage(deployment_name=VERSION.deployment_name, build_id=VERSION.build_id)
    request = DescribeWorkerDeploymentVersionRequest(
        namespace=client.namespace, deployment_version=message, report_task_queue_stats=True
    )
    try:
        version = await client.workflow_service.describe_worker_deployment_version(request)
    except RPCError:
        return sum(stats.approximate_backlog_count for stats in plain), 0
    return (
        sum(stats.approximate_backlog_count for stats in plain),
        sum(found.stats.approximate_backlog_count for found in version.version_task_queues),
    )


@slow
async def test_scalers_see_the_backlog_of_workers_with_the_same_versioning(server: WorkflowEnvironment) -> None:
    """Without versions a scaler needs only the queue; the backlog of a worker's version is visible under it alone."""
    client = server.client

    async def start_and_wait(expected: tuple[int, int]) -> None:
        for number in range(3):
            await client.start_workflow(Waiting.run, id=f"waiting-{sum(expected)}-{number}", task_queue=QUEUE)
        await wait_until(f"{expected} tasks", lambda: count_waiting_tasks(client), lambda tasks: tasks == expected)

    await start_and_wait((3, 0))
    config = WorkerDeploymentConfig(version=VERSION, use_worker_versioning=True)
    async with asyncio.timeout(60), Worker(client, task_queue=QUEUE, workflows=[Waiting], deployment_config=config):
        await make_current(client)
        for number in range(3):
            await client.get_workflow_handle(f"waiting-3-{number}").result()
    await start_and_wait((0, 3))
    for number in range(3):
        await client.get_workflow_handle(f"waiting-3-{number}").terminate()


async def make_current(client: Client) -> None:
    """Make the version of a worker the current one, as soon as the server knows it."""
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=VERSION.deployment_name, build_id=VERSION.build_id, identity="test"
    )
    await wait_until(
        "a worker of the version",
        lambda: client.workflow_service.set_worker_deployment_current_version(request),
        lambda reply: True,
        ignored=RPCError,
    )


@pytest.fixture
def gated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Run the gate before an object store; yield the variables of the store itself."""
    ports = free_ports(2)
    with object_store("tenure") as variables:
        text = (MANIFESTS / "base" / "sandbox-gate.conf").read_text(encoding="utf-8")
        for old, new in (
            ("listen 7233", f"listen 127.0.0.1:{ports[0]}"),
            ("listen 9000", f"listen 127.0.0.1:{ports[1]}"),
            ("minio.object-store.svc.cluster.local:9000", variables["AWS_ENDPOINT_URL"].removeprefix("http://")),
            ("temporal-frontend.temporal.svc.cluster.local:7233", "127.0.0.1:9"),
            ("resolver kube-dns.kube-system.svc.cluster.local valid=10s;", ""),
            ("/run/gate/", f"{tmp_path}/"),
        ):
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "gate.conf").write_text(text, encoding="utf-8")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{ports[1]}")
        with subprocess.Popen(["nginx", "-c", str(tmp_path / "gate.conf"), "-g", "daemon off;"]) as gate:
            try:
                block_until("the gate", lambda: find_listener(ports[1]), ignored=ConnectionRefusedError)
                yield variables
            finally:
                gate.terminate()


def find_listener(port: int) -> bool:
    """Connect to a port."""
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    return True


@slow
@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx on this machine: `apt-get install nginx-light`")
def test_the_gate_passes_files_by_their_hash_and_nothing_else(gated: dict[str, str], tmp_path: Path) -> None:
    """Through the gate a worker gets and puts files of the folder; other objects, lists and deletions are refused."""
    store, content = FileStore("s3://tenure/files", "ann"), os.urandom(20 << 20)
    location = store.upload(io.BytesIO(content))
    store.download(location, tmp_path / "copy", len(content))
    options = {"access_key": "key", "secret_key": "secret", "scheme": "http"}
    direct = S3FileSystem(endpoint_override=gated["AWS_ENDPOINT_URL"].removeprefix("http://"), **options)
    through = S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"].removeprefix("http://"), **options)
    with direct.open_output_stream("tenure/knowledge/table.lance") as stream:
        stream.write(b"private")

    assert (tmp_path / "copy").read_bytes() == content
    refusals: tuple[Callable[[], object], ...] = (
        lambda: through.open_input_stream("tenure/knowledge/table.lance").read(),
        lambda: through.get_file_info(FileSelector("tenure/files", recursive=True)),
        lambda: through.delete_file(location.removeprefix("s3://")),
        lambda: through.open_output_stream("tenure/files/ann/short").close(),
    )
    for refused in refusals:
        with pytest.raises(OSError):
            refused()
    with pytest.raises(FileStoreUnreachable):
        FileStore("s3://tenure/knowledge").upload(io.BytesIO(b"x"))
    assert direct.get_file_info(location.removeprefix("s3://")).size == len(content)
    assert [
        found.path for found in direct.get_file_info(FileSelector("tenure/files", recursive=True)) if found.is_file
    ] == [location.removeprefix("s3://")]
