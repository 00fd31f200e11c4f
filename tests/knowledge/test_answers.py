"""Test the cache of the answers of models."""

from datetime import timedelta
from pathlib import Path

import pytest

from tenure.contracts.run.role_calls import StoredAnswer
from tenure.knowledge.answers import AnswerCache, RunAnswers, delete_answers, trim_answers
from tenure.knowledge.maintenance import Maintenance
from tenure.knowledge.store.schema import ANSWERS
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings

MONTH = timedelta(days=30)
ANSWER = StoredAnswer(text='{"title": "It\'s"}', model="m-1", model_calls=2, tokens_in=10, tokens_out=5)


class Reversed:
    """Cipher that reverses data, and whose key may be lost."""

    is_lost = False

    def encrypt(self, data: bytes) -> bytes:
        return data[::-1]

    def decrypt(self, data: bytes) -> bytes | None:
        return None if self.is_lost else data[::-1]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def read_runs(store: Store) -> list[str]:
    return sorted(store.read_rows(ANSWERS, ["run"])["run"].to_pylist())


def test_an_answer_is_shared_between_runs(store: Store) -> None:
    """An identical request of another run gets the answer, and that run has a row of its own from then on."""
    cache = AnswerCache(store, MONTH)
    cache.save_answer("request", "first", ANSWER)

    assert cache.load_answer("request", "second") == ANSWER
    assert cache.load_answer("request", "first") == ANSWER
    assert cache.load_answer("other", "second") is None
    assert read_runs(store) == ["first", "second"]


def test_a_newer_answer_replaces_an_older_one(store: Store) -> None:
    """Of several answers to a request, the newest one is used; a run keeps one of them."""
    cache = AnswerCache(store, MONTH)
    newer = ANSWER.model_copy(update={"text": "{}"})
    for run, answer in (("first", ANSWER), ("second", newer)):
        cache.save_answer("request", run, answer)

    assert cache.load_answer("request", "third") == newer
    cache.save_answer("request", "first", newer)
    assert read_runs(store) == ["first", "second", "third"]


def test_answers_of_a_deleted_run_are_deleted(store: Store) -> None:
    """Answers that the run received are gone, also those of its follow-up questions; other runs keep theirs."""
    delete_answers(store, "first")
    assert store.list_table_names() == ()
    cache = AnswerCache(store, MONTH)
    cache.select_run("first/spiral/1-2", lambda role, tier: "m-1").save("request", ANSWER)
    cache.select_run("first/ask", lambda role, tier: "m-1").save("question", ANSWER)
    assert cache.select_run("second", lambda role, tier: "m-1").load("request") == ANSWER

    delete_answers(store, "first")

    assert read_runs(store) == ["second"]
    assert cache.load_answer("question", "second") is None


def test_fresh_answers_replace_cached_ones(store: Store) -> None:
    """A run that insists on new answers reads none, and stores its own for later runs."""
    cache = AnswerCache(store, MONTH)
    cache.save_answer("request", "first", ANSWER)
    fresh = RunAnswers(cache, "second", lambda role, tier: "m-1", fresh=True)
    newer = ANSWER.model_copy(update={"text": "{}"})

    assert fresh.load("request") is None
    fresh.save("request", newer)
    assert cache.load_answer("request", "third") == newer


def test_answers_are_encrypted(store: Store) -> None:
    """The table contains what the cipher returns, and an answer without a key is not used."""
    cipher = Reversed()
    cache = AnswerCache(store, MONTH, cipher)
    cache.save_answer("request", "lost", ANSWER)
    cipher.is_lost = True
    assert cache.load_answer("request", "second") is None
    cipher.is_lost = False
    cache.save_answer("request", "first", ANSWER)

    assert cache.load_answer("request", "second") == ANSWER
    stored = store.read_rows(ANSWERS, ["answer"])["answer"].to_pylist()
    assert len(stored) == 3
    assert all(ANSWER.text.encode() not in data and b"1-m" in data for data in stored)


def test_old_answers_are_not_used(store: Store) -> None:
    """An answer above the age is requested again; taking it over does not make it younger."""
    AnswerCache(store, MONTH).save_answer("request", "first", ANSWER)
    assert AnswerCache(store, MONTH).load_answer("request", "second") == ANSWER

    assert AnswerCache(store, timedelta()).load_answer("request", "third") is None
    times = store.read_rows(ANSWERS, ["created_at"])["created_at"].to_pylist()
    assert times[0] == times[1]


def test_a_damaged_table_is_replaced(store: Store, tmp_path: Path) -> None:
    """Answers that cannot be read are requested again, and new ones are stored in an empty table."""
    cache = AnswerCache(store, MONTH)
    cache.save_answer("request", "first", ANSWER)
    for path in (tmp_path / f"{ANSWERS}.lance").rglob("*"):
        if path.is_file():
            path.write_bytes(b"damaged")

    again = AnswerCache(Store(str(tmp_path)), MONTH)

    assert again.load_answer("request", "second") is None
    again.save_answer("request", "second", ANSWER)
    assert again.load_answer("request", "third") == ANSWER


def test_maintenance_trims_the_cache(store: Store) -> None:
    """The oldest answers are removed until the others are small enough, and those above the age."""
    cache = AnswerCache(store, MONTH)
    for number in range(6):
        cache.save_answer(f"request {number}", f"run-{number}", ANSWER)
    row_bytes = store.read_rows(ANSWERS, ["size"])["size"].to_pylist()[0] + 300

    assert trim_answers(store, 4 * row_bytes, MONTH) == 2
    assert read_runs(store) == ["run-2", "run-3", "run-4", "run-5"]
    assert trim_answers(store, row_bytes, MONTH) == 3
    assert read_runs(store) == ["run-5"]
    assert trim_answers(store, row_bytes, timedelta()) == 1
    cache.save_answer("request", "run-6", ANSWER)
    Maintenance(store, KnowledgeSettings(answer_cache_megabytes=0)).run_step("compact", lambda progress: None)
    assert read_runs(store) == []
