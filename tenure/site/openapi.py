"""Describe the HTTP API in OpenAPI 3.1, from its table of operations and the models of its requests and replies."""

from http import HTTPStatus
from typing import Any

from pydantic.json_schema import models_json_schema

from tenure.runs.messages import ErrorReply
from tenure.site.api import OPERATIONS, PREFIX, ApiOperation

VERSION = "1"

_SCHEMAS = "#/components/schemas/{model}"
_FAULTS = (
    (HTTPStatus.NOT_FOUND, "There is no such run or corpus."),
    (HTTPStatus.CONFLICT, "The run refuses, is in another state, or uses the corpus."),
    (HTTPStatus.UNPROCESSABLE_ENTITY, "The request is not valid."),
    (HTTPStatus.SERVICE_UNAVAILABLE, "The Temporal server or a worker does not answer."),
)


def build_description(origin: str) -> dict[str, Any]:
    """Return the description of the API at an origin."""
    requests = {call.request[1] for call in OPERATIONS if call.request is not None and call.method != "GET"}
    replies = {operation.reply for operation in OPERATIONS} | {ErrorReply}
    models = sorted(
        [(model, "validation") for model in requests] + [(model, "serialization") for model in replies],
        key=lambda pair: (pair[0].__name__, pair[1]),
    )
    references, definitions = models_json_schema(models, ref_template=_SCHEMAS)  # type: ignore[arg-type]
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        path = PREFIX + operation.path.replace(":path}", "}").replace(":int}", "}")
        paths.setdefault(path, {})[operation.method.lower()] = _describe(operation, references)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tenure", "version": VERSION, "description": "Start, follow, steer and read runs."},
        "servers": [{"url": origin}],
        "security": [{"key": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "Key in the file access.key of the home."},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": f"tenure_{origin.rpartition(':')[2]}",
                    "description": "Cookie that the link of `serve` sets.",
                },
            },
        },
    }


def _describe(operation: ApiOperation, references: Any) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = []
    if operation.request is not None and operation.method == "GET":
        kind = operation.request[1]
        parameters = [
            {
                "name": name,
                "in": "query",
                "required": kind.model_fields[name].is_required(),
                "description": schema.pop("description", ""),
                "schema": schema,
            }
            for name, schema in kind.model_json_schema()["properties"].items()
        ]
    if "{run:path}" in operation.path:
        run = {"name": "run", "in": "path", "required": True, "description": "id of a run"}
        parameters.insert(0, run | {"schema": {"type": "string"}})
    if "{corpus:path}" in operation.path:
        corpus = {"name": "corpus", "in": "path", "required": True, "description": "name of a corpus"}
        parameters.insert(0, corpus | {"schema": {"type": "string"}})
    if "{number:int}" in operation.path:
        number = {"name": "number", "in": "path", "required": True, "description": "number of a source"}
        parameters.insert(1, number | {"schema": {"type": "integer"}})
    reply = references[operation.reply, "serialization"]
    content = {
        media: {"schema": reply if media in ("application/json", "text/event-stream") else {"type": "string"}}
        for media in operation.media_types
    }
    fault = {"application/json": {"schema": references[ErrorReply, "serialization"]}}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            str(int(operation.status)): {"description": operation.reply.__doc__ or "", "content": content},
            **{str(int(status)): {"description": words, "content": fault} for status, words in _FAULTS},
        },
    }
    if operation.request is not None and operation.method != "GET":
        schema = references[operation.request[1], "validation"]
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if operation.has_files:
        files = {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}}
        schema = {"type": "object", "properties": {"files": files}}
        described["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    return described
