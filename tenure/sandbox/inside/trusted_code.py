"""Let the tests' process execute code of the tests and of installed packages only.

The program runs as the same user, so it can write what this process can write. Modules are therefore found in folders
that are read-only for this process, and an audit hook (PEP 578) refuses to execute any other file or text.
"""

import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tenure.sandbox.inside.protocol import ProtocolError

PICKLED: Final = frozenset(
    f"{module}.{name}"
    for module, names in {
        "builtins": "set frozenset bytearray complex range slice object int float str bytes list dict tuple bool",
        "collections": "OrderedDict Counter defaultdict deque",
        "copyreg": "_reconstructor __newobj__",
        "datetime": "date datetime time timedelta timezone",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "uuid": "UUID",
    }.items()
    for name in names.split()
)
"""Classes and functions that pickled data may name; other ones could execute anything."""
EXECUTORS: Final = frozenset({"timeit", "runpy", "code", "codeop", "pdb", "bdb", "profile", "cProfile", "trace"})
"""Modules that execute the text they are given."""


class InstalledFinder:
    """Path finder that leaves out folders which the program can write into."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of an installed module."""
        entries = sys.path if path is None else path
        return importlib.machinery.PathFinder.find_spec(fullname, [one for one in entries if is_installed(one)], target)

    @staticmethod
    def invalidate_caches() -> None:
        """Forget what folders contain."""
        importlib.machinery.PathFinder.invalidate_caches()


def is_installed(path: str) -> bool:
    """Return whether a file or folder is out of the program's reach; a relative or missing one never is.

    A mode says nothing about that, since the owner can change it: the file system is read-only, or neither the path nor
    a folder above it belongs to this user or can be written.
    """
    real = os.path.realpath(path)
    if not os.path.isabs(path) or not os.path.exists(real):
        return False
    if os.statvfs(real).f_flag & os.ST_RDONLY:
        return True
    own = os.getuid()
    while os.stat(real).st_uid != own and not os.access(real, os.W_OK):
        if real == "/":
            return True
        real = os.path.dirname(real)
    return False


def refuse_other_code(
    sources: Mapping[str, str], modules: Iterable[str], folder: str, note: Callable[[str], None]
) -> None:
    """Install the audit hook, which stays for the life of this process.

    Args:
        sources: sources of the tests.
        modules: names of the tests' own modules.
        folder: folder that the code of the tests names.
        note: function that records a refusal, so that the test fails even if it catches the exception.
    """
    known = {line.strip() for text in sources.values() for line in text.splitlines()}
    own = frozenset(modules)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("exec", "compile", "pickle.find_class", "marshal.loads", "marshal.load", "ctypes.dlopen"):
            return
        caller = sys._getframe(1)
        if event == "exec":
            refused = not _may_execute(arguments[0], caller, folder)
        elif event == "compile":
            refused = caller.f_globals.get("__name__") == "doctest" and not _is_example(arguments[0], known)
        elif event == "pickle.find_class":
            refused = f"{arguments[0]}.{arguments[1]}" not in PICKLED and arguments[0] not in own
        elif event == "ctypes.dlopen":
            refused = isinstance(arguments[0], str) and "/" in arguments[0] and not is_installed(arguments[0])
        else:
            refused = _is_test(caller, folder)
        if refused:
            message = "the tests' process executes no text, file or data that the program could have written"
            note(message)
            raise ProtocolError(message)

    sys.addaudithook(hook)


def _may_execute(code: types.CodeType, caller: types.FrameType, folder: str) -> bool:
    """Return whether code may be executed."""
    file, module = code.co_filename, caller.f_globals.get("__name__", "")
    if file.startswith(f"{folder}/"):
        return str(module).startswith("tenure.sandbox.inside.")
    if _is_test(caller, folder):
        return _is_literal(code, caller.f_code)
    if module in EXECUTORS:
        return is_installed(file)
    while os.path.isabs(file) and not os.path.lexists(file):
        # Compiled code can name the place of its compilation. The program must not be able to write there.
        file = os.path.dirname(file)
    return is_installed(file) or not os.path.isabs(file)


def _is_test(frame: types.FrameType, folder: str) -> bool:
    return frame.f_code.co_filename.startswith(f"{folder}/")


def _is_literal(code: types.CodeType, caller: types.CodeType) -> bool:
    """Return whether code is a text that the calling code itself contains."""
    for text in caller.co_consts:
        for mode in ("exec", "eval"):
            try:
                if type(text) is str and compile(text, code.co_filename, mode) == code:
                    return True
            except (SyntaxError, ValueError):
                continue
    return False


def _is_example(source: Any, known: set[str]) -> bool:
    """Return whether an example of a docstring is written in a test file; the parser names it once more as bytes."""
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    return isinstance(text, str) and all(
        any(line.strip() in one for one in known) for line in text.splitlines() if line.strip()
    )
