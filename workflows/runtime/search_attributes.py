"""Search attributes of a run: what `list` and the web UI filter by. No question and no answer goes here."""

from temporalio.common import SearchAttributeKey

MODE = SearchAttributeKey.for_keyword("TenureMode")
"""RESEARCH, CODE or UNDEFINED."""

PHASE = SearchAttributeKey.for_keyword("TenurePhase")
"""What the run is doing."""

STATUS = SearchAttributeKey.for_keyword("TenureStatus")
"""How the run stands."""

OWNER = SearchAttributeKey.for_keyword("TenureOwner")
"""Whose run it is; a run of nobody in particular has none."""

ALL = (MODE, PHASE, STATUS, OWNER)
"""Every attribute a namespace needs."""
