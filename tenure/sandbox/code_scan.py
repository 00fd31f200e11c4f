"""Find code by which a program could influence its tests, or learn what they expect.

Python lets every module change every other one, so tests in the process of a program are a proof only if the program
does not try that. The scan reads the source and names what an ordinary program does not need: introspection of frames
and functions, modules that reach into the interpreter, names of test tools, replaced attributes of other modules,
classes that decide about comparisons, and handlers that catch failed assertions. A finding is no proof of a cheat, and
what is only visible at run time is noted there (`tenure.sandbox.inside.watch`).
"""

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

MAX_FINDINGS: Final = 20
"""Maximum number of findings of a program."""

PLAIN_MODULES: Final = frozenset(
    "__future__ abc argparse array asyncio base64 bisect bz2 binascii calendar cmath collections colorsys concurrent "
    "configparser contextlib contextvars copy csv dataclasses datetime decimal difflib email enum errno fnmatch "
    "fractions functools getopt getpass glob graphlib gzip hashlib heapq hmac html http inspect io ipaddress itertools "
    "json keyword locale logging lzma math mimetypes numbers operator os pathlib platform pprint queue random re "
    "reprlib sched secrets selectors shlex shutil sqlite3 statistics string struct sys tarfile tempfile textwrap "
    "threading time timeit tomllib traceback types typing unicodedata urllib uuid warnings weakref xml zipfile zlib "
    "zoneinfo".split()
)
"""Modules of the standard library that reach neither other code nor other processes."""

TOOLS: Final = frozenset("pytest _pytest pluggy hypothesis nose mock tenure iniconfig".split())
"""Packages of tests, besides those of the standard library."""

KNOWN_PACKAGES: Final = frozenset(
    "PIL attr attrs bs4 cv2 cvxpy dask dateutil flask hypothesis jax jinja2 jsonschema lxml matplotlib mpmath networkx "
    "numba numpy pandas polars pyarrow pydantic pytest pytz requests scipy seaborn shapely sklearn statsmodels sympy "
    "tensorflow torch xarray yaml".split()
)
"""Packages that tests import to compute expected values; a module of the program must not take their place."""

MODULE_NAMES: Final[Mapping[str, frozenset[str]]] = {
    "sys": frozenset(
        "argv byteorder executable exit float_info getdefaultencoding getrecursionlimit getsizeof hash_info "
        "hexversion implementation int_info intern maxsize maxunicode platform prefix setrecursionlimit stderr stdin "
        "stdout version version_info set_int_max_str_digits".split()
    ),
    "inspect": frozenset(
        "Parameter Signature cleandoc getdoc isabstract isasyncgen isasyncgenfunction isawaitable isbuiltin isclass "
        "iscoroutine iscoroutinefunction isfunction isgenerator isgeneratorfunction ismethod ismodule isroutine "
        "signature".split()
    ),
    "types": frozenset(
        "AsyncGeneratorType BuiltinFunctionType CoroutineType EllipsisType FunctionType GeneratorType GenericAlias "
        "LambdaType MappingProxyType MethodType ModuleType NoneType NotImplementedType SimpleNamespace TracebackType "
        "UnionType".split()
    ),
    "traceback": frozenset("format_exc format_exception format_exception_only print_exc print_exception".split()),
}
"""Names of modules with many sharp tools that ordinary programs use."""

SHARP_NAMES: Final = frozenset(
    # Functions of os that act on processes and descriptors.
    "_exit abort kill killpg fork forkpty execl execle execlp execv execve execvp execvpe spawnl spawnv spawnve "
    "posix_spawn posix_spawnp popen dup2 fdopen register_at_fork "
    # Introspection of functions, frames, generators and tracebacks.
    "cell_contents f_back f_builtins f_globals f_locals f_code tb_frame tb_next gi_frame gi_code cr_frame cr_code "
    "ag_frame ag_code co_consts co_code co_names mro getattr_static attrgetter "
    # Interface of mocks, by which a program could answer for the test.
    "assert_called assert_called_once assert_called_once_with assert_called_with assert_any_call assert_has_calls "
    "assert_not_called call_args call_args_list call_count mock_calls method_calls side_effect return_value "
    "configure_mock reset_mock mock_add_spec addTypeEqualityFunc skipTest failureException "
    # Judges of packages, classes made without a statement, and what the whole process shares.
    "testing make_dataclass new_class setcontext chdir fchdir".split()
)
"""Attributes and imported names that reach into other code."""

_PLAIN_DUNDERS: Final = frozenset(
    f"__{name}__"
    for name in "abs add aenter aexit aiter all and anext annotations author await bool bytes call ceil class "
    "class_getitem complex contains copy debug deepcopy delattr delete delitem dict doc divmod enter eq exit file "
    "float floor floordiv format ge get getattr getitem getnewargs getstate gt hash iadd iand ifloordiv ilshift "
    "imatmul imod imul index init init_subclass int invert ior ipow irshift isub iter itruediv ixor le len license "
    "lshift lt main matmul missing mod module mul name ne neg new next or pos post_init pow qualname radd rand "
    "rdivmod repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor set "
    "set_name setattr setitem setstate sizeof slots str sub truediv trunc version xor enter_context cause "
    "match_args future".split()
)
"""Special names that ordinary programs define or read."""
_NOT_DEFINED: Final = frozenset({"__class__", "__dict__", "__module__", "__setattr__"})
"""Special names that an ordinary program reads and does not define."""

_SHARP_CALLS: Final = frozenset("eval exec compile __import__ globals locals breakpoint delattr setattr".split())
_RAISES_TO_TESTS: Final = frozenset({"BaseException", "AssertionError", "KeyboardInterrupt"})
_STOPS: Final = frozenset({"StopIteration", "StopAsyncIteration", "GeneratorExit"})
_FOLDER_SEARCHES: Final = frozenset("listdir scandir walk glob iglob rglob iterdir fwalk".split())
# Beginnings of the names that pytest and unittest call without a test that names them
_HOOKS: Final = ("pytest", "setup_", "teardown_", "setUpModule", "tearDownModule", "load_tests", "test_")
# Places and names of the tests in texts, and special names that `getattr` and `format` would read.
_SHARP_TEXT: Final = re.compile(
    r"/box/|/proc/|/in/tenure|conftest|PYTEST|pytest|sitecustomize|"
    r"__(?:globals|builtins|code|closure|subclasses|bases|mro|base|self|func|wrapped|traceback|import|loader)__|"
    r"\b(?:f_back|f_globals|f_locals|tb_frame|gi_frame|cr_frame|cell_contents)\b"
)


def find_suspicious_code(
    sources: Mapping[str, str], tests: Mapping[str, str], data: Sequence[str] = (), *, same_process: bool = True
) -> tuple[str, ...]:
    """Return the code of a program that could influence its tests, with file and line.

    Args:
        sources: text of each file of the program by its name.
        tests: source of each test file by its name.
        data: names of the other files of the tests.
        same_process: whether the program runs in the process of the tests; otherwise only their files are in its reach.
    """
    own = {name.split("/")[0].removesuffix(".py") for name in sources}
    judges = {name.split("/")[0].removesuffix(".py") for name in tests} - own
    found: list[str] = []
    imported = {name for text in tests.values() for name in _list_imported(text)}
    for root in sorted(own & KNOWN_PACKAGES & imported):
        found.append(f"the module {root} of the program has the name of a package")
    star = any(re.search(r"^\s*from\s+\S+\s+import\s+\*", text, re.MULTILINE) for text in tests.values())
    names = frozenset(name for text in tests.values() for name in _list_bound(text)) if star else frozenset()
    for file, text in sources.items():
        try:
            tree = ast.parse(text) if file.endswith(".py") else None
        except (SyntaxError, ValueError, RecursionError):
            tree = None
        if tree is None:
            found += [f"{file} names {name}, a file of the tests" for name in data if name.rsplit("/", 1)[-1] in text]
            continue
        scan = _Scan(
            own, judges, data, names | frozenset(dir(builtins)) if star else frozenset(), same_process=same_process
        )
        scan.visit(tree)
        found += [f"{file}, line {line}: {what}" for line, what in sorted(scan.findings)]
    return tuple(dict.fromkeys(found))[:MAX_FINDINGS]


def _list_imported(text: str) -> Iterator[str]:
    """Yield the top-level modules that a test file imports."""
    for node in _walk(text):
        if isinstance(node, ast.Import):
            yield from (one.name.split(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _list_bound(text: str) -> Iterator[str]:
    """Yield the names that a test file itself defines or imports, except by a star."""
    for node in _walk(text):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]


def _walk(text: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return


class _Scan(ast.NodeVisitor):
    """Scan of one file."""

    def __init__(
        self, own: set[str], judges: set[str], data: Sequence[str], reserved: frozenset[str], *, same_process: bool
    ) -> None:
        self.findings: set[tuple[int, str]] = set()
        self._own, self._judges, self._reserved, self._same_process = own, judges | TOOLS, reserved, same_process
        self._data = tuple(name.rsplit("/", 1)[-1] for name in data)
        self._modules: dict[str, str] = {}
        self._foreign: set[str] = set()
        self._functions: list[str] = []
        self._defined: set[str] = set()

    def visit_Module(self, node: ast.Module) -> None:
        """Collect imported and defined names first, wherever they are."""
        for one in ast.walk(node):
            if isinstance(one, ast.Import):
                self._modules |= {(a.asname or a.name).split(".")[0]: a.name for a in one.names}
            elif (
                isinstance(one, ast.ImportFrom) and not one.level and (one.module or "").split(".")[0] not in self._own
            ):
                self._foreign |= {a.asname or a.name for a in one.names}
            elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                self._defined.add(one.name)
        for statement in node.body:
            self._check_exported(statement)
        self.generic_visit(node)

    def _find(self, node: ast.AST, what: str, *, always: bool = False) -> None:
        if self._same_process or always:
            self.findings.add((getattr(node, "lineno", 0), what))

    def _check_exported(self, node: ast.stmt) -> None:
        """Find names that hooks of pytest or a star import would put into the tests."""
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [one.id for target in targets if target for one in ast.walk(target) if isinstance(one, ast.Name)]
        names += [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) else []
        for name in names:
            if name.startswith(_HOOKS) or name in self._reserved or name in ("__path__", "__loader__", "__spec__"):
                self._find(node, f"defines {name} for the tests")
            if name in ("__getattr__", "__dir__", "__test__", "__builtins__"):
                self._find(node, f"defines {name}")
            if name == "__all__" and any(text.startswith(("_", *_HOOKS)) for text in _iterate_texts(node)):
                self._find(node, "exports special names")

    # Imports and names.

    def visit_Import(self, node: ast.Import) -> None:
        """Find modules that reach into other code."""
        for one in node.names:
            self._check_import(node, one.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Find names that reach into other code."""
        if node.level:
            return
        module = node.module or ""
        self._check_import(node, module)
        for one in node.names:
            self._check_member(node, module, one.name)
            if one.name == "*" and module.split(".")[0] not in self._own:
                self._find(node, f"imports everything of {module}")

    def _check_import(self, node: ast.AST, module: str) -> None:
        root = module.split(".")[0]
        private = any(part.startswith("_") and part != "__future__" for part in module.split("."))
        is_sharp = root in sys.stdlib_module_names and root not in PLAIN_MODULES
        if root not in self._own and (is_sharp or private or root in self._judges or "testing" in module):
            self._find(node, f"imports {module}")

    def _check_member(self, node: ast.AST, module: str, name: str) -> None:
        root = module.split(".")[0]
        if root in self._own:
            return
        allowed = MODULE_NAMES.get(module)
        if (allowed is not None and name not in allowed) or name in SHARP_NAMES or _is_private(name):
            self._find(node, f"uses {module}.{name}")
        elif module == "os" and name == "system":
            self._find(node, "uses os.system")

    def visit_Name(self, node: ast.Name) -> None:
        """Find sharp built-in functions and modules that are handed over as values."""
        if node.id in _SHARP_CALLS or node.id == "getattr" or (_is_sharp_dunder(node.id)):
            self._find(node, f"uses {node.id}")
        elif node.id in self._modules and isinstance(node.ctx, ast.Load):
            self._find(node, f"hands over the module {node.id}")
        elif node.id in _STOPS and not (self._functions and self._functions[-1] in ("__next__", "__anext__")):
            self._find(node, f"uses {node.id} outside of an iterator")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Find introspection, and names of other modules that are replaced."""
        root = _find_root(node)
        is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "super")
        if isinstance(node.value, ast.Name) and node.value.id in self._modules:
            self._check_member(node, self._modules[node.value.id], node.attr)
        elif node.attr in SHARP_NAMES or _is_sharp_dunder(node.attr) or (node.attr == "__dict__" and not is_own):
            self._find(node, f"uses .{node.attr}")
        elif root in self._modules and _is_private(node.attr):
            self._find(node, f"uses {root}…{node.attr}")
        if not isinstance(node.ctx, ast.Load):
            self._check_replaced(node, root)
        if not (isinstance(node.value, ast.Name) and node.value.id in self._modules):
            self.visit(node.value)

    def _check_replaced(self, node: ast.Attribute, root: str) -> None:
        """Find an assignment to an attribute of something that is not the program's own."""
        if isinstance(node.value, ast.Call) and _get_last_name(node.value.func) == "getcontext":
            self._find(node, "changes the arithmetic of decimals for the tests as well")
        if root == "sys" and node.attr in ("stdout", "stderr", "stdin"):
            return
        if (
            (root in self._modules and self._modules[root].split(".")[0] not in self._own)
            or root in self._foreign
            or hasattr(builtins, root)
        ):
            self._find(node, f"replaces {root}.{node.attr}")
        elif node.attr.startswith("__") and node.attr not in ("__name__", "__doc__", "__qualname__", "__cause__"):
            self._find(node, f"replaces .{node.attr}")

    def visit_Assign(self, node: ast.Assign) -> None:
        """Find functions that take the place of attributes of other objects, and defined special names."""
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                is_function = isinstance(node.value, ast.Lambda) or getattr(node.value, "id", "") in self._defined
                if is_function and _find_root(target) not in ("self", "cls"):
                    self._find(node, f"replaces .{target.attr} by a function")
            if isinstance(target, ast.Name) and target.id in _NOT_DEFINED:
                self._find(node, f"defines {target.id}")
            root = _find_root(target)
            if isinstance(target, ast.Subscript) and root in self._modules and root != "os":
                self._find(node, f"changes {root}")
        self.generic_visit(node)

    # Calls, texts, functions and classes.

    def visit_Call(self, node: ast.Call) -> None:
        """Find calls that reach what cannot be read here."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "getattr":
            self._check_getattr(node)
        elif name == "setattr" and isinstance(node.args[0] if node.args else None, ast.Name):
            if node.args[0].id not in ("self", "cls"):  # type: ignore[attr-defined]
                self._find(node, "uses setattr on another object")
        elif name in _SHARP_CALLS:
            self._find(node, f"uses {name}")
        elif name == "type" and len(node.args) == 3:
            self._find(node, "makes a class by type()")
        elif name == "next" and len(node.args) == 1 and self._functions[-1:] == ["<lambda>"]:
            self._find(node, "may end an iteration in a lambda")
        if self._data and _get_last_name(node.func) in _FOLDER_SEARCHES:
            self._find(node, "searches folders; the tests have files there", always=True)
        for keyword in node.keywords:
            if keyword.arg in ("dir_fd", "stack_info"):
                self._find(node, f"uses {keyword.arg}")
        if name not in ("getattr", "setattr", *_SHARP_CALLS):
            self.visit(node.func)
        for one in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(one)

    def _check_getattr(self, node: ast.Call) -> None:
        """Find `getattr` with a name that is not written there; a written prefix such as `visit_` is enough."""
        wanted = node.args[1] if len(node.args) > 1 else None
        if isinstance(wanted, ast.JoinedStr) and wanted.values:
            wanted = wanted.values[0]
        text = wanted.value if isinstance(wanted, ast.Constant) else ""
        if not isinstance(text, str) or not text or text.startswith("_") or text in SHARP_NAMES:
            self._find(node, "uses getattr with a computed name")

    def visit_Constant(self, node: ast.Constant) -> None:
        """Find texts that name the tests, their files or internals of Python."""
        if not isinstance(node.value, str | bytes):
            return
        text = node.value if isinstance(node.value, str) else node.value.decode(errors="replace")
        if (found := _SHARP_TEXT.search(text)) is not None:
            self._find(node, f"has a text with {found[0]}", always=True)
        if any(name in text for name in self._data):
            self._find(node, "names a file of the tests", always=True)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out docstrings."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Scan a function and remember that its body is inside of it."""
        if _is_sharp_dunder(node.name) or node.name in _NOT_DEFINED - {"__setattr__"}:
            self._find(node, f"defines {node.name}")
        self._functions.append(node.name)
        self.generic_visit(node)
        self._functions.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Scan a coroutine function."""
        self.visit_FunctionDef(node)  # type: ignore[arg-type]

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Scan a lambda."""
        self._functions.append("<lambda>")
        self.generic_visit(node)
        self._functions.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Find classes of classes that decide about comparisons."""
        bases = {_get_last_name(base) for base in node.bases}
        own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        if "type" in bases and own & {"__eq__", "__hash__", "__getattr__", "__bool__", "__len__", "__iter__"}:
            self._find(node, f"the metaclass {node.name} answers for its classes")
        if "ModuleType" in bases:
            self._find(node, f"{node.name} takes the place of a module")
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """Find handlers that keep failed assertions from the tests."""
        names = (
            {"BaseException"}
            if node.type is None
            else {one.id for one in ast.walk(node.type) if isinstance(one, ast.Name)}
        )
        raises = any(isinstance(one, ast.Raise) for one in ast.walk(node))
        if names & _RAISES_TO_TESTS and not raises:
            self._find(node, "catches every exception" if "BaseException" in names else "catches failed assertions")
        for statement in node.body:
            self.visit(statement)


def _iterate_texts(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_sharp_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and len(name) > 4 and name not in _PLAIN_DUNDERS


def _find_root(node: ast.AST) -> str:
    """Return the name at the beginning of a chain of attributes and subscripts, or an empty string."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _get_last_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))
