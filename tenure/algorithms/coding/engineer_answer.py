"""Parse the answer of a model that works in a repository: a thought, and actions in lines with exact blocks of text.

A keyword begins a line. Arguments follow in the line, or in a block between two lines of markers:

    EDIT src/a.py
    <<<<<<< SEARCH
    old lines
    =======
    new lines
    >>>>>>> REPLACE

Markers have seven characters or more, so that a block can contain shorter ones. An action that cannot be read becomes
one of the kind `invalid` with the reason, so that the model learns it together with the results of the others.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tenure.contracts.coding.engineering import EngineerAction, EngineerActionKind
from tenure.contracts.coding.repositories import Replacement

MAX_ACTIONS: Final = 12
"""Actions of one answer that are carried out: more would be planned without having seen the results of the first."""

MAX_THOUGHT_CHARACTERS: Final = 2_000
"""Characters of a thought that people are shown; the conversation keeps the whole answer."""

_KEYWORDS: Final[Mapping[str, EngineerActionKind]] = {
    **{"SEARCH": "search", "GREP": "grep", "SYMBOL": "symbol", "READ": "read", "LIST": "list", "EDIT": "edit"},
    **{"WRITE": "write", "DELETE": "delete", "RUN": "run", "ASK": "ask", "PLAN": "plan", "DONE": "done"},
}
# "READ src/a.py 1-20", "- `READ src/a.py`", "**DONE**", "RUN: make"; not "READING the file".
_ACTION = re.compile(rf"\s{{0,3}}(?:[-*]\s+)?(`?|\*\*)({'|'.join(_KEYWORDS)})((?:`|\*\*)?)(:?)(\s.*|)")
# `<<<<<<< SEARCH`, `<<<<<<<<<`
_OPENING = re.compile(r"\s{0,3}(<{7,})\s*\w*\s*")
# "```", "```python", "~~~"
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})[\w+.-]*\s*")
# "src/a.py 10-80", "src/a.py:10-80", "src/a.py lines 10 to 80", "src/a.py 10", "src/a.py [10-80]"
_RANGE = re.compile(r"(.+?)(?::|,?\s+(?:lines?\s+)?[L\[]?)(\d{1,7})(?:\s*(?:-|to|,|:)\s*L?(\d{1,7})?)?\]?\s*")
# "def parse in src/**/*.py": the last word has a slash, a star or a dot, so it is a pattern of files.
_IN_FILES = re.compile(r"(.+?)\s+in\s+(\S*[*/.]\S*)")
# "cat > a.py <<'EOF'", "python - <<EOF"; not "cat <<< word"
_HEREDOC = re.compile(r"(?<!<)<<-?\s*(['\"]?)(\w+)\1")
# `CAUSE: …`, `- **CHANGE:** …`
_LABEL = re.compile(r"\s{0,3}(?:[-*]\s+)?\*{0,2}(CAUSE|CHANGE|MESSAGE|LESSON)\*{0,2}:\*{0,2}\s*(.*)")


class ParsedAnswer(NamedTuple):
    """A thought and the actions that follow it."""

    thought: str
    actions: tuple[EngineerAction, ...]


def parse_engineer_answer(text: str) -> ParsedAnswer:
    """Parse an answer; one without an action has none."""
    lines = text.replace("\r\n", "\n").split("\n")
    first = next((n for n, line in enumerate(lines) if _find_action(line)), len(lines))
    thought = "\n".join(line for line in lines[:first] if not _FENCE.fullmatch(line)).strip()
    actions = tuple(_ActionReader(lines, first).read_all())
    if len(actions) > MAX_ACTIONS:
        left_out = f"only the first {MAX_ACTIONS} actions of an answer are carried out, and {len(actions)} were given"
        actions = (*actions[:MAX_ACTIONS], EngineerAction(kind="invalid", text=left_out))
    return ParsedAnswer(thought[:MAX_THOUGHT_CHARACTERS], actions)


def describe_action(action: EngineerAction) -> str:
    """Return an action in a line for people; the texts of a plan and of the end have a place of their own."""
    if action.kind in ("plan", "done"):
        return action.kind
    subject = " ".join((action.subject or action.text).split())
    lines = f" {action.first or 1}-{action.last or ''}" if action.first or action.last else ""
    files = f" in {action.pattern}" if action.pattern else ""
    return f"{action.kind} {subject[:160]}{lines}{files}".strip()


def _find_action(line: str) -> tuple[str, str] | None:
    """Return the keyword and the subject of a line that begins an action, or None."""
    match = _ACTION.fullmatch(line)
    if match is None:
        return None
    opening, keyword, closing, colon, arguments = match.groups()
    subject = arguments.strip()
    if opening and not closing:
        subject = subject.removesuffix(opening).strip()
    if keyword == "DONE":  # "DONE with the first part" is a sentence
        return (keyword, subject) if colon or not subject else None
    # An action needs its subject; for some it may follow in other lines.
    return (keyword, _unquote(subject)) if subject or keyword in ("RUN", "LIST", "ASK", "PLAN") else None


class _ActionReader:
    """Position in the lines of an answer."""

    def __init__(self, lines: list[str], position: int) -> None:
        self._lines, self._position = lines, position

    def read_all(self) -> Iterator[EngineerAction]:
        while self._position < len(self._lines):
            action = _find_action(self._lines[self._position])
            self._position += 1
            if action:
                keyword, subject = action
                try:
                    yield self._read_action(_KEYWORDS[keyword], subject)
                except ValueError as error:
                    yield EngineerAction(kind="invalid", subject=f"{keyword} {subject}".strip(), text=str(error))

    def _read_action(self, kind: EngineerActionKind, subject: str) -> EngineerAction:
        """Return one action.

        Raises:
            ValueError: it cannot be read; the message is for the model.
        """
        match kind:
            case "read":
                return _parse_range(subject)
            case "search" | "grep" | "symbol":
                match = _IN_FILES.fullmatch(subject)
                query, pattern = (match[1], match[2]) if match else (subject, "")
                return EngineerAction(kind=kind, subject=_unquote(query), pattern=pattern)
            case "edit":
                replacements = tuple(self._read_replacements())
                return EngineerAction(kind=kind, subject=_unquote(subject), replacements=replacements)
            case "write":
                return EngineerAction(kind=kind, subject=_unquote(subject), text=self._read_content())
            case "run":
                return EngineerAction(kind=kind, subject=subject, text=self._read_command(subject))
            case "plan" | "ask":
                return EngineerAction(kind=kind, text="\n".join(filter(None, (subject, *self._read_prose()))).strip())
            case "done":
                return self._read_report(subject)
            case _:
                return EngineerAction(kind=kind, subject=_unquote(subject))

    def _read_replacements(self) -> Iterator[Replacement]:
        """Yield the blocks of an edit."""
        count = 0
        while (block := self._read_block()) is not None:
            count += 1
            text, width = block
            dividers = [n for n, line in enumerate(text) if line.strip() == "=" * width]
            if len(dividers) != 1:
                problem = "no line" if not dividers else "more than one line"
                raise ValueError(
                    f"block {count} has {problem} of {width} `=` between the old and the new lines; "
                    "if the lines themselves contain one, write the three markers with more characters"
                )
            search, replace = text[: dividers[0]], text[dividers[0] + 1 :]
            if not "".join(search).strip():
                raise ValueError(f"block {count} has no lines to search for; WRITE makes a new file")
            yield Replacement(search=_join(search), replace=_join(replace))
        if not count:
            raise ValueError("no block with the old and the new lines follows EDIT; WRITE replaces a whole file")

    def _read_content(self) -> str:
        if (block := self._read_block()) is not None:
            return _join(block[0])
        self._skip_blank_lines()
        fence = _FENCE.fullmatch(self._peek())
        if fence is None:
            raise ValueError("no block with the content follows WRITE")
        start, self._position = self._position + 1, self._position + 1
        while self._position < len(self._lines):
            self._position += 1
            if self._lines[self._position - 1].strip() == fence[1]:
                return _join(self._lines[start : self._position - 1])
        raise ValueError("the content of WRITE has no end")

    def _read_command(self, subject: str) -> str:
        """Return a command: its line with those that follow without a blank line, or else a block."""
        if not subject:
            block = self._read_block()
            if block is None or not "".join(block[0]).strip():
                raise ValueError("no command follows RUN")
            return "\n".join(block[0])
        lines = self._read_statement(subject)
        # One line ends before a paragraph of prose; a script of several lines continues up to the next action.
        while self._position < len(self._lines) and (self._peek().strip() or len(lines) > 1):
            if _find_action(self._peek()) or _FENCE.fullmatch(self._peek()):
                break
            self._position += 1
            lines += self._read_statement(self._lines[self._position - 1])
        return "\n".join(lines).rstrip()

    def _read_statement(self, line: str) -> list[str]:
        """Return a line of a command with the lines that it needs: of an open quote, or of here-documents."""
        lines = [line, *self._read_continuation(line)]
        for _, word in _HEREDOC.findall("\n".join(lines)):
            while self._position < len(self._lines):
                lines.append(self._lines[self._position])
                self._position += 1
                if lines[-1].strip() == word:
                    break
            else:
                raise ValueError(f"the here-document of RUN has no end line {word}")
        return lines

    def _read_continuation(self, subject: str) -> list[str]:
        """Return the lines that complete a command with an open quote or a backslash at its end."""
        command = subject
        for end in range(self._position, len(self._lines) + 1):
            if not _is_unfinished(command):
                added, self._position = self._lines[self._position : end], end
                return added
            command = "\n".join([command, *self._lines[end : end + 1]])
        return []  # the shell reports what is wrong

    def _read_block(self) -> tuple[list[str], int] | None:
        """Return the lines of the block that follows, with the width of its markers; None if none follows."""
        start = self._position
        self._skip_blank_lines()
        # A fence around the block is not part of it.
        if _FENCE.fullmatch(self._peek()):
            self._position += 1
        opening = _OPENING.fullmatch(self._peek())
        if opening is None:
            self._position = start
            return None
        width = len(opening[1])
        closing = re.compile(rf"\s{{0,3}}>{{{width}}}\s*\w*\s*")
        begin = self._position + 1
        for end in range(begin, len(self._lines)):
            if closing.fullmatch(self._lines[end]):
                self._position = end + 1
                return self._lines[begin:end], width
        self._position = len(self._lines)
        raise ValueError(f"a block that begins with {opening[1]} has no end line of {width} `>`")

    def _read_prose(self) -> Iterator[str]:
        """Yield the lines up to the next action."""
        while self._position < len(self._lines) and not _find_action(self._lines[self._position]):
            self._position += 1
            if not _FENCE.fullmatch(self._lines[self._position - 1]):
                yield self._lines[self._position - 1]

    def _read_report(self, subject: str) -> EngineerAction:
        """Return the action that ends the work, with everything that follows."""
        parts: dict[str, list[str]] = {"CHANGE": [subject] if subject else []}
        label = "CHANGE"
        for line in self._lines[self._position :]:
            match = _LABEL.fullmatch(line)
            if match:
                label, line = match[1], match[2]
            if not _FENCE.fullmatch(line):
                parts.setdefault(label, []).append(line)
        self._position = len(self._lines)
        texts = {name: "\n".join(lines).strip() for name, lines in parts.items()}
        return EngineerAction(
            kind="done",
            cause=texts.get("CAUSE", ""),
            change=texts.get("CHANGE", ""),
            lesson=texts.get("LESSON", ""),
            text=texts.get("MESSAGE", ""),
        )

    def _skip_blank_lines(self) -> None:
        while self._position < len(self._lines) and not self._lines[self._position].strip():
            self._position += 1

    def _peek(self) -> str:
        return self._lines[self._position] if self._position < len(self._lines) else ""


def _parse_range(subject: str) -> EngineerAction:
    """Return the action that reads a file, or lines of it."""
    match = _RANGE.fullmatch(subject)
    if match is None:
        return EngineerAction(kind="read", subject=_unquote(subject))
    first, last = max(1, int(match[2])), int(match[3]) if match[3] else None
    if last is not None and last < first:
        raise ValueError(f"the last line {last} is before the first line {first}")
    return EngineerAction(kind="read", subject=_unquote(match[1]), first=first, last=last)


def _is_unfinished(command: str) -> bool:
    """Return whether a command has an open quote, or ends with a backslash."""
    try:
        shlex.split(command)
    except ValueError:  # "No closing quotation", "No escaped character"
        return True
    return False


def _unquote(text: str) -> str:
    """Return a subject without the marks of code around it."""
    return text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] == "`" else text


def _join(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
