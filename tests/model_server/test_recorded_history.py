"""Test a whole run on a cause and its consequences, whose answers a person wrote: conflicting and outdated pages."""

import shutil
from collections import Counter
from pathlib import Path

from tenure.contracts.result.result import Result
from tests.model_server import ModelServer, Recording
from tests.support.homes import home
from tests.support.tiers import slow

pytestmark = slow

RECORDINGS = Path(__file__).resolve().parent / "recordings"
QUESTION = "Why did the Sandholm cable car stop on 14 February 2019, and what changed afterwards?"
CAUSE = "The bearing was corroded, since its grease had been washed out and water had entered it for months."


def test_a_recorded_inquiry_leads_to_its_report(tmp_path: Path) -> None:
    """The cause is in its section, old and new rules are in one table, and the conflict of the sources is resolved."""
    docs = tmp_path / "stopped_cable_car"
    shutil.copytree(RECORDINGS / docs.name, docs)
    recording = Recording.load(RECORDINGS / f"{docs.name}.jsonl")
    with ModelServer(recording=recording) as model, home(tmp_path, **model.environment) as here:
        command = ("start", QUESTION, "--docs", str(docs), "--effort", "moderate", "--no-memory", "--json")
        done = here.run(*command)
        assert done.returncode == 0, done.stderr
    result = Result.model_validate_json(done.stdout)

    assert (result.status, [section.topic for section in result.sections]) == (
        "done",
        ["Cause of the stop", "Why the damage remained unnoticed", "Changes after the stop"],
    )
    assert result.abstract_claims[0].text.startswith("The Sandholm cable car stopped on 14 February 2019 because")
    cause, _, changes = (section.claims for section in result.sections)
    assert CAUSE in [claim.text for claim in cause]
    rules = {(claim.label, claim.column): claim.text for claim in changes if claim.column}
    assert rules["Line closed at gusts above", "Edition of 1 May 2018"] == "70 km/h"
    assert rules["Line closed at gusts above", "Edition of 1 March 2020"] == "60 km/h"
    assert "eleven weeks" in changes[0].text and "nine weeks" in changes[2].text
    assert {claim.status for claim in (*cause, *changes) if claim.citations} == {"supported"}
    assert result.evaluation is not None and [part.answered for part in result.evaluation.parts] == ["yes", "yes"]
    assert not Counter(match.kind for match in recording.matches)["none"], recording.matches
