"""Test filters: each type, errors, and quoting."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.filters import build_condition
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA
from tenure.knowledge.store.store import Store, quote_literal
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow

DOCUMENTS = {
    "spring.md": "---\ntitle: Spring\nauthor: O'Hara\ndate: 2001-03-12\n---\n\nBees fly.\n\n# Later\n\nBees.\n",
    "summer.md": "---\ntitle: Summer\nauthor: Ida\ndate: 1 July 2001\n---\n\nBees fly in summer.\n",
    "autumn.md": "---\ntitle: Autumn\nauthor: Ida\ndate: 2003\n---\n\nBees fly in autumn.\n",
    "winter.txt": "Bees sleep in winter.\n",
    "bees.py": 'def bees():\n    """Bees fly."""\n',
}
ALL = {"spring", "summer", "autumn", "winter", "bees"}

HOSTILE = [
    "'", "''", "' OR 1=1 --", "\\", "\\'", "'; DROP TABLE sources", '"', "`", "%", "_", "\0", "\n", "\u2019", "\ud7ff",
    "{}", "$1", "?", "/*", "*/", "--", "x' OR 'a'='a", "\u00e9", "\U0001f41d", "", " ",
]  # fmt: skip


@pytest.fixture
def seasons(tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase) -> Callable[..., set[str]]:
    """Documents of several kinds and dates, and a function that searches them with filters."""
    folder = tmp_path / "seasons"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    ingest(folder)

    def found(*filters: Filter, strategy: str = "hybrid") -> set[str]:
        request = SearchRequest.model_validate(
            {"query": "bees", "corpora": ("c",), "k": 20, "mode": strategy, "filters": filters}
        )
        return {
            Path(passage.uri).stem
            for passage in knowledge.corpora.load_passages(knowledge.retrieval.search(request).passages)
        }

    return found


@slow
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([], ALL),
        ([{"field": "author", "equals": "O'Hara"}], {"spring"}),
        ([{"field": "author", "any_of": ["Ida", "O'Hara"]}], {"spring", "summer", "autumn"}),
        ([{"field": "kind", "equals": "code"}], {"bees"}),
        ([{"field": "suffix", "any_of": [".txt", ".py"]}], {"winter", "bees"}),
        ([{"field": "title", "min": "Sp", "max": "Sum"}], {"spring"}),
        ([{"field": "published", "equals": "2001"}], {"spring", "summer"}),
        ([{"field": "published", "equals": "2001-07-01"}], {"summer"}),
        ([{"field": "published", "any_of": ["2001-03", "2003"]}], {"spring", "autumn"}),
        ([{"field": "published", "min": "2001-07"}], {"summer", "autumn"}),
        ([{"field": "published", "max": "2001"}], {"spring", "summer"}),
        ([{"field": "published", "min": "2001-04", "max": "2002"}], {"summer"}),
        ([{"field": "ordinal", "min": 1}], {"spring"}),
        ([{"field": "ordinal", "equals": 0}, {"field": "suffix", "equals": ".md"}], {"spring", "summer", "autumn"}),
        ([{"field": "author", "equals": "Ida"}, {"field": "kind", "equals": "code"}], set()),
    ],
)
@pytest.mark.parametrize("strategy", ["dense", "sparse"])
def test_filters_apply_to_all_retrievers(
    seasons: Callable[..., set[str]], filters: list[dict[str, object]], found: set[str], strategy: str
) -> None:
    """Equality, lists, ranges and dates restrict the results of every retriever."""
    assert seasons(*(Filter.model_validate(one) for one in filters), strategy=strategy) == found


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Filter(field="colour", equals="red"), "unknown field; available: source, uri"),
        (Filter(field="text'; --", equals="red"), "unknown field"),
        (Filter(field="kind"), "give equals, any_of, min or max"),
        (Filter(field="kind", equals=3), "'3' is not a text"),
        (Filter(field="ordinal", equals="3"), "'3' is not a whole number"),
        (Filter(field="ordinal", equals=True), "'True' is not a whole number"),
        (Filter(field="ordinal", min=1.5), "'1.5' is not a whole number"),
        (Filter(field="ordinal", max=2**63), "is not a whole number"),
        (Filter(field="published", min="soon"), "'soon' is not a date"),
        (Filter(field="published", equals=2001), "'2001' is not a date"),
        (Filter(field="kind", any_of=()), "any_of lists 0 values"),
        (Filter(field="kind", any_of=("x",) * 1001), "any_of lists 1001 values"),
    ],
)
def test_invalid_filters_are_rejected(knowledge: KnowledgeBase, one: Filter, words: str) -> None:
    """An unknown field, a value of the wrong type and an empty filter are rejected with a reason."""
    with pytest.raises(InvalidSearch) as caught:
        build_condition([one])

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@slow
def test_invalid_filter_is_rejected_before_embedding(seasons: Callable[..., set[str]], model: WordVectors) -> None:
    """The search fails before it calls the model."""
    before = model.embedded

    with pytest.raises(InvalidSearch, match="'colour'"):
        seasons(Filter(field="colour", equals="red"))
    assert model.embedded == before


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Table with hostile keys."""
    store = Store(str(tmp_path_factory.mktemp("hostile")))
    rows = [{"key": key, "model": "m", "vector": [1.0], "checksum": 0} for key in HOSTILE]
    store.upsert(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")
    return store


@slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.sampled_from(HOSTILE)
    | st.text(st.sampled_from("'\\\"-;%`\0 a\n") | st.characters(exclude_categories=["Cs"]))
)
def test_quoted_text_cannot_escape(hostile: Store, text: str) -> None:
    """Quoted text is compared literally, and never becomes part of the condition."""
    found = hostile.read_rows(CACHE, ["key"], f"key = {quote_literal(text)}")["key"].to_pylist()

    assert found == [key for key in HOSTILE if key == text]
