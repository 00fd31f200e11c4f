"""Tests of the index of a repository, and of searches in it."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tenure.contracts.coding.repositories import MAX_OBSERVATION_CHARS, IndexReport
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.code import index
from tenure.knowledge.code.search import draw_map, make_filter, search_meaning, search_symbol
from tenure.knowledge.code.snapshot import CodeSnapshot, StateFile
from tenure.knowledge.store.errors import WorkCancelled
from tenure.knowledge.store.schema import build_code_table_names
from tenure.knowledge.store.store import Store
from tests.knowledge.word_vectors import WordVectors

FILES = {
    "src/shop/basket.py": "class Basket:\n    def add_item(self, item):\n        self.items.append(item)\n\n"
    "    def total_price(self):\n        return sum(item.price for item in self.items)\n",
    "src/shop/checkout.py": "from shop.basket import Basket\n\n\ndef pay(basket):\n    return basket.total_price()\n",
    "tests/test_basket.py": "from shop.basket import Basket\n\n\ndef test_total():\n"
    "    assert Basket().total_price() == 0\n",
    "web/cart.ts": "export function renderCart(items: Item[]) {\n  return items.map(renderItem)\n}\n",
    "README.md": "# Shop\n\nThe basket has a total price.\n",
    "vendor/lib.py": "def vendored(): ...\n",
    "data.bin": "\0\1\2",
    "settings.py": "AWS_SECRET_ACCESS_KEY = 'wJalrXUtnFEMIK7MDENGbPxRfiCYzQ3vT8sLp2aB'\nkey = 'AKIAQ3EGRQ7XJ5L2M4NP'\n",
}

Update = Callable[[Mapping[str, str]], tuple[CodeSnapshot, IndexReport]]


def write_state(folder: Path, files: Mapping[str, str]) -> list[StateFile]:
    """Write files into a folder, and return them with their hashes."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return [StateFile(name, hashlib.sha1(text.encode()).hexdigest()) for name, text in files.items()]


@pytest.fixture
def update(knowledge: KnowledgeBase, tmp_path: Path) -> Iterator[Update]:
    """Index a state of the repository `shop`."""

    def update_index(files: Mapping[str, str]) -> tuple[CodeSnapshot, IndexReport]:
        return knowledge.code.update("shop", write_state(tmp_path / "files", files), tmp_path / "files")

    yield update_index
    knowledge.close()


def test_only_changed_files_are_parsed_again(update: Update, uri: str, tmp_path: Path) -> None:
    """A second state parses the file that differs, also in another process."""
    _, first = update(FILES)
    changed = FILES | {"web/cart.ts": "export function drawCart() {}\n"}
    snapshot, second = update(changed)
    other = KnowledgeBase(uri, WordVectors())
    again = other.code.update("shop", write_state(tmp_path / "files", changed), tmp_path / "files")
    other.close()

    assert first.files == first.indexed == len(FILES) - 1
    assert second.indexed == 1
    assert again[1].indexed == 0
    assert "drawCart" in snapshot.definitions and "renderCart" not in snapshot.definitions
    assert again[0].definitions == snapshot.definitions


def test_index_that_is_not_used_is_removed(
    knowledge: KnowledgeBase, update: Update, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maintenance keeps a used index and empties the others, which the next use writes again, also from memory."""
    _, first = update(FILES)
    tables = build_code_table_names("shop")
    step = partial(knowledge.maintenance.run_step, "compact", lambda progress: None)
    kept = [Store(uri).count_rows(name) for _ in [step()] for name in tables]
    with monkeypatch.context() as late:
        late.setattr(index, "MAX_INDEX_AGE", timedelta(days=-1))
        step()
    left = [Store(uri).count_rows(name) for name in tables]
    monkeypatch.setattr(index, "_USE_INTERVAL", timedelta(0))
    _, again = update(FILES)
    step()

    assert all(kept) and left == [0, 0]
    assert again.indexed == first.indexed > 0
    assert [Store(uri).count_rows(name) for name in tables] == kept


def test_earlier_state_is_searched_as_it_was(knowledge: KnowledgeBase, update: Update, tmp_path: Path) -> None:
    """Rows of another state are not found."""
    update(FILES)
    changed = {name: text for name, text in FILES.items() if not name.startswith("web/")}
    snapshot, _ = update(changed)

    found = search_meaning(knowledge.code, "shop", snapshot, tmp_path / "files", "render cart items", "")
    assert "cart.ts" not in found.text


def test_files_of_no_use_are_named_in_the_report(update: Update) -> None:
    """Vendored and binary files and files with secrets are left out, with the reasons."""
    snapshot, report = update(FILES)

    reasons = {file.path: file.reason for file in snapshot.files.values() if file.reason}
    assert reasons.keys() == {"data.bin", "settings.py"}
    assert "vendored" not in snapshot.definitions
    assert any("vendored" in note for note in report.notes)
    assert any("is binary" in note for note in report.notes)


def test_link_out_of_the_files_is_not_followed(update: Update, knowledge: KnowledgeBase, tmp_path: Path) -> None:
    """A file that has become a link is left out."""
    (tmp_path / "outside.py").write_text("def outside(): ...\n")
    files = write_state(tmp_path / "files", {"a.py": "x = 1\n"})
    (tmp_path / "files" / "a.py").unlink()
    (tmp_path / "files" / "a.py").symlink_to(tmp_path / "outside.py")

    snapshot, _ = knowledge.code.update("shop", files, tmp_path / "files")
    assert [file.reason for file in snapshot.files.values()] == ["is a symbolic link"]


def test_search_by_meaning_finds_parts_of_identifiers(knowledge: KnowledgeBase, update: Update, tmp_path: Path) -> None:
    """Words of a question find the code in which they are parts of names, before tests and texts."""
    snapshot, _ = update(FILES)
    found = search_meaning(knowledge.code, "shop", snapshot, tmp_path / "files", "the total price is wrong", "")

    places = [line for line in found.text.splitlines()[1:] if not line.startswith(" ")]
    assert places[0].startswith("src/shop/")
    assert "5:     def total_price(self):" in found.text
    assert found.summary == 'search by meaning "the total price is wrong": 4 files, best first'


def test_search_is_limited_to_a_pattern(knowledge: KnowledgeBase, update: Update, tmp_path: Path) -> None:
    """A glob pattern or a folder selects files."""
    snapshot, _ = update(FILES)
    for pattern, expected in (
        ("*.md", "README.md"),
        ("tests/", "tests/test_basket.py"),
        ("tests", "tests/test_basket"),
    ):
        found = search_meaning(knowledge.code, "shop", snapshot, tmp_path / "files", "total price", pattern)
        places = [line for line in found.text.splitlines()[1:] if not line.startswith(" ")]
        assert len(places) == 1 and places[0].startswith(expected)


def test_symbol_has_definition_callers_and_tests(update: Update, tmp_path: Path) -> None:
    """Each is a line with its place; a qualified name selects among definitions."""
    snapshot, _ = update(FILES)
    lines = search_symbol(snapshot, tmp_path / "files", "Basket.total_price", "").text.splitlines()

    assert lines[0] == 'search symbol "Basket.total_price": 1 definitions, 1 references, 1 in tests'
    assert lines[1] == "definition src/shop/basket.py:5: method Basket.total_price (lines 5–6)"
    assert [line.split("|")[0].strip() for line in lines[2:4]] == ["5", "6"]
    assert lines[4] == "caller src/shop/checkout.py:5: in pay: return basket.total_price()"
    assert lines[5] == "test tests/test_basket.py:5: in test_total: assert Basket().total_price() == 0"


def test_unknown_symbol_is_answered_with_similar_ones(update: Update, tmp_path: Path) -> None:
    """Names that contain the query are proposed."""
    snapshot, _ = update(FILES)

    assert "total_price" in search_symbol(snapshot, tmp_path / "files", "price", "").text


def test_repository_without_text_is_searched_without_a_result(
    knowledge: KnowledgeBase, update: Update, tmp_path: Path
) -> None:
    """No file, and files that are not indexed, are no errors."""
    for files in ({}, {"data.bin": "\0"}):
        snapshot, _ = update(files)
        found = search_meaning(knowledge.code, "shop", snapshot, tmp_path / "files", "basket", "")
        assert "nothing found" in found.text
        assert draw_map(knowledge.code, "shop", snapshot, "basket", 100).text == "map: no source code"


def test_killed_indexing_is_completed(
    knowledge: KnowledgeBase, update: Update, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were stored without a full-text index get one before the next search."""
    with monkeypatch.context() as patch:
        patch.setattr(type(knowledge.code), "_tidy", lambda *_: None)
        update(FILES)
    other = KnowledgeBase(uri, WordVectors())
    snapshot, report = other.code.update("shop", write_state(tmp_path / "files", FILES), tmp_path / "files")

    assert report.indexed == 0
    assert "basket.py" in search_meaning(other.code, "shop", snapshot, tmp_path / "files", "total price", "").text
    other.close()


def test_results_are_bounded(knowledge: KnowledgeBase, update: Update, tmp_path: Path) -> None:
    """Very many callers with long lines fit into the limit, and the rest is counted."""
    many = {f"m{n}.py": f"def f{n}():\n" + f"    run({'x' * 150})\n" * 20 for n in range(20)}
    snapshot, _ = update({"run.py": "def run(x): ...\n"} | many)
    found = search_symbol(snapshot, tmp_path / "files", "run", "")

    assert len(found.text) <= MAX_OBSERVATION_CHARS
    assert "more" in found.text.splitlines()[-1]


def test_map_shows_what_the_task_concerns(knowledge: KnowledgeBase, update: Update) -> None:
    """The files that a search for the task finds come first, with their signatures."""
    snapshot, _ = update(FILES)
    drawn = draw_map(knowledge.code, "shop", snapshot, "pay fails with an empty basket", 200)

    assert drawn.text.splitlines()[1].startswith(("src/shop/checkout.py", "src/shop/basket.py"))
    assert "4: def pay(basket)" in drawn.text


def test_cancelled_indexing_stops(knowledge: KnowledgeBase, tmp_path: Path) -> None:
    """Work that a person cancels ends with an error while a file is waited for."""
    files = write_state(tmp_path / "files", FILES)

    with pytest.raises(WorkCancelled):
        knowledge.code.update("shop", files, tmp_path / "files", lambda: True)
    knowledge.close()


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("", "a/b.py", True),
        ("*.py", "a/b.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("src", "src/a/b.py", True),
        ("src/*.py", "lib/src/a.py", False),
        ("./src/", "src/a.py", True),
    ],
)
def test_pattern_selects_paths(pattern: str, path: str, matches: bool) -> None:
    """Patterns are those of Git's rules, and a folder includes its files."""
    assert make_filter(pattern)(path) is matches
