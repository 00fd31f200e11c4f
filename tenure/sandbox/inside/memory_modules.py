"""Import modules from memory: files that a program writes are never imported by the process of the tests."""

import importlib.abc
import importlib.machinery
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class MemoryFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of modules whose sources are in memory."""

    def __init__(
        self, folder: str, sources: Mapping[str, str], compile_module: Callable[[str, str], types.CodeType]
    ) -> None:
        """Find the sources by their relative paths; modules name `folder` as their place."""
        self._folder, self._sources, self._compile = folder, sources, compile_module
        self.added_names: dict[str, Any] = {}
        """Names added to each module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module in memory."""
        base = fullname.replace(".", "/")
        for name, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
            if name in self._sources:
                return self._make_spec(fullname, name, is_package=is_package)
        is_namespace = any(name.startswith(f"{base}/") for name in self._sources)
        return self._make_spec(fullname, "", is_package=True) if is_namespace else None

    def _make_spec(self, fullname: str, name: str, *, is_package: bool) -> importlib.machinery.ModuleSpec:
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=name, is_package=is_package)
        if is_package:
            spec.submodule_search_locations = [f"{self._folder}/{fullname.replace('.', '/')}"]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Return None: Python creates the module."""
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute a module."""
        name = module.__spec__.origin if module.__spec__ else ""
        if name:
            module.__file__ = f"{self._folder}/{name}"
            module.__dict__.update(self.added_names)
            exec(self._compile(module.__file__, self._sources[name]), module.__dict__)
