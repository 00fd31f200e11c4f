"""Document formats: one module each, found by `tenure.sources.parsers.registry`."""

from tenure.extensions import get_plugin_paths

__path__.extend(get_plugin_paths("document_formats"))
