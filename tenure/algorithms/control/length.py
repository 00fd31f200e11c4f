"""Scale a report to the length that its reader wants."""

from collections.abc import Mapping
from typing import Final

from tenure.contracts.choices import ReportLength

SECTION_FACTORS: Final[Mapping[ReportLength, float]] = {"short": 0.5, "standard": 1.0, "long": 1.5}
"""Number of sections of a report of each length, relative to that of a standard report."""
EXCERPT_FACTORS: Final[Mapping[ReportLength, float]] = {"short": 0.5, "standard": 1.0, "long": 1.6}
"""Number of excerpts of a section without a model, relative to that of a standard report."""


def scale_sections(sections: int, length: ReportLength) -> int:
    """Return the number of sections of a report of a length, given that of a standard report; at least one."""
    return max(1, round(sections * SECTION_FACTORS[length]))


def scale_excerpts(excerpts: int, length: ReportLength) -> int:
    """Return the number of excerpts of a section of a length, given that of a standard section; at least two."""
    return max(2, round(excerpts * EXCERPT_FACTORS[length]))
