"""The published JSON schema of the result document; `python -m tenure.report.schema` writes it."""

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from tenure.contracts.result import Result

PUBLISHED = Path(__file__).resolve().parents[2] / "schema" / "result.schema.json"
"""Where the schema is published."""


class _AllFieldsRequired(GenerateJsonSchema):
    """A written document holds every field, those with a default too, so a reader may rely on them."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """Require every field."""
        return True


def result_schema() -> dict[str, Any]:
    """Return the JSON schema of the result document as it is written by `--json`."""
    schema = Result.model_json_schema(mode="serialization", schema_generator=_AllFieldsRequired)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_text() -> str:
    """Return the schema as the text of its published file."""
    return json.dumps(result_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PUBLISHED.write_text(schema_text(), encoding="utf-8")
    print(f"wrote {PUBLISHED}")
