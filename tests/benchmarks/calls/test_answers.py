"""Test the reading of answers."""

from benchmarks.calls.answers import read_answer


def test_an_answer_is_read_whole_or_streamed() -> None:
    """Pieces are joined; events without text and the end are skipped."""
    whole = '{"choices": [{"message": {"content": "Bread is made from flour."}}]}'
    streamed = (
        'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'
        'data: {"choices": [{"delta": {"content": "Bread is "}}]}\n\n'
        'data: {"choices": [{"delta": {"content": "made from flour."}}]}\n\n'
        'data: {"choices": []}\n\ndata: [DONE]\n\n'
    )

    assert read_answer(whole) == read_answer(streamed) == "Bread is made from flour."
