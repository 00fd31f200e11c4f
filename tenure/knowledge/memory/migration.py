"""Memories as older versions kept them: a column for each field, from which the one of today is made."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import TypeAdapter

from tenure.contracts.base import RunId
from tenure.contracts.knowledge.memory import Details, Memory, Origin

ONCE: Final = ("support", "confidence", "valence", "merged", "details")
"""Columns that went when a memory came to stand whole in one."""

_DETAILS: Final[TypeAdapter[Details]] = TypeAdapter(Details)
_SAME: Final = ("id", "owner", "kind", "text", "confidence", "importance", "valence", "awaiting", "merged", "disputed")


def whole(row: Mapping[str, Any]) -> str:
    """Return what stands in the column `memory` of a row that has a column for each field."""
    memory = Memory(
        **{name: row[name] for name in _SAME},
        made=datetime.fromtimestamp(row["made"], UTC),
        origin=Origin(run=RunId(row["run"]), sources=tuple(row["sources"]), support=row["support"]),
        details=_DETAILS.validate_json(row["details"]) if row["details"] else None,
    )
    return memory.model_dump_json(exclude={"uses", "last_used"})
