"""Represent the objects and classes of the other process.

A class of the other side is mirrored by a class with the same special methods, an instance by a handle that forwards
them. The endpoint decides what a forwarded operation may give: the tests' process is strict, the program's is not.
"""

import types
from collections.abc import Callable
from typing import Any, Final

from tenure.sandbox.inside.protocol import PLAIN_BASES, ProtocolError

ORDERINGS: Final = ("__lt__", "__le__", "__gt__", "__ge__")
COMPARISONS: Final = ("__eq__", "__ne__", *ORDERINGS)
_BINARY: Final = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "divmod"),
    *("lshift", "rshift"),
)
ARITHMETIC: Final = frozenset(
    f"__{side}{name}__" for name in _BINARY for side in ("", "r", "i") if (name, side) != ("divmod", "i")
)
CONVERSIONS: Final = frozenset(
    f"__{name}__"
    for name in ("abs neg pos invert bool int float complex index round trunc floor ceil bytes fspath").split()
)
ASYNCHRONOUS: Final = ("__aenter__", "__aexit__", "__anext__", "__await__")
_OTHERS: Final = (
    *("__len__", "__length_hint__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__call__"),
    *("__iter__", "__next__", "__reversed__", "__enter__", "__exit__", "__hash__", "__aiter__"),
)
SPECIAL: Final = frozenset({*COMPARISONS, *ARITHMETIC, *CONVERSIONS, *ASYNCHRONOUS, *_OTHERS})
"""Special methods that a mirrored class has if the class has them."""
SHOWING: Final = ("__str__", "__repr__", "__format__", "__dir__")
"""Special methods that every handle forwards."""
READABLE: Final = frozenset({"__name__", "__qualname__", "__annotations__", "__version__", "__author__"})
"""Names with underscores on both sides that are read as attributes."""


class RemoteObject:
    """Marker of everything that refers to an object of the other side."""

    __slots__ = ()


class RemoteText(str):
    """Docstring of the other side: it can be read, but its examples are not run here."""

    __slots__ = ()

    def _refuse(self, tabsize: Any = 8) -> str:
        raise ProtocolError("examples in docstrings of the program are not run by the tests' process")

    # The first step of parsing examples.
    expandtabs = _refuse


def find_owner(value: Any) -> tuple[Any, int] | None:
    """Return the endpoint of a remote object and its number there, or None."""
    if issubclass(type(value), RemoteType):
        owner = value.__dict__.get("_tenure_of")
        return owner if owner is not None and owner[1] else None
    if not issubclass(type(value), RemoteObject):
        return None
    try:
        found: tuple[Any, int] = object.__getattribute__(value, "_tenure_handle")
    except AttributeError:
        return None
    return found


def get_owner(value: Any) -> tuple[Any, int]:
    """Return the endpoint of a remote object and its number there.

    Raises:
        TypeError: it is no remote object.
    """
    if (owner := find_owner(value)) is None:
        raise TypeError(f"{type(value).__name__} is no object of the other process")
    return owner


def is_remote(value: Any) -> bool:
    """Return whether a value is an object of the other side without any plain data."""
    return issubclass(type(value), (RemoteObject, RemoteType)) and not issubclass(type(value), PLAIN_BASES)


def _read_doc(value: Any) -> RemoteText | None:
    """Return the docstring of a remote object."""
    if (owner := find_owner(value)) is None:
        return None
    text = owner[0].read_attribute(value, "__doc__")
    return RemoteText(text) if isinstance(text, str) else None


def _is_forwarded(name: str) -> bool:
    """Return whether an attribute is read from the other side."""
    if name.startswith("_tenure_"):
        return False
    return not (name.startswith("__") and name.endswith("__")) or name in READABLE


class RemoteType(type):
    """Metaclass of mirrored classes: calling one creates an object on the other side."""

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        """Create an object of the class."""
        if (owner := find_owner(cls)) is None:
            return super().__call__(*arguments, **named)
        return owner[0].request("call", cls, list(arguments), named)

    def __getattr__(cls, name: str) -> Any:
        """Read an attribute of the class."""
        if (owner := find_owner(cls)) is None or not _is_forwarded(name):
            raise AttributeError(name)
        return owner[0].read_attribute(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        """Set an attribute of the class, and remember the original."""
        if (owner := find_owner(cls)) is None or not _is_forwarded(name):
            super().__setattr__(name, value)
            return
        was = cls.__dict__["_tenure_was"]
        if name not in was and hasattr(cls, name):
            was[name] = getattr(cls, name)
        owner[0].request("setattr", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        """Delete an attribute of the class; an attribute that was set from here is restored."""
        if (owner := find_owner(cls)) is None or not _is_forwarded(name):
            super().__delattr__(name)
        elif name in (was := cls.__dict__["_tenure_was"]):
            owner[0].request("setattr", cls, name, was.pop(name))
        else:
            owner[0].request("delattr", cls, name)

    def __bool__(cls) -> bool:
        """Return True, as for any class."""
        return True


def _forward_of_class(name: str) -> Callable[..., Any]:
    """Return the method of a mirrored class that forwards a special method."""

    def method(cls: Any, *arguments: Any) -> Any:
        if (owner := find_owner(cls)) is None:
            raise TypeError(f"{cls.__name__} has no {name}")
        return owner[0].request("special", cls, name, list(arguments), {})

    return method


for _name in ("__getitem__", "__iter__", "__len__", "__contains__"):
    setattr(RemoteType, _name, _forward_of_class(_name))
RemoteType.__doc__ = property(_read_doc)  # type: ignore[assignment]


def _forward(name: str) -> Callable[..., Any]:
    """Return the method of a handle that forwards a special method."""

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        if (owner := find_owner(self)) is None:
            raise TypeError(f"{type(self).__name__} has no {name}: the tests cannot subclass a class of the program")
        return owner[0].apply_special(self, name, list(arguments), named)

    def asynchronous(self: Any, *arguments: Any) -> Any:
        return get_owner(self)[0].apply_asynchronous(self, name, list(arguments))

    def awaited(self: Any) -> Any:
        return get_owner(self)[0].wait_for(self).__await__()

    made = awaited if name == "__await__" else asynchronous if name in ASYNCHRONOUS else method
    made.__name__ = name
    return made


_FORWARDED: Final = {name: _forward(name) for name in sorted(SPECIAL | {*SHOWING})}


class Attributes(RemoteObject):
    """Access to the attributes of a remote object."""

    def __getattr__(self, name: str) -> Any:
        """Read an attribute of the object."""
        if (owner := find_owner(self)) is None or not _is_forwarded(name):
            raise AttributeError(name)
        return owner[0].read_attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the object."""
        if name.startswith(("_tenure_", "__")) or (owner := find_owner(self)) is None:
            object.__setattr__(self, name, value)
        else:
            owner[0].request("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute of the object."""
        if name.startswith(("_tenure_", "__")) or (owner := find_owner(self)) is None:
            object.__delattr__(self, name)
        else:
            owner[0].request("delattr", self, name)

    def __copy__(self) -> Any:
        """Copy the object on its own side."""
        return self._tenure_copy(False)

    def __deepcopy__(self, memo: Any) -> Any:
        """Copy the object with its content on its own side."""
        return self._tenure_copy(True)

    def _tenure_copy(self, deep: bool) -> Any:
        base: Any = next((one for one in PLAIN_BASES if issubclass(type(self), one)), None)
        if base is not None:
            return base(self)
        if (owner := find_owner(self)) is None:
            raise TypeError(f"{type(self).__name__} cannot be copied")
        return owner[0].request("copy", self, deep)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be pickled."""
        raise TypeError(f"{type(self).__name__} of the other process cannot be pickled")


class Handle(Attributes, metaclass=RemoteType):
    """Reference of an object of the other side."""

    def __hash__(self) -> int:
        """Return the hash of an object that is equal to nothing else."""
        owner = find_owner(self)
        return object.__hash__(self) if owner is None else hash(owner[1])

    @property
    def __array__(self) -> Any:
        """Refuse to become an array if the object was computed with plain data."""
        owner = find_owner(self)
        if owner is None or not owner[0].is_computed(self):
            raise AttributeError("__array__")

        def refuse(*arguments: Any, **named: Any) -> Any:
            raise TypeError("an object of the program that was computed with plain data cannot become an array")

        return refuse


for _name in SHOWING:
    setattr(Handle, _name, _FORWARDED[_name])


class Raised(Attributes):
    """Content of a remote exception."""

    def __str__(self) -> str:
        """Return its text, as the other side wrote it."""
        return str(self.__dict__.get("_tenure_text", ""))


def make_mirror(end: Any, number: int, name: str, bases: list[type], specials: list[str]) -> type:
    """Create a class that represents a class of the other side; number 0 represents none."""
    if any(one not in SPECIAL for one in specials):
        raise ProtocolError("the program under test sent a class with an unknown special method")
    body: dict[str, Any] = {"_tenure_of": (end, number), "_tenure_was": {}, "__module__": "program"}
    body["__doc__"] = property(_read_doc)
    errors = [base for base in bases if issubclass(base, BaseException)]
    plain = next((base for bases_of in bases for base in PLAIN_BASES if issubclass(bases_of, base)), None)
    mirrored = [base for base in bases if isinstance(base, RemoteType) and base not in errors]
    kinds: tuple[type, ...]
    if errors:
        kinds = (*([] if any(issubclass(base, Raised) for base in errors) else [Raised]), *errors)
    elif plain is not None:
        kept = [base for base in mirrored if issubclass(base, plain)]
        others = [base for base in mirrored if base not in kept]
        first: list[type] = [] if kept or others else [Attributes]
        kinds = (*others, *first, *(kept or (plain,)))
        # The operators of the plain type, whatever the other bases have.
        body |= {one: getattr(plain, one) for one in (*SPECIAL, *SHOWING) if hasattr(plain, one)}
    else:
        kinds = tuple(mirrored) or (Handle,)
        body |= {one: _FORWARDED[one] for one in specials}
        if "__hash__" not in specials and "__eq__" in specials:
            body["__hash__"] = None
    return types.new_class(name, kinds, {"metaclass": RemoteType}, lambda space: space.update(body))
