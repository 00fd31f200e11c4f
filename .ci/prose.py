#!/usr/bin/env python3
"""Linter of prose: docstrings, comments, messages and documentation.

Usage: python .ci/prose.py [--stats] [PATH ...]

The rules are in vocabulary.toml. The comment `# prose: data` in or directly above a statement exempts the strings of
the statement.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from findings import ROOT, Finding, load_vocabulary, run_linter
from fragments import Fragment, hash_comment_fragments, markdown_fragments, python_fragments

KINDS = frozenset({"docstring", "attribute", "comment", "string", "markdown"})
"""All kinds of fragments."""

HASH_COMMENTS = (".toml", ".yml", ".yaml", ".sh", ".cfg")
"""Suffixes of files whose comments start with a hash."""

CONTEXT = 24
"""Characters that a finding shows before and after its match."""

MIN_PARALLEL_FILES = 200
"""Number of files from which the work is divided between processes."""

MAX_EXCERPT = 80
"""Characters of the text that a finding shows."""

_SENTENCE_START = r"(?:\A\s*|[.!?][\"”’)]?\s+|\n\s*\n\s*|^\s+x+(?: \([^)\n]*\))?:\s+)"
_GROUP = re.compile(r"\((?:\?[:=!]|\?<[=!])?[^()]*\)[?*]?")
_CLASS_OR_ESCAPE = re.compile(r"\[[^\]]*\][?*+]?|\\[A-Za-z][+*?]?|.[?*]")
_DETERMINERS = frozenset(
    "a an the its their every each all any one two some no this that these those what whatever".split()
)
_NOUN_FOLLOWERS = frozenset(
    "of that which in for from and or with by to at on as a, per between is are was were under before after".split()
)


@dataclass(frozen=True)
class Pattern:
    """One banned expression."""

    rule: str
    regex: re.Pattern[str]
    hint: str
    """Literal that every match contains, for a fast test."""
    use: str
    unless: tuple[re.Pattern[str], ...]
    kinds: frozenset[str]
    case: bool

    def search(self, text: str, lowered: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of the matches that are not accepted uses."""
        subject = text if self.case else lowered
        if self.hint not in subject:
            return
        for match in self.regex.finditer(subject):
            start, end = match.span("hit")
            accepted = (span.span() for pattern in self.unless for span in pattern.finditer(subject))
            if not any(left < end and start < right for left, right in accepted):
                yield start, end


def find_literal(expression: str) -> str:
    """Return the longest run of letters that every match of an expression contains, or an empty text."""
    if "|" in _GROUP.sub("", _GROUP.sub("", expression)):
        return ""
    stripped = expression
    while (shorter := _GROUP.sub(" ", stripped)) != stripped:
        stripped = shorter
    return max(re.findall(r"[A-Za-z]+", _CLASS_OR_ESCAPE.sub(" ", stripped)), key=len, default="")


def compile_expression(expression: str, *, hit: bool = True) -> re.Pattern[str]:
    """Compile an expression of the vocabulary; blanks match white space, a leading ^ the start of a sentence."""
    body = expression.removeprefix("^").replace("(?! ", r"(?!\s+").replace(" ", r"\s+")
    start = _SENTENCE_START if expression.startswith("^") else ""
    return re.compile(f"{start}(?P<hit>{body})" if hit else start + body, re.MULTILINE)


def build_patterns(vocabulary: dict[str, Any]) -> list[Pattern]:
    """Build the patterns of all rules of a vocabulary."""
    return [
        Pattern(
            rule=rule["name"],
            regex=compile_expression(expression),
            hint=find_literal(expression),
            use=rule["use"],
            unless=tuple(compile_expression(text, hit=False) for text in rule.get("unless", ())),
            kinds=frozenset(rule.get("only", KINDS)),
            case=rule.get("case", False),
        )
        for rule in vocabulary["rule"]
        for expression in rule["find"]
    ]


class ProseLinter:
    """The rules of a vocabulary, ready to check files."""

    def __init__(self, vocabulary: dict[str, Any]) -> None:
        self._patterns = build_patterns(vocabulary)
        self._verbs = frozenset(vocabulary["verbs"]["base"].split())
        self._weak: dict[str, str] = vocabulary["verbs"]["weak"]
        self._exempt = [compile_glob(glob) for glob in vocabulary["prose"]["exempt"]]
        self._data = [compile_glob(glob) for glob in vocabulary["prose"]["data"]]

    def check_file(self, path: str, source: str) -> list[Finding]:
        """Return the findings of a file; files of other types have none."""
        if any(glob.fullmatch(path) for glob in self._exempt):
            return []
        lines = source.splitlines()
        lowered = source.lower()
        patterns = [pattern for pattern in self._patterns if pattern.hint in (source if pattern.case else lowered)]
        found: list[Finding] = []
        for fragment in self._read_fragments(path, source):
            found += self._check_text(path, fragment, patterns, lines)
            if fragment.owner is not None and not path.startswith("tests/"):
                found += self._check_form(path, fragment)
        return found

    def _read_fragments(self, path: str, source: str) -> Iterable[Fragment]:
        if path.endswith(".py"):
            return python_fragments(source, strings=not any(glob.fullmatch(path) for glob in self._data))
        if path.endswith(".md"):
            return markdown_fragments(source)
        if path.endswith(HASH_COMMENTS) or path == ".ci/run" or Path(path).name.startswith("Dockerfile"):
            return hash_comment_fragments(source)
        return ()

    def _check_text(
        self, path: str, fragment: Fragment, patterns: list[Pattern], lines: list[str]
    ) -> Iterator[Finding]:
        text, lowered = fragment.text, fragment.text.lower()
        for pattern in patterns:
            if fragment.kind not in pattern.kinds:
                continue
            for start, end in pattern.search(text, lowered):
                line = find_line(fragment, start, text[start:end], lines)
                yield Finding(path, line, pattern.rule, quote(text, start, end), pattern.use)

    def _check_form(self, path: str, fragment: Fragment) -> Iterator[Finding]:
        """Check the first word of the docstring of a public function or class."""
        owner = fragment.owner
        if owner is None or isinstance(owner, ast.Module) or fragment.nested or owner.name.startswith("_"):
            return
        text = fragment.text.strip()
        words = [word.strip(",.:;") for word in text.split()[:2]] + ["", ""]
        found = (
            self._class_form(words[0], words[1])
            if isinstance(owner, ast.ClassDef)
            else self._function_form(words[0], words[1], fragment)
        )
        if found:
            yield Finding(path, fragment.line, found[0], excerpt(text), found[1])

    def _function_form(self, first: str, second: str, fragment: Fragment) -> tuple[str, str] | None:
        if fragment.kind != "docstring" or {first.lower(), f"{first}_{second}".lower()} & self._verbs:
            return None
        if first.lower() in self._weak:
            return "docstring-weak-verb", f"start with {self._weak[first.lower()]}"
        return "docstring-verb", "start with a verb in base form: Return, Parse, Send, …"

    def _class_form(self, first: str, second: str) -> tuple[str, str] | None:
        advice = "docstring-class", "start with a noun phrase: Budget of a call. / Client of the index."
        if first.lower() in ("something", "someone", "everything", "things", "so", "why", "by"):
            return advice
        verb = _base_form(first.lower(), self._verbs | self._weak.keys())
        if verb is None:
            return None
        third_person = verb != first.lower()
        if third_person:
            return None if second.lower() in _NOUN_FOLLOWERS or not second else advice
        return advice if second.lower() in _DETERMINERS else None


def _base_form(word: str, verbs: frozenset[str]) -> str | None:
    """Return the base form of a verb in base form or third person, or None for another word."""
    endings = ((word, ""), (word.removesuffix("s"), ""), (word.removesuffix("es"), ""), (word.removesuffix("ies"), "y"))
    return next((stem + ending for stem, ending in endings if stem + ending in verbs), None)


@cache
def compile_glob(glob: str) -> re.Pattern[str]:
    """Compile a glob over paths; ** matches any number of folders."""
    pieces = re.split(r"(\*\*/|\*\*|\*)", glob)
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return re.compile("".join(meanings.get(piece, re.escape(piece)) for piece in pieces))


def excerpt(text: str) -> str:
    """Return a text on one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_EXCERPT else line[: MAX_EXCERPT - 1] + "…"


def quote(text: str, start: int, end: int) -> str:
    """Return a match in brackets with the words around it."""
    before = "".join(text[max(0, start - CONTEXT) : start].partition(" ")[1:] if start > CONTEXT else text[:start])
    after = "".join(text[end : end + CONTEXT].rpartition(" ")[:2] if end + CONTEXT < len(text) else text[end:])
    return " ".join(f"{before}[{excerpt(text[start:end])}]{after}".split())


def find_line(fragment: Fragment, start: int, hit: str, lines: list[str]) -> int:
    """Return the line of a match.

    Strings of several literals have no line breaks in their value, so the line that contains the match is searched.
    """
    if fragment.kind == "string" or fragment.line_at(start) != fragment.line + fragment.text.count("\n", 0, start):
        for number in range(fragment.line, fragment.end_line + 1):
            if hit.split("\n")[0] in lines[number - 1]:
                return number
    return fragment.line_at(start)


def is_checked(name: str) -> bool:
    """Return whether a file is of a type that is checked."""
    return (
        name.endswith((".py", ".md", *HASH_COMMENTS)) or name == ".ci/run" or Path(name).name.startswith("Dockerfile")
    )


def check_files(names: Sequence[str], root: Path = ROOT) -> list[Finding]:
    """Return the findings of files, given by their paths relative to the root."""
    linter = ProseLinter(load_vocabulary())
    return [finding for name in names for finding in linter.check_file(name, (root / name).read_text(encoding="utf-8"))]


def check(names: Sequence[str], root: Path = ROOT) -> list[Finding]:
    """Return the findings of files; many files are divided between two processes."""
    checked = [name for name in names if is_checked(name)]
    if len(checked) < MIN_PARALLEL_FILES:
        return check_files(checked, root)
    with ProcessPoolExecutor(2) as pool:
        halves = pool.map(check_files, [checked[::2], checked[1::2]], [root, root])
        return [finding for half in halves for finding in half]


if __name__ == "__main__":
    sys.exit(run_linter(__doc__.splitlines()[0], check))
