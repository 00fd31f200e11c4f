"""Record the time and the outcome of feedback."""

from collections.abc import Sequence

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.run.run import Feedback, FeedbackRecord


class FeedbackLog:
    """Times of a run's feedback, and the clarifications of its question."""

    def __init__(self, items: Sequence[Feedback]) -> None:
        """Start with the feedback of an earlier run."""
        self._items = [(feedback, _now()) for feedback in items]
        self._clarifications: tuple[FeedbackRecord, ...] = ()

    def add(self, feedback: Feedback) -> None:
        """Record new feedback."""
        self._items.append((feedback, _now()))

    def add_clarification(self, answer: Feedback) -> None:
        """Record what a person said about the question itself."""
        record = FeedbackRecord(text=answer.text, topic=None, at=_now(), outcome="The question was read with it.")
        self._clarifications = (*self._clarifications, record)

    def build_records(
        self, handled: Sequence[FeedbackRecord] = (), default_outcome: str = "received"
    ) -> tuple[FeedbackRecord, ...]:
        """Return all records, with the outcomes of the handled ones."""
        outcomes = {(record.text, record.topic): record.outcome for record in handled}
        return self._clarifications + tuple(
            FeedbackRecord(
                text=feedback.text,
                topic=feedback.topic,
                at=at,
                outcome=outcomes.get((feedback.text, feedback.topic), default_outcome),
            )
            for feedback, at in self._items
        )


def _now() -> str:
    return workflow.now().isoformat(timespec="seconds")
