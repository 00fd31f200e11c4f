"""Replay plays with a worker that is killed: `python -m benchmarks.repositories.killed FILE OPTIONS`.

    --plays FOLDER    folder of `python -m benchmarks.swebench run --by-hand`, whose answers are given again
    --clones FOLDER   clones of the repositories
    --into FOLDER     folder of the replays; each has `differences.txt` for what its requests had otherwise
    --id ID           only this instance; may be repeated
    --kills N         SIGKILLs in each replay (default: 3)
    --seed N          seed of their moments (default: 1)

Each instance is worked on again, from the beginning, with a server, a home and a worker process of its own. The worker
is killed at random moments of the time that the play spent between an answer and the next request, and started again.
The time begins when the worker has stored the answer: before that, every client has to ask again.
A line for each instance says whether the patch is the same, byte by byte, and how many answered calls were repeated.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.repositories.clones import find_clone, make_base
from benchmarks.repositories.environments import Environments
from benchmarks.repositories.instances import Instance, read_instances, read_predictions
from benchmarks.repositories.replay import Replay
from benchmarks.repositories.systems import Attempt, Tenure
from benchmarks.start import environment as build_home_environment
from tenure.knowledge.store.schema import ANSWERS
from tenure.knowledge.store.store import Store
from tenure.temporal.stack.record import load
from tests.model_server import ModelServer

_ROOT: Final = Path(__file__).resolve().parents[2]
_POLL_SECONDS: Final = 0.05
_USED_SHARE: Final = 0.3
"""A moment is within this share of the recorded time: a replay alone is up to three times as quick as the play was."""


class Moment(NamedTuple):
    """Moment of a kill."""

    answers: int
    """Number of answers that the worker has stored."""
    seconds: float
    """Time since the last of them."""


@dataclass(frozen=True)
class KilledReplay:
    """Outcome of a replay."""

    instance_id: str
    kills: int
    same_patch: bool
    calls: int
    """Answers that were delivered."""
    recorded_calls: int
    repeated: int
    """Answers that were delivered although they had been before."""
    differences: tuple[str, ...]
    """Requests whose observations differ from those of the play."""
    attempt: Attempt

    @property
    def is_passed(self) -> bool:
        """Whether the kills left no trace."""
        return self.same_patch and not self.repeated and self.calls == self.recorded_calls

    def __str__(self) -> str:
        patch = "same patch" if self.same_patch else f"another patch ({self.attempt.status})"
        calls = f"{self.recorded_calls} calls, again {self.calls}, {self.repeated} repeated"
        differences = f"{len(self.differences)} requests differ"
        return f"{self.instance_id:44} {self.kills} kills, {patch}, {calls}, {differences}, {self.attempt.seconds} s"


def draw_moments(replay: Replay, ended: float, count: int, chance: random.Random) -> list[Moment]:
    """Return random moments of the time that a play spent between its answers and its next requests, in their order.

    Args:
        replay: the play.
        ended: time of its end, in seconds since 1970.
        count: number of the moments.
        chance: source of randomness.
    """
    arrivals = [*(request.arrived for request in replay.recorded[1:]), ended]
    spans = [arrived - request.answered for request, arrived in zip(replay.recorded, arrivals, strict=True)]
    positions = chance.choices(range(len(spans)), weights=spans, k=count)
    return sorted(Moment(n + 1, chance.uniform(0, spans[n] * _USED_SHARE)) for n in positions)


class Killer:
    """Killer of the worker of a home, which it starts again.

    Args:
        variables: environment of client and worker.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._home = Path(variables["TENURE_HOME"])
        self._store = Store(str(self._home / "knowledge"))

    def strike(self, moments: Sequence[Moment], run: Future[Attempt]) -> int:
        """Kill the worker at each moment; return the number of kills before the end of the run."""
        for number, moment in enumerate(moments):
            while self._store.count_rows(ANSWERS) < moment.answers and not run.done():
                time.sleep(_POLL_SECONDS)
            due = time.monotonic() + moment.seconds
            while time.monotonic() < due and not run.done():
                time.sleep(_POLL_SECONDS)
            if run.done():
                return number
            worker = load(self._home).worker
            if worker is None:
                raise RuntimeError(f"{self._home} has no worker")
            os.kill(worker.pid, signal.SIGKILL)
            command = [sys.executable, str(_ROOT / "client.py"), "up"]
            subprocess.run(command, env=dict(self._variables), check=True, capture_output=True)
        return len(moments)


def replay_killed(
    instance: Instance, play: Path, clone: Path, environment: Path, folder: Path, patch: str, moments: Sequence[Moment]
) -> KilledReplay:
    """Run an instance with the answers of a play while the worker is killed.

    Args:
        instance: the instance.
        play: folder of the play.
        clone: clone of the repository.
        environment: folder of the installed packages.
        folder: folder of the replay; an earlier one is removed.
        patch: patch of the play.
        moments: moments of the kills.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    base = folder / "base"
    make_base(clone, instance.base_commit, base)
    replay = Replay.load(play / "requests")
    system = Tenure(settings=build_home_environment(folder / "home"))
    with ModelServer() as model, ThreadPoolExecutor(1) as pool:
        replay.prepare(model)
        variables = system.build_variables(environment, folder, model.base_url)
        run = pool.submit(system.solve, instance, base, environment, folder, model.base_url)
        kills = Killer(variables).strike(moments, run)
        attempt = run.result()
        bodies = [entry.request.json for entry in model.billed if entry.delivered]
    differences = tuple(replay.list_differences(bodies))
    (folder / "differences.txt").write_text("\n\n".join(differences), encoding="utf-8")
    return KilledReplay(
        instance.instance_id,
        kills,
        attempt.patch == patch,
        len(bodies),
        len(replay.recorded),
        replay.count_repetitions(bodies),
        differences,
        attempt,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return 1 if a kill left a trace."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.repositories.killed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="instances")
    for name in ("plays", "clones", "into"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FOLDER", help=f"folder of the {name}")
    parser.add_argument("--id", action="append", default=[], metavar="ID", help="only this instance; may be repeated")
    parser.add_argument("--kills", type=int, default=3, metavar="N", help="kills in each replay (default: 3)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the moments (default: 1)")
    given = parser.parse_args(arguments)
    plays = given.plays.resolve() / Tenure.name
    environments = Environments(given.plays.resolve() / "environments")
    patches = {one.instance_id: one.model_patch for one in read_predictions(plays / "predictions.jsonl")}
    replays = []
    for instance in read_instances(given.file, given.id or list(patches)):
        if instance.install_config is None:
            parser.error(f"{instance.instance_id} has no install_config")
        play = plays / instance.instance_id
        ended = (play / "attempt.json").stat().st_mtime
        chance = random.Random(f"{given.seed} {instance.instance_id}")
        moments = draw_moments(Replay.load(play / "requests"), ended, given.kills, chance)
        replays.append(
            replay_killed(
                instance,
                play,
                find_clone(given.clones.resolve(), instance.repo),
                environments.find(instance.install_config),
                given.into.resolve() / instance.instance_id,
                patches[instance.instance_id],
                moments,
            )
        )
        print(replays[-1], flush=True)
    return 0 if all(replay.is_passed for replay in replays) else 1


if __name__ == "__main__":
    sys.exit(main())
