"""Test the comparison of texts by names and rare words in their best lines."""

import pytest

from tenure.algorithms.retrieval.exact_matches import MAX_IDENTIFIERS, list_identifiers, match_texts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Which limits apply to `auth-url` and server-snippet", ("auth-url", "server-snippet")),
        ("The release of rust_dependency_map, 0.41 or 0.9.1?", ("rust_dependency_map", "0.41", "0.9.1")),
        ("Set forwardedHeaders.insecure or `max age`.", ("max age", "forwardedHeaders.insecure")),
        ("AMQP, QoS and crateType, said Apicius in 1999.", ("AMQP", "QoS", "crateType")),
        ("`x-age` is x-age", ("x-age",)),
        ("How rye ages, and why", ()),
    ],
)
def test_identifiers_are_listed(text: str, names: tuple[str, ...]) -> None:
    """Code spans, names with inner punctuation or capitals, acronyms and versions are identifiers, words are not."""
    assert list_identifiers(text) == names
    assert len(list_identifiers(" ".join(f"a-{n}" for n in range(99)))) == MAX_IDENTIFIERS


ROW = "| Offset tracking | Use external store |"
TEXTS = {
    "table": ("Streams", f"| Port | 5672 |\n{ROW}\n| Format | Server |"),
    "prose": ("Streams", "An offset is a number.\nA store is elsewhere.\nSomething external exists."),
    "other": ("Streams", "Streams are read from any offset."),
}


def test_words_of_one_line_count_more() -> None:
    """A row with all words is better than a passage in which they are apart; a common word counts little."""
    found = match_texts("external store of an offset", TEXTS)

    assert sorted(found, key=lambda name: -found[name].score) == ["table", "prose", "other"]
    assert found["table"].score == pytest.approx(1.0)
    assert match_texts("rye", TEXTS)["table"].score == 0.0 and match_texts("", TEXTS)["table"].score == 0.0
    assert match_texts("rye", {}) == {}


def test_identifiers_match_as_a_whole() -> None:
    """A name with punctuation is found in any case, and not as a part of another one."""
    texts = {"a": ("", "Set Auth-URL here."), "b": ("", "Set my_auth-url or auth url.")}

    assert {name: one.identifiers for name, one in match_texts("`auth-url`", texts).items()} == {
        "a": frozenset({"auth-url"}),
        "b": frozenset(),
    }


def test_long_lines_are_divided() -> None:
    """A paragraph in one line is compared sentence by sentence, a row of a table as a whole."""
    filler = "Nothing is here at all, not even a word of it. " * 10
    texts = {
        "long": ("", f"Rye is old. {filler}Flour is new."),
        "row": ("", f"| Rye is old. {filler}Flour is new. |"),
    }
    found = match_texts("rye flour", texts)

    assert found["row"].score == pytest.approx(1.0) and found["long"].score == pytest.approx(0.75)
