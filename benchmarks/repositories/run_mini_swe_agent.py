"""Run mini-swe-agent on one task; runs in the environment of that agent, so it imports nothing of this repository.

Reads the order as JSON from standard input, and prints the end of the run as JSON.
"""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import yaml
from minisweagent.agents.default import DefaultAgent  # type: ignore[import-not-found]
from minisweagent.config import builtin_config_dir  # type: ignore[import-not-found]
from minisweagent.environments.local import LocalEnvironment  # type: ignore[import-not-found]
from minisweagent.models.litellm_model import LitellmModel  # type: ignore[import-not-found]


class BoxedEnvironment(LocalEnvironment):  # type: ignore[misc]  # not installed where types are checked
    """The local environment, each command of which runs in a sandbox.

    Args:
        box: command line of the sandbox, to which a command is added.
    """

    def __init__(self, box: list[str], **options: Any) -> None:
        super().__init__(**options)
        self._box = box

    def execute(self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
        """Run a command in the sandbox."""
        command = shlex.join([*self._box, "bash", "-c", action.get("command", "")])
        result: dict[str, Any] = super().execute({**action, "command": command}, "/", timeout=timeout)
        return result


def main() -> None:
    """Run the agent."""
    order = json.load(sys.stdin)
    config = yaml.safe_load((Path(builtin_config_dir) / "benchmarks" / "swebench.yaml").read_text(encoding="utf-8"))
    settings = config["environment"]
    # The container of the benchmark activates its environment by a file that this box does not have.
    settings["env"].pop("BASH_ENV", None)
    box = [*order["box"], *(item for name, value in settings["env"].items() for item in ("--setenv", name, value))]
    environment = BoxedEnvironment(box, timeout=settings["timeout"])
    model = LitellmModel(
        **{**config["model"], "model_name": "openai/by-hand", "cost_tracking": "ignore_errors"},
    )
    model.config.model_kwargs |= {
        "api_base": order["base_url"],
        "api_key": "local",
        "timeout": order["timeout_seconds"],
    }
    agent = DefaultAgent(model, environment, **config["agent"], output_path=Path(order["trajectory"]))
    end = agent.run(order["task"])
    print(json.dumps({"exit_status": end.get("exit_status", ""), "submission": end.get("submission", "")}))


if __name__ == "__main__":
    main()
