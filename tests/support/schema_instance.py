"""Minimal and random instances of JSON schemas, with which a test server answers any role without a script."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Json = dict[str, Any]
Path = tuple[str, ...]

MARKER = "model-server"
"""Prefix of all strings of an instance."""

_DEEP = 12


def instance(schema: Json, about: str = "") -> Any:
    """Return a small instance of a JSON schema as written by Pydantic.

    Strings start with the marker and are distinct; `about` distinguishes the strings of different requests. Enums take
    their first value, integers are 1 (so passage 1 is cited), and arrays have two items, or one if all items would be
    equal. `pattern` and `format` are ignored.
    """
    return _Instance(schema.get("$defs", {}), about).make(schema, ("answer",))


@dataclass(frozen=True)
class _Instance:
    defs: Mapping[str, Json]
    about: str

    def make(self, node: Json, path: Path) -> Any:
        if "$ref" in node:
            return self.make(self.defs[node["$ref"].removeprefix("#/$defs/")], path)
        if "const" in node:
            return node["const"]
        if "enum" in node:
            return node["enum"][0]
        variants = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
        if variants:
            return self.make(self._variant(variants, path), path)
        makers: dict[str, Callable[[Json, Path], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": lambda node, _: int(_bounded(node, 1)),
            "number": lambda node, _: _bounded(node, 0.5),
            "boolean": lambda *_: True,
            "null": lambda *_: None,
        }
        return makers[node.get("type", "string")](node, path)

    def _variant(self, variants: Sequence[Json], path: Path) -> Json:
        """Choose the first non-null variant; in deep recursion, null if it is allowed."""
        ends = [variant for variant in variants if variant.get("type") == "null"]
        says = [variant for variant in variants if variant.get("type") != "null"]
        return (ends or says)[0] if len(path) > _DEEP else (says or ends)[0]

    def _object(self, node: Json, path: Path) -> Json:
        return {name: self.make(part, (*path, name)) for name, part in node.get("properties", {}).items()}

    def _array(self, node: Json, path: Path) -> list[Any]:
        if "prefixItems" in node:
            return [self.make(part, (*path, str(n))) for n, part in enumerate(node["prefixItems"], 1)]
        wanted = 0 if len(path) > _DEEP else 2 if self._differs(node.get("items", {})) else 1
        count = min(max(wanted, node.get("minItems", 0)), node.get("maxItems", 99))
        return [self.make(node.get("items", {}), (*path, str(n))) for n in range(1, count + 1)]

    def _differs(self, node: Json) -> bool:
        """Return whether two instances of a node differ, which is so if they contain a string."""
        resolved = self.defs[node["$ref"].removeprefix("#/$defs/")] if "$ref" in node else node
        return "enum" not in resolved and resolved.get("type", "string") in ("string", "object", "array")

    def _string(self, node: Json, path: Path) -> str:
        name = next(part for part in reversed(path) if not part.isdecimal())
        # Numbers are spelled out: a figure that no source contains would be a reason to remove the sentence.
        place = ".".join(chr(ord("a") + int(part) - 1) for part in path if part.isdecimal())
        words = " ".join(filter(None, (MARKER, self.about, place, name.replace("_", " "))))
        return words.ljust(node.get("minLength", 0), ".")[: node.get("maxLength")]


def _bounded(node: Json, wanted: float) -> float:
    """Return the wanted number, or the nearest simple value within the node's bounds.

    Raises:
        ValueError: no simple value is within the bounds.
    """
    low: Any = node.get("minimum", node.get("exclusiveMinimum", wanted))
    high: Any = node.get("maximum", node.get("exclusiveMaximum", wanted))
    choices: list[float] = [wanted, low, high, (low + high) / 2, low + 1, high - 1]
    for choice in choices:
        if _fits(node, choice):
            return choice
    raise ValueError(f"no plain number fits {node}")


def _fits(node: Json, number: float) -> bool:
    inside = node.get("minimum", number) <= number <= node.get("maximum", number)
    above = "exclusiveMinimum" not in node or number > node["exclusiveMinimum"]
    below = "exclusiveMaximum" not in node or number < node["exclusiveMaximum"]
    whole = node.get("type") != "integer" or number == int(number)
    return bool(inside and above and below and whole)


_WORDS = "bread cheese copper harbour lantern market meadow number orange paper river stone table velvet window".split()
_MOST_ITEMS = 3
_RANGE = 20
"""Range of numbers without bounds."""


def nonsense(schema: Json, chance: Random) -> Any:
    """Return a random instance of a JSON schema: all choices, lengths and numbers are drawn."""
    return _Drawn(schema.get("$defs", {}), "", chance).make(schema, ("answer",))


@dataclass(frozen=True)
class _Drawn(_Instance):
    chance: Random

    def make(self, node: Json, path: Path) -> Any:
        if "enum" in node:
            return self.chance.choice(node["enum"])
        if node.get("type") == "boolean":
            return self.chance.random() < 0.5
        if node.get("type") == "integer":
            return self.chance.randint(*map(int, _limits(node, 1)))
        if node.get("type") == "number":
            low, high = _limits(node, 0)
            return low + (high - low) * self.chance.uniform(0.01, 0.99)  # never a bound, which may be exclusive
        return super().make(node, path)

    def _variant(self, variants: Sequence[Json], path: Path) -> Json:
        return super()._variant(variants, path) if len(path) > _DEEP else self.chance.choice(variants)

    def _array(self, node: Json, path: Path) -> list[Any]:
        if "prefixItems" in node or len(path) > _DEEP:
            return super()._array(node, path)
        least = node.get("minItems", 0)
        count = self.chance.randint(least, min(least + _MOST_ITEMS, node.get("maxItems", 99)))
        return [self.make(node.get("items", {}), (*path, str(n))) for n in range(1, count + 1)]

    def _string(self, node: Json, path: Path) -> str:
        words = " ".join(self.chance.choice(_WORDS) for _ in range(self.chance.randint(0, 12)))
        return words.ljust(node.get("minLength", 0), "x")[: node.get("maxLength")]


def _limits(node: Json, step: int) -> tuple[float, float]:
    """Return the bounds of a number; `step` is the distance of an exclusive bound to the next number."""
    low = max(node.get("minimum", -math.inf), node.get("exclusiveMinimum", -math.inf) + step)
    high = min(node.get("maximum", math.inf), node.get("exclusiveMaximum", math.inf) - step)
    if low == -math.inf:
        low = min(0, high - _RANGE)
    return low, low + _RANGE if high == math.inf else high
