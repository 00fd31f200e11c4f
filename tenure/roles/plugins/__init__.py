"""Roles of plugins: the modules in the folders `roles` of `TENURE_PLUGINS`."""

from tenure.extensions import get_plugin_paths

__path__.extend(get_plugin_paths("roles"))
