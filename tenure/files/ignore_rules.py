"""Match names against the patterns of `.gitignore` files, as git does.

A pattern comes from the same stranger as the documents. Matching therefore takes time proportional to the length of
pattern times the length of the name: a star never returns to an earlier star. Files with more or longer patterns than a
person writes are refused.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tenure.files.opening import FileRefused

MAX_IGNORE_FILE_BYTES: Final = 1_000_000
_MAX_PATTERNS: Final = 5_000
_MAX_PATTERN_CHARACTERS: Final = 4_096
_MAX_NAME_BYTES: Final = 255
"""Maximum length of a file name; a longer literal matches none."""

_NEVER: Final = re.compile(r"(?!)")  # Matches nothing.
_ANY: Final = re.compile(r"[^/]+", re.DOTALL)  # Matches every name.
_STAR: Final = "*"
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")  # `{src,tests/a}`, the inner ones of nested braces first
_MAX_ALTERNATIVES: Final = 200
_CLASSES: Final = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": " \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
"""Ranges of the POSIX character classes."""


@dataclass(frozen=True)
class _Pattern:
    is_excluded: bool
    """Whether a match is excluded; False for a negated pattern."""
    folders_only: bool
    segments: tuple[re.Pattern[str] | None, ...]
    """Segments of a path, None for any number of them; a single one is matched with the name."""
    is_anchored: bool
    """Whether it is matched with the path relative to the file's folder instead of with the name."""

    def matches(self, names: Sequence[str]) -> bool:
        """Return whether it matches the entry at a relative path."""
        return _match_segments(self.segments, names if self.is_anchored else names[-1:])


class IgnoreRules:
    """Patterns of one `.gitignore`."""

    def __init__(self, content: bytes) -> None:
        """Parse the content of the file.

        Raises:
            FileRefused: there are too many patterns, or one is too long.
        """
        lines = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
        patterns = [pattern for line in lines if (pattern := _parse_line(line))]
        if len(patterns) > _MAX_PATTERNS:
            raise FileRefused(f"has a .gitignore with more than {_MAX_PATTERNS:,} patterns")
        self._patterns = tuple(reversed(patterns))

    @classmethod
    def from_glob(cls, pattern: str) -> "IgnoreRules":
        """Parse a pattern with alternatives, such as `{src,tests}/**/*.py`.

        Raises:
            FileRefused: it is too long, or has too many alternatives.
        """
        patterns = [pattern.strip().removeprefix("./")]
        while any(matches := [_BRACES.search(text) for text in patterns]):
            patterns = [
                f"{text[: match.start()]}{alternative}{text[match.end() :]}" if match else text
                for text, match in zip(patterns, matches, strict=True)
                for alternative in (match[1].split(",") if match else ("",))
            ]
            if len(patterns) > _MAX_ALTERNATIVES:
                raise FileRefused(f"is a pattern with more than {_MAX_ALTERNATIVES} alternatives")
        return cls("\n".join(patterns).encode("utf-8", "surrogateescape"))

    def decide(self, names: Sequence[str], *, is_folder: bool) -> bool | None:
        """Return whether the entry at a path relative to the file is excluded, or None if no pattern matches it."""
        # As git does, each byte of a name counts as one character.
        names = [os.fsencode(name).decode("latin-1") for name in names]
        for pattern in self._patterns:
            if (is_folder or not pattern.folders_only) and pattern.matches(names):
                return pattern.is_excluded
        return None


def _parse_line(line: str) -> _Pattern | None:
    """Parse a line, or return None for a comment or an empty line."""
    line = _strip_trailing_spaces(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    if len(line) > _MAX_PATTERN_CHARACTERS:
        raise FileRefused(f"has a .gitignore with a line of more than {_MAX_PATTERN_CHARACTERS:,} characters")
    negated = line.startswith("!")
    pattern = line[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern[: len(pattern) - folders_only]
    if not pattern:
        return None
    is_anchored = "/" in pattern
    pattern = _drop_bracketed_slashes(pattern)
    parts = pattern.removeprefix("/").split("/") if is_anchored else [pattern]
    segments: list[re.Pattern[str] | None] = []
    for number, part in enumerate(parts):
        if part != "**" or not is_anchored:
            segments.append(_compile_segment(part))
        elif number == len(parts) - 1:
            segments += [None, _ANY]
        else:
            segments.append(None)
    return _Pattern(not negated, folders_only, tuple(segments), is_anchored)


def _drop_bracketed_slashes(pattern: str) -> str:
    """Remove slashes from bracket expressions: there they match nothing, and they divide no path."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        end = at + (2 if pattern[at] == "\\" else 1)
        if pattern[at] == "[":
            expression, end = _parse_bracket(pattern, end)
            if not expression:
                # Such a pattern matches nothing; a run of "[" would be read to its end from each of them.
                parts.append(pattern[at:])
                break
            bracket = pattern[at:end].replace("\\/", "").replace("/", "")
            # Without any character left, a negated expression matches every character, and another one none.
            parts.append({"[]": "[\0]", "[!]": "?", "[^]": "?"}.get(bracket, bracket))
        else:
            parts.append(pattern[at:end])
        at = end
    return "".join(parts)


def _strip_trailing_spaces(line: str) -> str:
    """Remove trailing spaces; one after a backslash stays."""
    stripped = line.rstrip(" ")
    slashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if slashes % 2 and len(stripped) < len(line) else stripped


def _match_segments(pattern: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Match segments with names; only the latest gap is extended, since an earlier one gains nothing."""
    at = name = 0
    gap, resume = -1, 0
    while name < len(names):
        segment = pattern[at] if at < len(pattern) else _NEVER
        if segment is None:
            gap, resume = at, name
            at += 1
        elif segment.fullmatch(names[name]):
            at, name = at + 1, name + 1
        elif gap >= 0:
            resume += 1
            at, name = gap + 1, resume
        else:
            return False
    return all(segment is None for segment in pattern[at:])


def _compile_segment(segment: str) -> re.Pattern[str]:
    """Compile a segment; atomic groups keep a star from being extended after the next literal has matched."""
    pieces: list[list[str]] = [[]]
    for token in _split_tokens(segment):
        if token == _STAR:
            pieces.append([])
        else:
            pieces[-1].append(token)
    if not segment or sum(map(len, pieces)) > _MAX_NAME_BYTES or any("" in piece for piece in pieces):
        return _NEVER
    first, *others = ["".join(piece) for piece in pieces]
    if not others:
        return re.compile(first, re.DOTALL)
    inner = "".join(f"(?>.*?{piece})" for piece in others[:-1] if piece)
    return re.compile(f"{first}{inner}.*{others[-1]}", re.DOTALL)


def _split_tokens(segment: str) -> list[str]:
    """Return stars and the regular expressions of single characters; an empty one for an invalid part."""
    tokens: list[str] = []
    at = 0
    while at < len(segment):
        character = segment[at]
        at += 1
        if character == "*":
            tokens.append(_STAR)
        elif character == "?":
            tokens.append(".")
        elif character == "\\":
            tokens.append(re.escape(segment[at : at + 1]))
            at += 1
        elif character == "[":
            token, at = _parse_bracket(segment, at)
            tokens.append(token)
        else:
            tokens.append(re.escape(character))
    return tokens


def _parse_bracket(segment: str, at: int) -> tuple[str, int]:
    """Return the regular expression of a bracket expression and its end; an empty one if it is not closed."""
    negated = segment[at : at + 1] in ("!", "^")
    at += negated
    ranges: list[str] = []
    first = True
    while at < len(segment) and (first or segment[at] != "]"):
        first = False
        if segment.startswith("[:", at):
            end = segment.find(":]", at)
            if end < 0 or segment[at + 2 : end] not in _CLASSES:
                return "", len(segment)
            ranges.append(_CLASSES[segment[at + 2 : end]])
            at = end + 2
            continue
        low, at = _read_character(segment, at)
        high = low
        if segment[at : at + 1] == "-" and segment[at + 1 : at + 2] not in ("", "]"):
            high, at = _read_character(segment, at + 1)
        if low <= high:
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
    if at >= len(segment):
        return "", at
    inner = "".join(ranges)
    if not inner:
        return ("." if negated else "(?!)."), at + 1
    return f"[{'^' if negated else ''}{inner}]", at + 1


def _read_character(segment: str, at: int) -> tuple[str, int]:
    escaped = segment[at] == "\\" and at + 1 < len(segment)
    return segment[at + escaped], at + 1 + escaped
