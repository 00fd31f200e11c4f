"""Tests of the search for stock phrases."""

from tenure.algorithms.text.stock_phrases import PhrasePattern, compile_phrase, contains_phrase


def test_patterns_are_skipped_without_a_hint() -> None:
    """A pattern without any of its hints in the text is skipped, and the next one is tried."""
    known = compile_phrase("subscribe", r"\bsubscribe to ~read\b")
    silent = PhrasePattern(("nothing of the kind",), known.pattern)

    assert contains_phrase("Subscribe to read", [silent, known])
    assert not contains_phrase("Subscribe to read", [silent])


def test_a_pattern_allows_separators_and_words_between() -> None:
    """A space matches any separator, a space with a question mark an optional one, and `~` up to four words."""
    phrase = compile_phrase("", r"ai ?tool ~reads")

    assert all(
        contains_phrase(text, [phrase]) for text in ("AI tool reads", "aitool that always reads", "ai - tool\nreads")
    )
    assert not contains_phrase("ai tool that one two three four reads", [phrase])
