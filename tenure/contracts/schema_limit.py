"""Declare limits of an answer that its JSON schema states and that validation does not enforce.

A server with a strict grammar keeps such a limit, and the size of the longest answer follows from it. A longer answer
of another server is still accepted, since asking again would cost more than it saves.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema


@dataclass(frozen=True)
class SchemaLimit:
    """Limit of a string in characters or of a list in items; use it as the metadata of `Annotated`."""

    maximum: int

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the limit to the schema of a string or a list, or to that of an optional string."""
        schema = handler(core_schema)
        for variant in schema.get("anyOf", (schema,)):
            keyword = {"string": "maxLength", "array": "maxItems"}.get(variant.get("type", ""))
            if keyword:
                variant[keyword] = self.maximum
        return schema
