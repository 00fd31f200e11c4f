"""Tests of claim pairs."""

from dataclasses import replace

from tenure.algorithms.claims.claim_pairs import find_contradictions, find_disputable_pairs
from tenure.contracts.base import SourceId
from tests.support.passages import passage
from tests.support.worlds import encode

RISES = "The dough of rye bread has to rise for two hours in the warm kitchen."
LONGER = "The dough of rye bread has to rise for nine hours in the warm kitchen."
OTHER = "The milk of the goat is curdled with rennet before the cheese is pressed."


def test_related_claims_of_two_sources_are_paired() -> None:
    """Claims on one subject are paired across sources, with their positions."""
    found = find_disputable_pairs(
        [
            passage(f"{OTHER} {RISES} {RISES}", "bread", 100),
            passage(LONGER, "rye"),
            passage(f"{RISES}\n\nThis is so. {OTHER}", "bread", 900),
            passage("x = two hours", "code", kind="code"),
        ],
        encode,
    )

    assert {(pair.a.text, pair.b.text) for pair in found} == {(RISES, LONGER)}
    assert all(side.end - side.start == len(side.text) for pair in found for side in (pair.a, pair.b))
    assert found[0].a.start == 100 + len(OTHER) + 1


def test_unrelated_claims_are_not_paired() -> None:
    """Sources without common words, and a single source, have no pairs."""
    assert find_disputable_pairs([passage(RISES, "bread"), passage(OTHER, "cheese")], encode) == []
    assert find_disputable_pairs([passage(RISES, "bread")], encode) == []


def test_passages_of_one_source_may_contradict_each_other() -> None:
    """Disputable pairs may be of one source, but not of one passage."""
    apart, together = [passage(RISES, "bread"), passage(LONGER, "bread", 900)], [passage(f"{RISES} {LONGER}")]

    assert [(pair.a.text, pair.b.text) for pair in find_disputable_pairs(apart, encode)] == [(RISES, LONGER)]
    assert find_disputable_pairs(together, encode) == []


def test_parallel_statements_are_not_disputable() -> None:
    """Statements in nearly the same words are left out, unless a number, a negation or an antonym differs."""
    wheat, never = RISES.replace("rye", "wheat"), RISES.replace("has to", "never has to")
    given = [passage(text, f"s{n}") for n, text in enumerate((RISES, wheat, never))]

    assert {(pair.a.text, pair.b.text) for pair in find_disputable_pairs(given, encode)} == {
        (RISES, never),
        (wheat, never),
    }


def test_statements_of_one_source_need_an_opposite() -> None:
    """Statements of one source in other words are no dispute without another number, negation or antonym."""
    dough = "The dough of rye bread has to rise in a bowl."
    oven = "In a warm bowl the dough of rye bread has a good place."

    assert find_disputable_pairs([passage(dough, "bread"), passage(oven, "rye")], encode)
    assert find_disputable_pairs([passage(dough, "bread"), passage(oven, "bread", 900)], encode) == []


def test_descriptions_of_tables_are_not_disputable() -> None:
    """The program's sentences on the columns of a table differ in numbers and contradict no other of them."""
    visits = "The column visits of the table loans holds whole numbers with a mean of 40 and a sum of 90."
    prints = "The column prints of the table loans holds whole numbers with a mean of 50 and a sum of 95."
    report = "A column visits of the table loans holds whole numbers with a mean of 41 and a sum of 91."
    given = [passage(text, f"s{n}") for n, text in enumerate((visits, prints))]

    assert find_disputable_pairs(given, encode) == []
    assert find_disputable_pairs([given[0], passage(report, "s2")], encode)


def test_pairs_are_bounded() -> None:
    """Only the most similar pairs are returned."""
    many = [passage(RISES.replace("two", number), f"s{n}") for n, number in enumerate("two six nine ten".split())]

    assert len(find_disputable_pairs(many, encode)) == 6
    assert len(find_disputable_pairs(many, encode, max_pairs=1)) == 1


def test_statements_of_other_times_and_versions_are_not_disputable() -> None:
    """The time or version of a statement is in it, before it, in a heading, or in the title."""
    said = ("In 2019 the mill was repaired.", "In 2021 the mill was painted.")
    before = [
        passage(f"{year} {text}", f"s{n}") for n, (year, text) in enumerate(zip(said, (RISES, LONGER), strict=True))
    ]
    headed = [
        replace(passage(text, f"s{n}"), heading_path=("Log", f"Release 1.{n}"))
        for n, text in enumerate((RISES, LONGER))
    ]
    titles = zip(headed, ("Log of May", "Log of June"), strict=True)
    titled = [replace(one, heading_path=(), title=title) for one, title in titles]

    for passages in (before, headed, titled):
        assert find_disputable_pairs(passages, encode) == []
    assert find_disputable_pairs([replace(one, heading_path=("PEP 8",)) for one in headed], encode)


def test_pages_of_other_versions_and_retired_ones_are_not_disputable() -> None:
    """A manual of another version and a retired manual may state another value."""
    old, new = (replace(passage(text, text), uri=f"docs/{n}/bread.md") for n, text in (("1.0", RISES), ("2.0", LONGER)))
    same = replace(old, uri="docs/2.0/dough.md")

    assert find_disputable_pairs([old, new], encode) == []
    assert find_disputable_pairs([same, new], encode)
    assert find_disputable_pairs([replace(same, is_retired=True), new], encode) == []


def test_short_statements_are_paired() -> None:
    """A statement of few words needs no third shared word, and "No" may begin a statement."""
    for a, b in (
        ("Helium is flammable.", "Helium is not flammable."),
        ("No interaction between lithium and zinc was found.", "An interaction between lithium and zinc was found."),
        ("There is no interaction between lithium and zinc.", "Lithium and zinc interact."),
    ):
        assert len(find_disputable_pairs([passage(a, "a"), passage(b, "b")], encode)) == 1


def test_items_of_lists_in_one_source_are_not_disputable() -> None:
    """An item may be about the item above it, which its sentence does not name."""
    items = [passage(f"- {text}", "bread", start) for start, text in ((0, RISES), (900, LONGER))]

    assert find_disputable_pairs(items, encode) == []
    assert find_disputable_pairs([items[0], replace(items[1], source=SourceId("rye"))], encode)


def test_contradictions_have_both_quotes() -> None:
    """A different number is reported with the quotes of both sides and their positions."""
    two, nine = (RISES.replace("two", hours) for hours in ("2", "9"))
    passages = [passage(f"{OTHER} {two}", "rye", 50), passage(nine, "other", 7)]
    (found,) = find_contradictions(passages, encode)

    assert {found.a.quote, found.b.quote} == {two, nine}
    assert (found.severity, found.about) == ("medium", "2 hours against 9 hours")
    assert {found.a.start, found.b.start} == {50 + len(OTHER) + 1, 7}


def test_sections_of_one_source_are_about_different_cases() -> None:
    """A heading can be a condition: under "Archived" the same may be forbidden that is allowed under "Active"."""
    may = passage("The index must allow uploads to the project.", "rules", 0)
    must_not = passage("The index must not allow uploads to the project.", "rules", 90)
    archived = replace(must_not, heading_path=("Archived",))
    other = replace(archived, source=SourceId("other"))

    assert [len(find_contradictions([may, one], encode)) for one in (must_not, archived, other)] == [1, 0, 1]
