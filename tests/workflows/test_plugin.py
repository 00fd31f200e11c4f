"""Choice of the runner of workflows, and the versions that workflows stay with."""

import pytest
from temporalio.common import VersioningBehavior
from temporalio.worker import UnsandboxedWorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import _Definition

from workflows import plugin
from workflows.plugin import WORKFLOWS, choose_workflow_runner, follow_current_version


def test_only_plugins_run_in_the_workflow_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests run the workflows of Tenure in the sandbox, but not those who add tools and strategies to them."""
    assert isinstance(choose_workflow_runner(), UnsandboxedWorkflowRunner)

    monkeypatch.setattr(plugin, "get_plugin_paths", lambda kind: ("plugins/tools",) if kind == "tools" else ())

    assert isinstance(choose_workflow_runner(), SandboxedWorkflowRunner)


def test_only_workflows_of_one_activity_follow_the_current_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """These helpers have no decisions that a replay by other code could contradict; all others stay pinned.

    Without Worker Versioning no workflow names a behavior, since the server would refuse its tasks.
    """
    definitions = {one: _Definition.must_from_class(one) for one in WORKFLOWS}
    for one, definition in definitions.items():  # the change of the process is undone after the test
        monkeypatch.setattr(one, "__temporal_workflow_definition", definition)
    follow_current_version()
    behaviors = {one.__name__: _Definition.must_from_class(one).versioning_behavior for one in WORKFLOWS}

    assert {name for name, behavior in behaviors.items() if behavior == VersioningBehavior.AUTO_UPGRADE} == {
        *("ArchiveSweepWorkflow", "ArchiveWorkflow", "CorpusWorkflow", "EmbedWorkflow", "GraphWorkflow"),
        *("IngestWorkflow", "MemoryWorkflow", "SqlWorkflow"),
    }
    assert {definition.versioning_behavior for definition in definitions.values()} == {VersioningBehavior.UNSPECIFIED}
    assert set(behaviors.values()) <= {VersioningBehavior.AUTO_UPGRADE, VersioningBehavior.UNSPECIFIED}
