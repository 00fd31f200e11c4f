import json
from pathlib import Path

from jsonschema import Draft202012Validator

from tenure.contracts.evidence.passages import Draft
from tenure.report.assemble import assemble_result
from tests.report.samples import SOURCES, report

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "result.schema.json").read_text(encoding="utf-8"))


def test_the_schema_is_itself_valid() -> None:
    """The published schema is a schema."""
    Draft202012Validator.check_schema(SCHEMA)


def test_results_validate() -> None:
    """A full result and one without evidence validate as they are written to JSON."""
    validator = Draft202012Validator(SCHEMA)
    for result in (assemble_result(report(), SOURCES), assemble_result(report(abstract=Draft(), sections=()), {})):
        assert list(validator.iter_errors(json.loads(result.model_dump_json()))) == []


def test_a_result_with_a_field_missing_does_not_validate() -> None:
    """The schema holds a reader's trust: no field may be absent."""
    document = json.loads(assemble_result(report(), SOURCES).model_dump_json())
    del document["sources"]

    assert not Draft202012Validator(SCHEMA).is_valid(document)
