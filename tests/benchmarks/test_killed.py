"""Test replays of plays: answers by the place in the conversation, what is compared, and a worker that is killed."""

import random
from pathlib import Path
from typing import Any

from benchmarks.repositories.instances import Instance
from benchmarks.repositories.killed import Moment, draw_moments, replay_killed
from benchmarks.repositories.replay import RecordedRequest, Replay
from evals.by_hand.folder import RequestFolder, RequestInbox
from tests.support.repositories.git import CLOCK, make_repository, run_git
from tests.support.tiers import slow

TASK = '<question>\nThe title is wrong.\n</question>\n\n<task name="repository_engineer">\nResolve it.\n</task>'
ANSWERS = (
    "The title has a wrong letter.\n\nPLAN correct it\nWRITE NOTES\n<<<<<<< CONTENT\nClock\n>>>>>>> END\nRUN sleep 3",
    "It is right.\n\nDONE\nCAUSE: NOTES was missing.\nCHANGE: Added it.\nMESSAGE: Add notes",
    "No test can show it.\n\nDONE",
)
PATCH = """\
diff --git a/NOTES b/NOTES
new file mode 100644
index 0000000000000000000000000000000000000000..e0667618a7c1f150293d20f86700116955b3da31
--- /dev/null
+++ b/NOTES
@@ -0,0 +1 @@
+Clock
"""


def build_body(*turns: tuple[str, str]) -> dict[str, Any]:
    """Return a request after some answers and their observations."""
    messages = [{"role": "system", "content": "You resolve an issue."}, {"role": "user", "content": TASK}]
    for answer, observation in turns:
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": observation}]
    return {"model": "any", "messages": messages}


FIRST = build_body()
SECOND = build_body((ANSWERS[0], "(exit code 0, 3.0 s)"))
REPLAY = (RecordedRequest(FIRST, ANSWERS[0], 100.0, 110.0), RecordedRequest(SECOND, ANSWERS[1], 120.0, 130.0))


def test_a_request_gets_the_answer_of_its_place_in_the_conversation() -> None:
    """Other observations get the same answer, a request that comes again as well, and an unknown one the last."""
    replay = Replay(REPLAY)
    other = build_body((ANSWERS[0], "(exit code 0, 4.5 s)\nNOTES is new"))
    assert [replay.answer(body) for body in (FIRST, other, other)] == [ANSWERS[0], ANSWERS[1], ANSWERS[1]]
    assert replay.count_repetitions([FIRST, other, other]) == 1
    unknown = build_body(("an answer of nobody", ""))
    assert replay.answer(unknown) == ANSWERS[1]
    assert replay.list_differences([unknown]) == ["unknown request of repository_engineer"]


def test_equal_answers_are_told_by_the_length_of_the_conversation() -> None:
    """The request after the second of two equal answers is not the one after the first."""
    bodies = (FIRST, build_body(("DONE", "a")), build_body(("DONE", "a"), ("DONE", "b")))
    replay = Replay([RecordedRequest(body, "DONE", 0.0, 0.0) for body in bodies])
    assert [replay.find(body) for body in bodies] == [0, 1, 2]


def test_durations_are_no_difference_and_other_observations_are() -> None:
    """A difference shows what was added and removed."""
    replay = Replay(REPLAY)
    assert replay.list_differences([FIRST, build_body((ANSWERS[0], "(exit code 0, 14.21 s)"))]) == []
    (difference,) = replay.list_differences([build_body((ANSWERS[0], "(exit code 1, 3.0 s)"))])
    assert difference == "request 2:\n-(exit code 0, TIME)\n+(exit code 1, TIME)"


def test_moments_lie_after_answers_and_before_what_follows() -> None:
    """They are the same for a seed, and cover each span by its length."""
    moments = draw_moments(Replay(REPLAY), 160.0, 400, random.Random(1))
    assert moments == sorted(moments) == draw_moments(Replay(REPLAY), 160.0, 400, random.Random(1))
    assert {moment.answers for moment in moments} == {1, 2}
    assert all(moment.seconds < (10 if moment.answers == 1 else 30) for moment in moments)
    assert 70 < sum(moment.answers == 1 for moment in moments) < 130  # a quarter of the time


@slow
def test_a_killed_worker_gives_the_patch_of_the_play(tmp_path: Path) -> None:
    """A real server and a worker that dies during a command and at the end: the same patch, and no call again."""
    repository = make_repository(tmp_path / "clones" / "clock", CLOCK)
    commit = run_git(repository, "rev-parse", "HEAD").strip()
    inbox = RequestInbox(RequestFolder(tmp_path / "play" / "requests"))
    third = build_body((ANSWERS[0], ""), (ANSWERS[1], "No test fails without the change."))
    for body, answer in zip((FIRST, SECOND, third), ANSWERS, strict=True):
        with inbox.receive(body) as request:
            request.save_answer(answer)
    instance = Instance("owner__clock-1", "owner/clock", commit, "The notes are missing.", "", "", (), ())
    environment = tmp_path / "environment"
    environment.mkdir()

    kills = (Moment(1, 1.0), Moment(2, 0.0))
    replay = replay_killed(
        instance, tmp_path / "play", repository / ".git", environment, tmp_path / "killed", PATCH, kills
    )

    assert replay.kills == 2 and replay.is_passed, str(replay)
