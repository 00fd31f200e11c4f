"""Parse a report that a model has written as Markdown with citation marks.

The first heading is the title, the text before the next heading the answer, each further heading a section. A table
in the answer is the comparison of the report, and the headings of recommendations and of gaps are fixed. All other text
of a model is kept in the nearest part: smaller models forget headings and add others.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import Field

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.algorithms.text.printable import remove_control_characters
from tenure.algorithms.text.sentences import split_sentences
from tenure.contracts.evidence.passages import Block, ClaimKind
from tenure.contracts.research.report import ReportPartKind
from tenure.roles.base import RoleOutput
from tenure.roles.prompting import NOT_STATED, WrittenBlock, WrittenBlockKind, WrittenRow, WrittenSentence

CLOSING_HEADING: Final = "What follows"
"""Heading of the recommendations."""
GAPS_HEADING: Final = "What is not known"
"""Heading of what the sources leave open."""

# Only blocks are parsed. A line of dashes below a paragraph and HTML would take text away.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["lheading", "inline"])

# "[3]", "[3, 8]", "[3-5]", "[3; 8 i]", "[i]" and "[?]", but not "[2024]", "[text](link)" and "items[i]".
_NUMBERS = r"\d{1,3}(?!\d)(?:[-–]\d{1,3}(?!\d))?"
_SYMBOLS = rf"(?:{_NUMBERS}|(?<!\w\[)[i?])(?:\s?[,;]?\s?(?:{_NUMBERS}|[i?])){{0,11}}"
_MARK = re.compile(rf"\s?\[(?P<symbols>{_SYMBOLS})\](?!\()")
# "**Cost.** It is low": the stop is moved out of the emphasis, which would be split from its sentence.
_EMPHASISED_STOP = re.compile(r"([.!?]{1,3})(\*{1,3}|_{1,3})(?=[\s\[]|\Z)")
# A mark after the full stop belongs to the sentence before it: "It is so. [3] Then".
_STOP_BEFORE_MARKS = re.compile(rf"(?<![.!?])([.!?]{{1,3}}[\"”’)]{{0,2}})((?:\s?\[{_SYMBOLS}\](?!\()){{1,8}})")
# "**Cost**", "_a b_", as the whole text.
_EMPHASISED = re.compile(r"\A(\*{1,3}|_{1,3})((?:(?!\1).)+)\1\Z")
# "**Memory and disk.**" before a list, or "**Cost**." before its sentences: up to eight words.
_LABEL = re.compile(r"\A(\*\*|__)((?:(?!\1)\S)+(?:\s(?:(?!\1)\S)+){0,7})\1[.:]?\Z")
# "`dict[3]`", in which nothing is a mark.
_CODE_SPAN = re.compile(r"(`[^`]*`)")
# "(search: sync interval cost)" after something that is not known.
_SEARCH = re.compile(r"\s?\(\s?search:((?:[^()]|\([^()]{0,100}\)){3,300})\)", re.IGNORECASE)
# "How it is translated, and whether it has a counterpart": two things that are not known.
_NEXT_QUESTION = re.compile(r",\s(?:and|or)\s(?=(?:whether|how|which|what|when|where|why|who)\b)", re.IGNORECASE)
# "[3" and "(search: sync int" at the end of an incomplete report.
_OPEN_MARK = re.compile(r"\s?\[[^\]\n]{0,60}\Z")
_OPEN_SEARCH = re.compile(r"\s?\(\s?(?:s?e?a?r?c?h?|search:[^\n]{0,400})\Z", re.IGNORECASE)
# A fence around the whole report, as small models write it, also after an introduction.
_FENCE = re.compile(r"\A(?:[^#`]{0,400}\n)?```(?:(?:markdown|md)[ \t]*\n|[ \t]*\n(?=\s*# ))", re.IGNORECASE)
# "**Answer:** Yes", "Answer: (a) federation": the bracket belongs to the answer.
_SHORT_ANSWER = re.compile(r"\A[\W_]{0,2}answer[\W_]{0,2}:[*_]{0,2}\s*", re.IGNORECASE)

MAX_SENTENCE_CHARACTERS = 2000
"""Maximum characters of a sentence, an item or a cell."""
MAX_TITLE_CHARACTERS, MAX_SHORT_ANSWER_CHARACTERS = 200, 200
"""Maximum lengths of the title and of the short answer."""
MAX_QUERY_CHARACTERS = 300
"""Maximum length of a search that is made of a statement of absence."""
MAX_HEADING_CHARACTERS = 120
"""Maximum length of a sub-heading."""
MAX_PREVIEW_CHARACTERS = 60_000
"""Maximum length of a preview: the longest report has 4,000 words, about 30,000 characters with its marks, and four
bytes for each keep a heartbeat below the 256 KB at which a Temporal server warns."""
MAX_TABLE_ROWS, MAX_TABLE_COLUMNS = 20, 10
"""Limits of a table; longer ones are divided."""


class WrittenPart(RoleOutput):
    """Part of a report as its writer wrote it."""

    kind: ReportPartKind
    """Kind of the part."""
    heading: str = ""
    """Heading of a section; empty for other parts."""
    blocks: tuple[WrittenBlock, ...] = ()
    """Its blocks in reading order."""
    brief: tuple[Block, ...] = ()
    """Excerpts with their citations; only without a model."""


class WrittenReport(RoleOutput):
    """A report as its writer wrote it."""

    title: str = Field(default="", max_length=MAX_TITLE_CHARACTERS)
    """Title; empty for the question."""
    short_answer: str = Field(default="", max_length=MAX_SHORT_ANSWER_CHARACTERS)
    """The answer in a few words; empty if there is none."""
    parts: tuple[WrittenPart, ...] = ()
    """The parts in reading order."""


class _Marked(NamedTuple):
    """A text without its marks."""

    text: str
    numbers: tuple[int, ...]
    kind: ClaimKind


class _Heading(NamedTuple):
    level: int
    text: str


class _Parts:
    """The parts of a report while its elements are read, from a part of the given kind."""

    def __init__(self, kind: ReportPartKind) -> None:
        self._blocks: dict[tuple[ReportPartKind, str], list[WrittenBlock]] = {}
        self._current: tuple[ReportPartKind, str] = (kind, "")
        self._subheading = ""
        self.title = ""
        self.short_answer = ""

    def add_heading(self, heading: _Heading) -> None:
        name = normalize_heading(heading.text)
        self._subheading = ""
        if name == normalize_heading(CLOSING_HEADING):
            self._current = ("closing", "")
        elif name == normalize_heading(GAPS_HEADING):
            self._current = ("gaps", "")
        elif heading.level == 1 and not self.title and self._has_introduction_only:
            self._blocks.clear()
            self.title = heading.text[:MAX_TITLE_CHARACTERS]
        elif heading.level <= 2:
            self._current = ("section", heading.text)
        else:
            self._subheading = heading.text[:MAX_HEADING_CHARACTERS]

    @property
    def _has_introduction_only(self) -> bool:
        """Whether all text so far cites nothing: a model has introduced its report."""
        blocks = self._blocks.get(("answer", ""), ())
        is_opening = self._blocks.keys() <= {("answer", "")}
        return is_opening and not any(sentence.passages for block in blocks for sentence in block.sentences)

    def add_block(self, block: WrittenBlock) -> None:
        if self._subheading:
            block = block.model_copy(update={"heading": self._subheading})
        is_comparison = self._current[0] == "answer" and block.kind == "table"
        part: tuple[ReportPartKind, str] = ("comparison", "") if is_comparison else self._current
        self._blocks.setdefault(part, []).append(block)

    def add_paragraph(self, text: str) -> None:
        kind = self._current[0]
        if kind == "answer" and not self.short_answer and (match := _SHORT_ANSWER.match(text)):
            text = text[match.end() :]
            answer, _, others = text.partition("\n")
            if len(answer) <= MAX_SHORT_ANSWER_CHARACTERS:
                short, text = _read_marks(answer.strip(" *_")).text.rstrip("."), others
                self.short_answer = short if short.strip(" –—-") else ""
        if kind == "section" and (label := _LABEL.match(text)):
            lead_in = WrittenSentence(text=f"**{label[2].rstrip(' .:')}**", passages=(), kind="lead_in")
            self.add_sentences("paragraph", [lead_in])
        else:
            self.add_sentences("paragraph", _read_sentences(text, "gap" if kind == "gaps" else None))

    def add_sentences(self, kind: WrittenBlockKind, sentences: Sequence[WrittenSentence]) -> None:
        if sentences:
            self.add_block(WrittenBlock(kind=kind, sentences=tuple(sentences)))

    def read_items(self, text: str) -> list[WrittenSentence]:
        """Return an item as a sentence; several questions that are not answered as several gaps with their searches."""
        if self._current[0] != "gaps":
            return [unit for unit in [_read_unit(text, None)] if unit]
        *others, last = _NEXT_QUESTION.split(text)
        words = " ".join(_SEARCH.findall(last))
        pieces = [*(f"{piece} (search: {piece} {words})" for piece in others), last]
        return [unit for piece in pieces if (unit := _read_unit(piece[:1].upper() + piece[1:], "gap"))]

    def build(self) -> WrittenReport:
        return WrittenReport(
            title=self.title,
            short_answer=self.short_answer,
            parts=tuple(
                WrittenPart(kind=kind, heading=heading, blocks=tuple(blocks))
                for (kind, heading), blocks in self._blocks.items()
            ),
        )


def parse_report(text: str) -> WrittenReport:
    """Return a report in Markdown by its parts, in the order in which they were written.

    Raises:
        ValueError: the text states nothing; the message is addressed to the model.
    """
    parts = _Parts("answer")
    _read_elements(text, parts)
    report = parts.build()
    if not report.parts:
        raise ValueError("it contains no report: write Markdown with headings and sentences.")
    return report


def extract_preview(text: str) -> str:
    """Return the Markdown that people may read of an incomplete report, with its marks.

    It begins with the first heading or the first citation, since models introduce their reports. Searches, and the
    mark, heading, fence or row that is being written, are left out.
    """
    visible = _SEARCH.sub("", _unfence(remove_control_characters(text[:MAX_PREVIEW_CHARACTERS])))
    lines = _OPEN_MARK.sub("", _OPEN_SEARCH.sub("", visible)).split("\n")
    if lines[-1].lstrip().startswith(("#", "|", "```")):
        del lines[-1]
    if lines and lines[-1].startswith("|") and not "".join(lines[-2:-1]).startswith("|"):
        del lines[-1]  # a header, which is no table without the line below it
    start = next((n for n, line in enumerate(lines) if line.startswith("#") or _MARK.search(line)), len(lines))
    return "\n".join(lines[start:]).strip()


def parse_blocks(text: str) -> tuple[WrittenBlock, ...]:
    """Return the blocks of a section in Markdown."""
    parts = _Parts("section")
    _read_elements(text, parts)
    return tuple(block for part in parts.build().parts for block in part.blocks)


def parse_sentence(text: str) -> WrittenSentence | None:
    """Return a sentence with its marks; None if nothing but marks is left."""
    return _read_unit(" ".join(text.split()), None)


def _read_elements(text: str, parts: _Parts) -> None:
    tokens = _PARSER.parse(_unfence(text))
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "heading_open":
            heading = _strip_emphasis(_read_marks(tokens[position + 1].content).text)
            parts.add_heading(_Heading(int(token.tag[1]), heading))
            position += 3
        elif token.type == "paragraph_open":
            parts.add_paragraph(tokens[position + 1].content)
            position += 3
        elif token.type in ("bullet_list_open", "ordered_list_open", "table_open", "blockquote_open"):
            end = _find_end(tokens, position)
            inner = tokens[position + 1 : end]
            if token.type == "table_open":
                _add_table(inner, parts)
            else:
                _add_list(inner, "numbered" if token.type == "ordered_list_open" else "bullets", parts)
            position = end + 1
        else:
            if token.type in ("fence", "code_block"):
                _add_code(token, parts)
            position += 1


def _unfence(text: str) -> str:
    """Return Markdown without a fence around the whole of it."""
    bare = text.strip()
    match = _FENCE.match(bare)
    if match is None:
        return bare
    inside = bare[match.end() :]
    # Fences inside come in pairs; text after the last one is a remark of the model.
    return inside.rpartition("\n```")[0] if inside.count("\n```") % 2 else inside


def _find_end(tokens: Sequence[Token], start: int) -> int:
    """Return the position of the token that closes the one at `start`."""
    depth = 0
    for position in range(start, len(tokens)):
        depth += tokens[position].nesting
        if depth == 0:
            return position
    return len(tokens) - 1


def _add_list(tokens: Sequence[Token], kind: WrittenBlockKind, parts: _Parts) -> None:
    """Add a list, nested items in their place; code inside divides it."""
    items: list[WrittenSentence] = []

    def flush() -> None:
        parts.add_sentences(kind, items)
        items.clear()

    for token in tokens:
        if token.type == "inline":
            items += parts.read_items(" ".join(token.content.split()))
        elif token.type in ("fence", "code_block"):
            flush()
            _add_code(token, parts)
    flush()


def _add_table(tokens: Sequence[Token], parts: _Parts) -> None:
    """Add a table; a row without a name has that of the row above, and a table with one column becomes a list."""
    rows = list(_read_rows(tokens))
    header, *body = rows or [[]]
    columns = tuple(_read_marks(name).text[:200] for name in header[1 : MAX_TABLE_COLUMNS + 1])
    written_rows: list[WrittenRow] = []
    name = _Marked(NOT_STATED, (), "fact")
    for label, *cells in body:
        name = marked if (marked := _read_marks(label)).text else name
        if any(cells):
            read = tuple(_read_cell(cell, name.numbers) for cell in cells[:MAX_TABLE_COLUMNS])
            written_rows.append(WrittenRow(label=_strip_emphasis(name.text)[:200], cells=read))
    if columns and written_rows:
        for start in range(0, len(written_rows), MAX_TABLE_ROWS):
            rows_ = tuple(written_rows[start : start + MAX_TABLE_ROWS])
            parts.add_block(WrittenBlock(kind="table", columns=columns, rows=rows_))
        return
    parts.add_sentences("bullets", [item for row in body for cell in row for item in parts.read_items(cell)])


def _read_rows(tokens: Sequence[Token]) -> Iterator[list[str]]:
    row: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(" ".join(token.content.split()))
        elif token.type == "tr_close":
            yield row


def _read_cell(text: str, row_numbers: Sequence[int]) -> WrittenSentence:
    """Return a cell; one without a mark rests on the passages that the name of its row cites."""
    marked = _read_marks(_SEARCH.sub("", text))
    stated = marked.text if marked.text.strip("–—- ") else ""
    is_gap = not stated or marked.kind == "gap"
    return WrittenSentence(
        text=stated[:MAX_SENTENCE_CHARACTERS] or NOT_STATED,
        passages=() if is_gap else (marked.numbers or tuple(row_numbers))[:MAX_CITATIONS],
        kind="gap" if is_gap else marked.kind,
        query=_read_query(text, stated) if is_gap else "",
    )


def _add_code(token: Token, parts: _Parts) -> None:
    """Add code; its marks are after the language: "```yaml [3, 7]"."""
    code = token.content.rstrip("\n")
    numbers = _read_marks(f" {token.info}").numbers
    if code.strip():
        sentence = WrittenSentence(text=code[:MAX_SENTENCE_CHARACTERS], passages=numbers[:MAX_CITATIONS])
        parts.add_block(WrittenBlock(kind="code", sentences=(sentence,)))


def _read_unit(text: str, kind: ClaimKind | None) -> WrittenSentence | None:
    """Return one item as a sentence, whatever sentences it has; a gap without a search is its own search."""
    marked = _read_marks(_SEARCH.sub("", text))
    if not marked.text.strip(" .*_-–"):
        return None
    claim_kind = kind if kind and not marked.numbers else marked.kind
    if claim_kind == "fact" and not marked.numbers and marked.text.endswith(":"):
        claim_kind = "lead_in"
    return WrittenSentence(
        text=marked.text[:MAX_SENTENCE_CHARACTERS],
        passages=marked.numbers[:MAX_CITATIONS],
        kind=claim_kind,
        query=_read_query(text, marked.text) if claim_kind == "gap" else "",
    )


def _read_query(text: str, stated: str) -> str:
    """Return the searches of a statement of absence; without one the statement itself."""
    return " ".join(" ".join(_SEARCH.findall(text)).split()) or stated[:MAX_QUERY_CHARACTERS]


def _read_sentences(text: str, kind: ClaimKind | None) -> tuple[WrittenSentence, ...]:
    """Return the sentences of a paragraph; one without a mark rests on the next mark of the paragraph."""
    line = _STOP_BEFORE_MARKS.sub(r"\2\1", _EMPHASISED_STOP.sub(r"\2\1", " ".join(text.split())))
    spans = list(_split_at_stops(line)) or [line]
    if len(spans) > 1 and _LABEL.match(spans[0]):
        spans = [f"{spans[0]} {spans[1]}", *spans[2:]]
    units = [unit for span in spans if (unit := _read_unit(span, kind))]
    following: tuple[int, ...] = ()
    following_kind: ClaimKind = "fact"
    read: list[WrittenSentence] = []
    for unit in reversed(units):
        if unit.passages:
            following, following_kind = unit.passages, unit.kind
        elif unit.kind == "fact" and following:
            unit = unit.model_copy(update={"passages": following, "kind": following_kind})
        read.append(unit)
    return tuple(reversed(read))


def _split_at_stops(line: str) -> Iterator[str]:
    """Yield the sentences of a line, each with the search that follows it, whose words may have stops."""
    pieces = _SEARCH.split(line)
    for piece, query in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        # The stops of names in code, as of `$JS.API.>`, end no sentence; a capital keeps the start of one.
        masked = _CODE_SPAN.sub(lambda code: f"X{'x' * (len(code[0]) - 1)}", piece)
        *others, last = [piece[span.start : span.end] for span in split_sentences(masked)] or [piece]
        yield from others
        yield f"{last} (search: {query})" if query else last


def _read_marks(text: str) -> _Marked:
    """Return a text without its marks, the numbers in them, and the kind that they give the sentence."""
    symbols: list[str] = []

    def take(match: re.Match[str]) -> str:
        symbols.append(match["symbols"])
        return ""

    parts = _CODE_SPAN.split(text)
    unmarked = "".join(part if part.startswith("`") and len(part) > 1 else _MARK.sub(take, part) for part in parts)
    marks = " ".join(symbols)
    numbers = read_numbers(marks)
    kind: ClaimKind = "gap" if "?" in marks and not numbers else "inference" if "i" in marks else "fact"
    return _Marked(" ".join(unmarked.split()), numbers, kind)


def read_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers in a text in order, each once; a range such as 3-5 gives at most the first of a long one."""
    ranges = ((int(first), int(last or first)) for first, last in re.findall(r"(\d+)(?:[-–](\d+))?", text))
    return tuple(
        dict.fromkeys(n for first, last in ranges for n in (first, *range(first + 1, min(last, first + 20) + 1)))
    )


def _strip_emphasis(text: str) -> str:
    """Return a text without the emphasis of the whole of it."""
    return _EMPHASISED.sub(r"\2", text)


def normalize_heading(text: str) -> str:
    """Return a heading for comparisons: without a number before it, marks, emphasis and its last punctuation."""
    bare = _strip_emphasis(_read_marks(text).text)
    return re.sub(r"\A\d{1,2}[.)]\s+", "", bare).rstrip(" .:?").casefold()
