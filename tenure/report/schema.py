"""Write the published JSON schema of the result document: `python -m tenure.report.schema`."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from tenure.contracts.base import Contract
from tenure.contracts.result.result import Result

PUBLISHED = Path(__file__).resolve().parent / "result.schema.json"
"""Path of the published schema."""


class _AllFieldsRequired(GenerateJsonSchema):
    """JSON schema generator that requires every field: a written document contains all of them."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """Return True for every field."""
        return True


def build_result_schema() -> dict[str, Any]:
    """Return the JSON schema of the result document as `--json` writes it."""
    schema = Result.model_json_schema(mode="serialization", schema_generator=_AllFieldsRequired)
    by_name = {model.__name__: model for model in _models(Result)}
    for name, described in {Result.__name__: schema, **schema["$defs"]}.items():
        meanings = _read_descriptions(by_name[name])
        for field, property_ in described["properties"].items():
            property_["description"] = meanings[field]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _models(annotation: Any) -> Iterator[type[Contract]]:
    """Yield a model, or those inside another annotation, and every model inside their fields."""
    if isinstance(annotation, type) and issubclass(annotation, Contract):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models(field.annotation)
    for inner in get_args(annotation):
        yield from _models(inner)


def _read_descriptions(model: type[Contract]) -> dict[str, str]:
    """Return the descriptions of a model's fields from the docstrings below them."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(said.value.value)
        for field, said in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) and isinstance(said.value.value, str)
    }


def render_schema() -> str:
    """Return the schema as the text of its published file."""
    return json.dumps(build_result_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PUBLISHED.write_text(render_schema(), encoding="utf-8")
    print(f"wrote {PUBLISHED}")
