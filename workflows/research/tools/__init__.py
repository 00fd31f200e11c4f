"""Tools of the ReAct loop.

Each module of this package defines one tool as `TOOL` and is named as the tool; `workflows.research.tool_registry`
finds them. A new tool needs no other change. Plugins add modules from their folder `tools`.
"""

from tenure.extensions import get_plugin_paths

__path__.extend(get_plugin_paths("tools"))
