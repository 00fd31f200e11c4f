"""Search providers with an HTTP API: one module each, found by `tenure.sources.search.registry`."""

from tenure.extensions import get_plugin_paths

__path__.extend(get_plugin_paths("search_providers"))
