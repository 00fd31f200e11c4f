"""Test a whole run whose answers were recorded: realistic text in every phase, without a model."""

from collections import Counter
from pathlib import Path

from tenure.contracts.result.result import Result
from tests.model_server import ModelServer, Recording
from tests.support.homes import modelled_home
from tests.support.tiers import exhaustive

pytestmark = exhaustive

RECORDING = Path(__file__).resolve().parent / "recordings" / "lighthouses_in_fog.jsonl"
QUESTION = "How do lighthouses guide ships in fog?"
PAGES = {
    "lighthouses.md": (
        "# Lighthouses\n"
        "\n"
        "A lighthouse is a tower with a lamp on a coast. Its lamp guides ships at night: each "
        "lighthouse has a rhythm of flashes of its own, by which a ship recognises the coast.\n"
        "\n"
        "## Lenses\n"
        "\n"
        "A Fresnel lens bundles the light of the lamp into a beam. The beam of a large lens is seen "
        "from a distance of more than thirty kilometres in clear air.\n"
    ),
    "fog.md": (
        "# Fog signals\n"
        "\n"
        "In fog the light of a lighthouse is not seen. A fog horn then warns ships by sound, with a "
        "rhythm that the chart of the coast names.\n"
        "\n"
        "## Limits\n"
        "\n"
        "Sound is bent by layers of air, so a fog horn may be heard at ten kilometres and not at two. "
        "Ships therefore also use radio beacons.\n"
    ),
}


def test_a_recorded_conversation_leads_to_its_report(tmp_path: Path) -> None:
    """The recorded title and sentences are in the report, verified, and no role of the recording was left out."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in PAGES.items():
        (docs / name).write_text(text, encoding="utf-8")
    recording = Recording.load(RECORDING)
    with ModelServer(recording=recording) as model, modelled_home(tmp_path, model) as home:
        command = ("start", QUESTION, "--docs", str(docs), "--effort", "complex", "--no-memory", "--json")
        done = home.run(*command)
        assert done.returncode == 0, done.stderr
    result = Result.model_validate_json(done.stdout)

    assert result.status == "done"
    assert result.title == "Lighthouses in fog: horns and radio"
    written = [claim.text for section in result.sections for claim in section.claims]
    assert "In fog the light of a lighthouse is not seen." in written
    assert "Ships therefore also use radio beacons." in written
    assert not Counter(match.kind for match in recording.matches)["none"], recording.matches
