"""Define the search attributes of a run, by which `list` and the web UI filter.

Their values are stored unencrypted, so they contain no text of questions or reports.
"""

from temporalio.common import SearchAttributeKey

MODE = SearchAttributeKey.for_keyword("TenureMode")
"""Mode: RESEARCH, CODE or UNDEFINED."""

PHASE = SearchAttributeKey.for_keyword("TenurePhase")
"""Phase of the run."""

STATUS = SearchAttributeKey.for_keyword("TenureStatus")
"""Status of the run."""

OWNER = SearchAttributeKey.for_keyword("TenureOwner")
"""Owner of the run; absent for a run without an owner."""

ALL = (MODE, PHASE, STATUS, OWNER)
"""All attributes that a namespace needs."""
