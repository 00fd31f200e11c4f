"""Tests of the brief of evidence."""

from dataclasses import replace
from typing import get_args

import pytest

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import split_words
from tenure.algorithms.writing.brief import (
    MAX_WORDS,
    NOT_CERTAIN,
    BriefPart,
    PartBrief,
    build_brief,
)
from tenure.contracts.choices import ReportLength
from tests.support.passages import passage
from tests.support.worlds import encode

MADE = "Bread is made from flour, water, salt and yeast."
FILLER = "The baker counts the loaves on every shelf before the shop opens in the morning. "


def brief(question: str, *passages: Passage, focus: tuple[str, ...] = ()) -> PartBrief:
    return build_brief((BriefPart(question, passages, focus),), encode)[0]


def texts(found: PartBrief) -> list[list[str]]:
    return [[claim.text for claim in block.claims] for block in found.excerpts]


def test_an_excerpt_is_verbatim_and_marks_the_answer() -> None:
    """A short passage is shown whole; its sentences cite their own words, and the answering one is marked."""
    one = passage(f"The oven is hot. {MADE}", start=40)
    (block,) = brief("What is bread made from?", one).excerpts

    assert block.kind == "excerpt" and [claim.answers for claim in block.claims] == [False, True]
    for claim in block.claims:
        (citation,) = claim.citations
        assert one.text[citation.start - 40 : citation.end - 40] == citation.quote == claim.text
        assert claim.status == "supported"


def test_a_long_passage_is_cut_around_its_answer() -> None:
    """An excerpt has at most as many words as one reads at a glance, and contains the answer."""
    (shown,) = texts(brief("What is bread made from?", passage(FILLER * 20 + MADE + " " + FILLER * 20)))

    assert MADE in shown and 40 <= sum(len(split_words(text)) for text in shown) <= MAX_WORDS


def test_a_list_comes_with_its_introduction() -> None:
    """The sentence that introduces a list is shown with its items, also if the passage is too long to be whole."""
    items = "\n".join(f"- Bread number {n} is made from flour and water" for n in range(4))
    (shown,) = texts(brief("What is bread made from?", passage(f"{FILLER * 15}\n\nBread is made so:\n\n{items}")))

    assert shown[-5] == "Bread is made so:" and shown[-1] == "Bread number 3 is made from flour and water"


def test_rows_come_with_their_header() -> None:
    """The first row of a long table names the columns of the rows that answer."""
    rows = "\n".join(f"| town {n} | {FILLER}|" for n in range(20))
    found = brief("What is bread made from?", passage(f"| Place | Content |\n{rows}\n| Bread | {MADE} |"))

    assert texts(found)[0][0] == "| Place | Content |" and f"| Bread | {MADE} |" in texts(found)[0]


def test_what_does_not_bear_on_a_question_is_left_out() -> None:
    """A part that no passage concerns has no excerpt, and a foreign passage is not shown next to an answer."""
    wheels = passage("Wheels roll on rails.", "wheels", title="Wheels")

    assert brief("What is gold?", wheels) == PartBrief(is_certain=False)
    assert texts(brief("What is bread made from?", passage(MADE), wheels)) == [[MADE]]


def test_a_page_is_quoted_once_unless_a_list_is_asked_for() -> None:
    """Several excerpts of one page are shown only for a question that asks for several things."""
    of_page = [passage(f"Rye bread number {n} is made from flour.", start=100 * n) for n in range(5)]
    others = [passage(f"Rye bread of place {n} is made from flour.", f"place {n}") for n in range(2)]

    assert [
        block.claims[0].citations[0].source for block in brief("How is rye bread made?", *of_page, *others).excerpts
    ] == [*("bread", "place 0", "place 1")]
    assert len(brief("Which breads are made from flour?", *of_page).excerpts) == 5
    assert len(brief("Which class of bread is made from flour?", *of_page).excerpts) == 3


def test_each_passage_is_shown_once_in_a_report() -> None:
    """Two parts share their evidence, each passage going to the part that it answers best."""
    made, ripens = passage(MADE), passage("Cheese ripens in a cool cellar.", "cheese", title="Cheese")
    parts = [BriefPart(q, (made, ripens)) for q in ("How does cheese ripen?", "What is bread made from?")]

    assert [texts(found) for found in build_brief(parts, encode)] == [[["Cheese ripens in a cool cellar."]], [[MADE]]]


def test_the_excerpt_on_feedback_is_shown() -> None:
    """The passage nearest to a request of a person is shown although others answer the question better."""
    others = [passage(f"Bread number {n} is made from flour.", f"b{n}") for n in range(8)]
    rye = passage("A sourdough for rye ripens for days.", "rye")

    assert ["A sourdough for rye ripens for days."] in texts(
        brief("What is bread made from?", *others, rye, focus=("Say more on the sourdough for rye",))
    )


def test_a_computed_result_comes_first() -> None:
    """For a question about a number, a calculation precedes the excerpts of documents."""
    computed = replace(passage("The calculator answers “6 × 7” with 42.", "sum"), uri="calculation: 6*7")
    found = brief(
        "How many loaves are 6 × 7 loaves?", passage("Six loaves and seven loaves are many loaves."), computed
    )

    assert texts(found)[0] == ["The calculator answers “6 × 7” with 42."] and found.is_certain


def test_a_part_without_its_names_is_not_certain() -> None:
    """If the passages do not contain the name that is asked about, the brief says so before the nearest ones."""
    found = brief("Who founded the Guild of Millers?", passage("The founder of the Guild of Bakers was a baker."))

    assert not found.is_certain and found.blocks[0].claims[0].text == NOT_CERTAIN
    assert found.blocks[1:] == found.excerpts != ()


def test_a_part_without_its_numbers_is_not_certain() -> None:
    """A sentence on another singer answers nothing on the one who was born in 1952, however near its words are."""
    other, asked = (
        passage(f"Junior Byles (born {year} in Kingston) is a reggae singer.", str(year)) for year in (1948, 1952)
    )

    assert not brief("Which reggae singer was born in 1952 in Kingston?", other).is_certain
    assert brief("Which reggae singer was born in 1952 in Kingston?", other, asked).is_certain


def test_a_question_in_another_language_is_compared_by_its_words() -> None:
    """Passages in the language of the question are excerpts, although the encoder knows English only."""
    german = passage("Das Brot wird aus Mehl und Wasser gebacken.", title="Brot")

    assert texts(brief("Woraus wird das Brot gebacken?", german)) == [["Das Brot wird aus Mehl und Wasser gebacken."]]


def test_the_end_of_a_chain_comes_first() -> None:
    """The passage that answers precedes the one that leads to it, and a line names both."""
    guild = passage("The Guild of Bakers was founded by Ada Miller.", "guild", title="Guild of Bakers")
    miller = passage("Ada Miller was born in a mill by the river.", "miller", title="Ada Miller")
    found = brief("Where was the founder of the Guild of Bakers born?", guild, miller)

    assert texts(found) == [[miller.text], [guild.text]] and found.chain == ("Guild of Bakers", "Ada Miller")
    lines = [claim.text for block in found.blocks for claim in block.claims if claim.kind == "lead_in"]
    assert lines == ["The answer is at the end of: Guild of Bakers → Ada Miller"]


def test_a_passage_that_repeats_the_question_is_no_answer() -> None:
    """The words of the question in a command, a list or a heading prove nothing; a question heads what follows it."""
    command = passage('    start "How does rye bread rise?" --id rye\n', "command", title="Rye bread")
    entry = passage("- How does rye bread rise?\n- Why is bread baked?", "entries", title="Contents of rye bread")
    states = passage("Rye bread rises with a sourdough.", "sourdough", title="Sourdough")
    answered = passage("How does rye bread rise? A sourdough lifts rye.", "asked", title="Questions")

    assert texts(brief("How does rye bread rise?", command, entry, states)) == [[states.text]]
    assert texts(brief("how does rye bread rise", command, states)) == [[states.text]]
    (block,) = brief("How does rye bread rise?", answered).excerpts
    assert [claim.answers for claim in block.claims] == [False, True]


def test_a_sentence_that_only_refers_to_a_page_is_no_answer() -> None:
    """Of two sentences on the subject, the one that states something is marked and comes first."""
    referral = passage("See the page on rye bread.", "referral", title="Rye bread")
    states = passage("Rye bread rises with a sourdough.", "sourdough", title="Sourdough")

    assert texts(brief("How does rye bread rise?", referral, states)) == [[states.text]]


def test_a_paragraph_that_two_pages_share_is_shown_once() -> None:
    """Pages on several versions repeat sentences, and a repetition takes no place of another excerpt."""
    shared = "Rye bread rises with a sourdough."
    pages = [passage(f"Version {n} is here. {shared}", f"version {n}", title="News") for n in range(3)]

    assert texts(brief("How does rye bread rise?", *pages)) == [["Version 0 is here.", shared]]


@pytest.mark.parametrize(
    ("question", "text", "is_certain"),
    [
        ("When does rye bread rise?", "Rye bread does rise when it is warm.", False),
        ("When does rye bread rise?", "Rye bread does rise since 1848.", True),
        ("Why does rye bread rise when the sour dough is warm?", "Rye bread does rise.", False),
        ("Why does rye bread rise?", "Rye bread does rise.", True),
    ],
    ids=["no date", "date", "words of the question are missing", "all words"],
)
def test_an_answer_is_certain_only_with_what_is_asked_for(question: str, text: str, is_certain: bool) -> None:
    """A date has to be stated where one is asked for, and one passage has to contain the words of the question."""
    assert brief(question, passage(text)).is_certain is is_certain


def test_code_comes_with_the_sentence_before_it() -> None:
    """An excerpt whose answer refers to the code before it does not begin with this code."""
    text = f"{FILLER * 6}\n\nMix the flour first.\n\n    mix rye\n\nThis makes rye bread rise.\n\n{FILLER * 6}"
    (shown,) = texts(brief("How does rye bread rise?", passage(text)))

    assert shown[:3] == ["Mix the flour first.", "mix rye", "This makes rye bread rise."]


def test_the_length_of_a_report_scales_its_excerpts() -> None:
    """A short report has fewer excerpts than a standard one, and a long one more."""
    passages = [passage(f"Bread number {n} is made from flour.", source=f"s{n}") for n in range(9)]
    part = BriefPart("Which breads are made from flour?", passages)
    lengths: tuple[ReportLength, ...] = get_args(ReportLength)

    assert [len(build_brief((part,), encode, length)[0].excerpts) for length in lengths] == [2, 5, 8]
