"""Parse the words of a command line: suggest the nearest known word for a misspelt one, and teach by examples."""

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from tenure.algorithms.text.printable import escape_control_characters
from tenure.installation import PROGRAM

MIN_SIMILARITY = 0.6
"""Similarity of two words, from 0 to 1, from which one is suggested for the other."""


def find_nearest(word: str, candidates: Iterable[str]) -> str:
    """Return the known word that is most similar to a word, or an empty string if none is similar."""
    similar = difflib.get_close_matches(word, list(candidates), n=3, cutoff=MIN_SIMILARITY)
    # Among equally similar words, transposed letters are the likelier mistake.
    return max(similar, key=lambda match: sorted(match) == sorted(word), default="")


class CommandParser(argparse.ArgumentParser):
    """Parser that suggests the nearest known word, and prints arguments without their control characters."""

    examples = ""
    """Text that is printed for a command line without words."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse a misspelt option first: its absence or its value would be taken for another mistake."""
        words = sys.argv[1:] if args is None else list(args)
        if not words and self.examples:
            self.exit(2, self.format_usage() + self.examples)
        self._check_options(words)
        return super().parse_known_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the message and the command that shows the options, and exit."""
        command = self.prog.partition(" ")[2]
        hint = f"`{' '.join(filter(None, (PROGRAM, command, '--help')))}` shows the options"
        self.exit(2, escape_control_characters(f"error: {message.removeprefix('argument ')}: {hint}") + "\n")

    def find_argument(self, field: str) -> str:
        """Return the option, or the placeholder in the usage, by which this command sets a field of its request."""
        for action in self._actions:
            names = [name for name in action.option_strings if name.startswith("--")]
            if field in (action.dest, *(name.removeprefix("--") for name in names)):
                return names[0] if names else str(action.metavar)
        return field

    def _check_options(self, words: Sequence[str]) -> None:
        """Refuse the first unknown long option that is similar to a known one."""
        for word in words:
            name = word.partition("=")[0]
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                return  # the rest are no options, or belong to a command
            if name.startswith("--") and " " not in word and not self._get_option_tuples(name):
                self._suggest("option", name, self._option_string_actions)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not among the choices."""
        if action.choices is not None and value not in action.choices:
            name = action.option_strings[0] if action.option_strings else action.metavar or action.dest
            self._suggest(str(name).lower(), str(value), map(str, action.choices))
        super()._check_value(action, value)

    def _suggest(self, kind: str, word: str, candidates: Iterable[str]) -> None:
        """End with one line that names the nearest known word, if there is one."""
        if nearest := find_nearest(word, candidates):
            line = f"error: there is no {kind} {word}: did you mean {nearest}?"
            self.exit(2, escape_control_characters(line) + "\n")
