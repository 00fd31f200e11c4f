"""Tests of the parser of a report that a model has written as Markdown."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.contracts.evidence.passages import ClaimKind
from tenure.roles.prompting import NOT_STATED, WrittenBlock
from tenure.roles.report_markdown import (
    MAX_SENTENCE_CHARACTERS,
    MAX_SHORT_ANSWER_CHARACTERS,
    MAX_TABLE_ROWS,
    MAX_TITLE_CHARACTERS,
    WrittenReport,
    extract_preview,
    parse_blocks,
    parse_report,
    parse_sentence,
)

Unit = tuple[str, tuple[int, ...], ClaimKind]

REPORT = """# Rye rises for two hours [1]

Answer: two hours

Rye rises for two hours [1]. It needs a warm room [2].

| Flour | Time | Price |
|---|---|---|
| **Rye** [3] | long | high [4] |
| Wheat | short [5, i] | – |

## 1. Rising

Rye needs time. It rises slowly [1, 2].

### By hand

1. Mix it [3].
2. Wait:

## Baking

The oven is hot [4].

## What follows

- If it is cold, wait longer [2, i].

## What is not known

- How rye ages [?] (search: ageing of rye bread)
- The price of an oven [?].
"""


def read(text: str) -> list[Unit]:
    """Return the sentences of a text whatever parts and blocks it has."""
    return [unit for block in parse_blocks(text) for unit in units(block)]


def units(block: WrittenBlock) -> list[Unit]:
    return [(one.text, one.passages, one.kind) for one in block.sentences]


def list_queries(report: WrittenReport) -> list[str]:
    """Return the searches of all gaps."""
    sentences = (one for part in report.parts for block in part.blocks for one in block.sentences)
    return [one.query for one in sentences if one.query]


def outline(report: WrittenReport) -> list[tuple[str, str]]:
    return [(part.kind, part.heading) for part in report.parts]


def test_a_report_has_its_parts_in_reading_order() -> None:
    """Title, short answer and comparison are taken out of the answer; the two fixed headings are parts of their own."""
    report = parse_report(REPORT)

    assert (report.title, report.short_answer) == ("Rye rises for two hours", "two hours")
    assert outline(report) == [
        ("answer", ""),
        ("comparison", ""),
        ("section", "1. Rising"),
        ("section", "Baking"),
        ("closing", ""),
        ("gaps", ""),
    ]
    assert list_queries(report) == ["ageing of rye bread", "The price of an oven."]
    assert [(block.kind, block.heading) for block in report.parts[2].blocks] == [
        ("paragraph", ""),
        ("numbered", "By hand"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("It rises [3].", ("It rises.", (3,), "fact")),
        ("It rises [3, 8].", ("It rises.", (3, 8), "fact")),
        ("It rises [3; 8][2] [3].", ("It rises.", (3, 8, 2), "fact")),
        ("It rises [3-5].", ("It rises.", (3, 4, 5), "fact")),
        ("It rises [3–4, 9].", ("It rises.", (3, 4, 9), "fact")),
        ("It rises[3].", ("It rises.", (3,), "fact")),
        ("It rises. [3]", ("It rises.", (3,), "fact")),
        ("[3] It rises.", ("It rises.", (3,), "fact")),
        ("So wait [3, 8, i].", ("So wait.", (3, 8), "inference")),
        ("So wait [3][i].", ("So wait.", (3,), "inference")),
        ("So wait [3 i].", ("So wait.", (3,), "inference")),
        ("So wait [i].", ("So wait.", (), "inference")),
        ("Its age is open [?].", ("Its age is open.", (), "gap")),
        ("Only its age in Rome is known [3, ?].", ("Only its age in Rome is known.", (3,), "fact")),
        ("There are two kinds:", ("There are two kinds:", (), "lead_in")),
        ("There are two kinds [3]:", ("There are two kinds:", (3,), "fact")),
        ("In [2024] it rose [link](http://a.b) as [3](c.md).", ("In [2024] it rose [link](http://a.b) as [3](c.md).",
         (), "fact")),
        ("Use `items[1]` and items[i] of `[?]` [2].", ("Use `items[1]` and items[i] of `[?]`.", (2,), "fact")),
        (f"It rises [{', '.join(map(str, range(1, 13)))}].", ("It rises.", tuple(range(1, MAX_CITATIONS + 1)), "fact")),
        ("Die Hefe geht in 2½ Stunden auf – «langsam» [3].", ("Die Hefe geht in 2½ Stunden auf – «langsam».", (3,),
         "fact")),
        ("面团要发酵两个小时 [3]。", ("面团要发酵两个小时。", (3,), "fact")),
    ],
)  # fmt: skip
def test_marks_are_read_in_every_form(text: str, sentence: Unit) -> None:
    """Numbers, ranges and letters leave the text; links, indexes, years and code spans stay in it."""
    assert read(text) == [sentence]
    parsed = parse_sentence(text)
    assert parsed is not None and (parsed.text, parsed.passages, parsed.kind) == sentence


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rises. [3] It falls. [4, i]", [("It rises.", (3,), "fact"), ("It falls.", (4,), "inference")]),
        ("He said “so.” [3] It falls [4].", [("He said “so.”", (3,), "fact"), ("It falls.", (4,), "fact")]),
        ("**It rises.** [3] It falls [4].", [("**It rises**.", (3,), "fact"), ("It falls.", (4,), "fact")]),
        ("**Time.** It rises [3].", [("**Time**. It rises.", (3,), "fact")]),
    ],
)
def test_a_mark_after_the_full_stop_belongs_to_the_sentence_before(text: str, sentences: list[Unit]) -> None:
    """Models put marks behind the stop, also behind quotes and emphasis; no emphasis is torn apart."""
    assert read(text) == sentences


def test_a_label_belongs_to_what_it_names() -> None:
    """A label begins the sentence after it, or leads in the list after it; it is no sentence without a source."""
    written = parse_report("# T\nA [1].\n## B\n**Cost.** It is low [1].\n\n**Disk and memory.**\n\n- One [2].")

    assert [(one.text, one.passages, one.kind) for block in written.parts[1].blocks for one in block.sentences] == [
        ("**Cost**. It is low.", (1,), "fact"),
        ("**Disk and memory**", (), "lead_in"),
        ("One.", (2,), "fact"),
    ]


def test_neighbouring_sentences_share_the_next_mark() -> None:
    """A sentence without a mark rests on the next one of its paragraph; gaps, lead-ins and the rest do not."""
    text = "It is old. Its age is open [?]. It has two parts: It rises.\nIt falls [3]. It ends."

    assert read(f"{text}\n\nIt begins anew [4].") == [
        ("It is old.", (3,), "fact"),
        ("Its age is open.", (), "gap"),
        ("It has two parts: It rises.", (3,), "fact"),
        ("It falls.", (3,), "fact"),
        ("It ends.", (), "fact"),
        ("It begins anew.", (4,), "fact"),
    ]


def test_a_table_keeps_its_cells() -> None:
    """A cell rests on its own marks or on those of its row's name; an empty cell and one of dashes are gaps."""
    (table,) = parse_report(REPORT).parts[1].blocks

    assert (table.kind, table.columns) == ("table", ("Time", "Price"))
    assert [(row.label, [(c.text, c.passages, c.kind) for c in row.cells]) for row in table.rows] == [
        ("Rye", [("long", (3,), "fact"), ("high", (4,), "fact")]),
        ("Wheat", [("short", (5,), "inference"), (NOT_STATED, (), "gap")]),
    ]


def test_rows_without_a_name_belong_to_the_row_above() -> None:
    """No cell of a grouped table is lost; rows without any cell are."""
    (table,) = parse_blocks("| | Time |\n|-|-|\n| | short [1] |\n| Rye | long [2] |\n| | longer [3] |\n| | |\n")

    assert [(row.label, row.cells[0].text) for row in table.rows] == [
        (NOT_STATED, "short"),
        ("Rye", "long"),
        ("Rye", "longer"),
    ]


def test_a_table_of_one_column_is_a_list() -> None:
    """Without columns next to the names nothing is compared."""
    (block,) = parse_blocks("| Flour |\n|---|\n| Rye [1] |\n| Wheat [2] |\n")

    assert block.kind == "bullets" and units(block) == [("Rye", (1,), "fact"), ("Wheat", (2,), "fact")]


def test_code_has_its_marks_after_the_language() -> None:
    """Code keeps its lines and brackets; indented code needs no fence."""
    fenced, indented = parse_blocks("```yaml [3, 7]\nitems[1]:\n  - a [2]\n```\n\nx:\n\n    y[1]\n")[::2]

    assert (fenced.kind, units(fenced)) == ("code", [("items[1]:\n  - a [2]", (3, 7), "fact")])
    assert (indented.kind, units(indented)) == ("code", [("y[1]", (), "fact")])


def test_nested_items_and_code_stay_in_their_places() -> None:
    """Items of inner lists follow their outer item, and code divides the list."""
    text = "1. One [1]\n   - inner [2]\n\n   ```sh [3]\n   run\n   ```\n2. Two.\n   More of it [4].\n\n> Quoted [5].\n"

    assert [(block.kind, units(block)) for block in parse_blocks(text)] == [
        ("numbered", [("One", (1,), "fact"), ("inner", (2,), "fact")]),
        ("code", [("run", (3,), "fact")]),
        ("numbered", [("Two. More of it.", (4,), "fact")]),
        ("bullets", [("Quoted.", (5,), "fact")]),
    ]


@pytest.mark.parametrize(
    "closing", ["## What follows", "# WHAT FOLLOWS:", "### **What follows**", "## 4. What follows"]
)
def test_fixed_headings_are_found_in_every_form(closing: str) -> None:
    """Level, number, emphasis, case and punctuation of a fixed heading do not matter."""
    assert outline(parse_report(f"# T\n\nYes [1].\n\n{closing}\n\nWait [1].")) == [("answer", ""), ("closing", "")]


def test_headings_of_all_levels_are_read() -> None:
    """The first heading is the title, the next two levels are sections, deeper ones sub-headings up to the next."""
    second = "## Second\n#### Deep [3]\nB [1].\n\nC [1].\n###### Deeper\nD [1].\n"
    report = parse_report(f"# T\nA [1].\n# **First** [2]\nA [1].\n{second}## Third\nE [1].")

    assert outline(report) == [("answer", ""), ("section", "First"), ("section", "Second"), ("section", "Third")]
    assert [block.heading for block in report.parts[2].blocks] == ["Deep", "Deep", "Deeper"]
    assert [block.heading for block in report.parts[3].blocks] == [""]


def test_a_section_may_be_continued() -> None:
    """Text under a heading that was used before joins its section."""
    report = parse_report("## A\nOne [1].\n## B\nTwo [1].\n## A\nThree [1].")

    assert [(part.heading, len(part.blocks)) for part in report.parts] == [("A", 2), ("B", 1)]


def test_a_line_of_dashes_makes_no_heading() -> None:
    """A rule below a paragraph, HTML and an escaped tag take no text away; definitions of links do."""
    text = "It rises [1].\n---\n<details>\nIt falls [2].\n</details>\n\n[9]: https://example.org\n"

    assert [unit[:2] for unit in read(text)] == [
        ("It rises.", (1,)),
        ("<details> It falls.", (2,)),
        ("</details>", ()),
    ]


def test_stops_in_code_end_no_sentence() -> None:
    """The name of an interface is not cut at its stops, and code may begin a sentence."""
    assert read("It needs `$JS.API.>` and `$JS.<domain>.API` [1]. `a.B` is not needed [2].") == [
        ("It needs `$JS.API.>` and `$JS.<domain>.API`.", (1,), "fact"),
        ("`a.B` is not needed.", (2,), "fact"),
    ]


def test_gaps_have_searches() -> None:
    """A search leaves its statement, also if it has stops; a statement without one is its own search."""
    report = parse_report(
        "## What is not known\nIts age is open (search: age of rye 0.9. (years)). "
        "Its price is, too (Search:  price ).\n\n- Its owner [?] (search: price)\n- Its place [?]\n"
        "- Its form is known [3].\n- [?]\n"
    )

    assert list_queries(report) == ["age of rye 0.9. (years)", "price", "price", "Its place"]
    assert [unit for block in report.parts[0].blocks for unit in units(block)] == [
        ("Its age is open", (), "gap"),
        ("Its price is, too", (), "gap"),
        ("Its owner", (), "gap"),
        ("Its place", (), "gap"),
        ("Its form is known.", (3,), "fact"),
    ]


def test_one_gap_is_one_thing() -> None:
    """An item that asks two things is two gaps; the search is made for both, with the words of the first too."""
    report = parse_report(
        "## What is not known\n- How rye is aged, and whether `age-max` has a counterpart [?] (search: age limit)\n"
        "- Which flour, salt and water it needs [?]\n\n## Rye\nIt is asked when it rises, and how it is baked [1]."
    )

    assert [(one.text, one.query) for block in report.parts[0].blocks for one in block.sentences] == [
        ("How rye is aged", "How rye is aged age limit"),
        ("Whether `age-max` has a counterpart", "age limit"),
        ("Which flour, salt and water it needs", "Which flour, salt and water it needs"),
    ]
    assert len(report.parts[1].blocks[0].sentences) == 1


def test_gaps_in_sections_and_cells_have_searches() -> None:
    """A sentence or a cell with the mark is searched for wherever it is; an empty cell has no search of its own."""
    report = parse_report("Its age is open [?] (search: age).\n\n| | A |\n|---|---|\n| B | not in [?] |\n| C | – [?] |")
    cells = [row.cells[0] for row in report.parts[1].blocks[0].rows]

    assert list_queries(report) == ["age"]
    assert [(cell.text, cell.kind, cell.query) for cell in cells] == [("not in", "gap", "not in"), ("–", "gap", "")]


@pytest.mark.parametrize(
    ("line", "short", "left"),
    [
        ("Answer: Two hours.", "Two hours", []),
        ("**Answer:** Two hours [3]", "Two hours", []),
        ("Answer: (a) two hours, (b) three", "(a) two hours, (b) three", []),
        ("_Answer_: 42\nIt is so [1].", "42", [("It is so.", (1,), "fact")]),
        ("The answer: it is so [1].", "", [("The answer: it is so.", (1,), "fact")]),
        (f"Answer: It {'really ' * 40}rises [1].", "", [(f"It {'really ' * 40}rises.", (1,), "fact")]),
    ],
)
def test_a_short_answer_leaves_the_text(line: str, short: str, left: list[Unit]) -> None:
    """The line is no sentence of the report, but a line too long for a short answer is, so that nothing is lost."""
    report = parse_report(f"# T\n{line}\n\nIt rises [2].")

    assert report.short_answer == short
    assert [unit for block in report.parts[0].blocks for unit in units(block)] == [*left, ("It rises.", (2,), "fact")]


@pytest.mark.parametrize(
    "answer",
    [
        "```markdown\n{}\n```",
        "```md\n{}",
        "```\n{}\n```",
        "Here is the report:\n\n```markdown\n{}\n```\n\nI hope it helps.",
        "Here is the report:\n\n{}",
    ],
)
def test_wrappings_of_a_model_are_removed(answer: str) -> None:
    """A fence around the whole report, and an introduction before its title, are no part of it."""
    assert parse_report(answer.format(f"{REPORT}\n```sh [1]\nrun\n```")) == parse_report(
        f"{REPORT}\n```sh [1]\nrun\n```"
    )


def test_long_lists_are_one_block() -> None:
    """A list of more than fifteen items is not divided, since its numbers would begin again."""
    (block,) = parse_blocks("".join(f"{n}. Step {n} [1]\n" for n in range(1, 22)))

    assert (block.kind, [sentence.text for sentence in block.sentences]) == (
        "numbered",
        [f"Step {n}" for n in range(1, 22)],
    )


def test_long_tables_and_sentences_are_divided_or_shortened() -> None:
    """Blocks keep to the limits of their schema without a loss of rows."""
    rows = "".join(f"| Row {n} | a [1] |\n" for n in range(MAX_TABLE_ROWS + 1))
    blocks = parse_blocks(f"| A | B |\n|---|---|\n{rows}\n{'y' * 3000} [1]\n")

    assert [len(block.sentences or block.rows) for block in blocks] == [MAX_TABLE_ROWS, 1, 1]
    assert len(blocks[2].sentences[0].text) == MAX_SENTENCE_CHARACTERS


@pytest.mark.parametrize(
    "text", ["", "   \n", "# Title only", "## What is not known\n", "Answer: 42", "[3] [i]", "---"]
)
def test_a_text_that_states_nothing_is_refused(text: str) -> None:
    """The message names the form that the model has to write."""
    with pytest.raises(ValueError, match="write Markdown with headings and sentences"):
        parse_report(text)


def test_nothing_but_marks_is_no_sentence() -> None:
    """A sentence without words is None, as is one of emphasis alone."""
    edited = parse_sentence("Its age stays open [?] (search: age of rye)")
    assert edited is not None and edited.text == "Its age stays open"
    assert parse_sentence(" [3] ") is parse_sentence("**") is parse_sentence("") is None


PIECES = st.sampled_from(
    [
        *("# ", "## ", "### ", "- ", "1. ", "> ", "    ", "| ", "|---|", "\n", "\n\n", "```", "```yaml [1]\n", "---\n"),
        *("[1]", "[2, i]", "[?]", "[3-", "]", "(", ")", "(search: ", "Answer: ", "What follows", "What is not known"),
        *(
            "It rises. ",
            "**",
            "_",
            "`",
            "<a>",
            "\\",
            "é",
            "面",
            "\x00",
            "\u200b",
            "😀",
            ".",
            ":",
            "–",
            "&amp;",
        ),
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join)))
@example("# \n" * 50)
@settings(deadline=None, max_examples=400)
def test_every_text_is_a_report_or_refused(text: str) -> None:
    """Whatever a model writes gives a report within all limits or an error with a message for the model."""
    try:
        report = parse_report(text)
    except ValueError as refused:
        assert not isinstance(refused, ValidationError)
        return
    assert report == WrittenReport.model_validate_json(report.model_dump_json())
    assert len(report.title) <= MAX_TITLE_CHARACTERS and len(report.short_answer) <= MAX_SHORT_ANSWER_CHARACTERS
    assert len(list_queries(report)) <= len(text) and all(list_queries(report))
    assert len(report.model_dump_json()) <= 2_000 + 200 * len(text)


@given(st.lists(st.sampled_from(["It rises", "Rye", "is so old", "in Rome"]), min_size=1, max_size=30))
@settings(deadline=None)
def test_no_sentence_is_lost(sentences: list[str]) -> None:
    """Every sentence, item and cell of a text is in one of its blocks, in its place."""
    paragraphs = "\n\n".join(f"{sentence} {n} x [{n}]." for n, sentence in enumerate(sentences, 1))
    items = "\n".join(f"- {sentence} {n} y [{n}]" for n, sentence in enumerate(sentences, 1))

    assert [unit[0] for unit in read(f"{paragraphs}\n\n{items}\n")] == [
        *(f"{sentence} {n} x." for n, sentence in enumerate(sentences, 1)),
        *(f"{sentence} {n} y" for n, sentence in enumerate(sentences, 1)),
    ]


def test_an_incomplete_report_is_shown_with_its_marks_and_without_searches() -> None:
    """A complete text is shown as it is, but for its introduction, its fence and its searches."""
    shown = extract_preview(f"Here is your report:\n```markdown\n{REPORT}```")

    assert shown.startswith("# Rye rises for two hours [1]\n\nAnswer: two hours\n\nRye rises")
    assert "| Wheat | short [5, i] | – |" in shown
    assert shown.endswith("- How rye ages [?]\n- The price of an oven [?].")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("", ""),
        ("Here is your report", ""),
        ("Here is your report:\n# Ry", ""),
        ("# Rye\n\nIt rises [1]. It nee", "# Rye\n\nIt rises [1]. It nee"),
        ("# Rye\n\nIt rises [1, ", "# Rye\n\nIt rises"),
        ("Rye rises [1]. It", "Rye rises [1]. It"),
        ("# Rye\n\n| Flour | Time |\n|---", "# Rye"),
        ("# Rye\n\n| Flour | Time |\n|---|---|\n| Rye | lo", "# Rye\n\n| Flour | Time |\n|---|---|"),
        ("# Rye\n\n- It ages [?] (sea", "# Rye\n\n- It ages [?]"),
        ("# Rye\n\n- It ages [?] (search: ageing of", "# Rye\n\n- It ages [?]"),
        ("# Rye\n\n``", "# Rye\n\n``"),
        ("# Rye\n\n```ya", "# Rye"),
        ("# Rye\n\nIt \x1b]0;rises\u202e.", "# Rye\n\nIt ]0;rises."),
    ],
)
def test_what_is_being_written_is_left_out(written: str, shown: str) -> None:
    """Half a mark, heading, row, fence or search is not shown, nor what acts on a terminal."""
    assert extract_preview(written) == shown


@given(st.text(alphabet="#|[]()`1?i- \nsearch:ab", max_size=80))
def test_a_preview_of_any_text_is_a_part_of_it(text: str) -> None:
    """Nothing is added, and every line that is shown is a line of the text or its beginning."""
    assert len(extract_preview(text)) <= len(text)
