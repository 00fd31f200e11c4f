"""Search attributes of a run: what `list` and the web UI filter by. No text of a person goes here."""

from temporalio.common import SearchAttributeKey

MODE = SearchAttributeKey.for_keyword("TenureMode")
"""RESEARCH, CODE or UNDEFINED."""

PHASE = SearchAttributeKey.for_keyword("TenurePhase")
"""What the run is doing."""

STATUS = SearchAttributeKey.for_keyword("TenureStatus")
"""How the run stands."""

ALL = (MODE, PHASE, STATUS)
"""Every attribute a namespace needs."""
