"""Tools of the ReAct loop.

Each module of this package defines one tool as `TOOL` and is named as the tool; `workflows.research.tool_registry`
finds them. A new tool needs no other change.
"""
