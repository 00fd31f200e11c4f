"""Prose: the rules of .ci/prose.py, on samples; .ci/run applies them to the repository."""

from functools import cache
from typing import Any

import pytest

from tests.architecture.linters import load_linter

prose = load_linter("prose")
findings = load_linter("findings")


@cache
def build_linter() -> Any:
    """Build a linter with the vocabulary of the repository."""
    return prose.ProseLinter(findings.load_vocabulary())


def find_rules(source: str, path: str = "tenure/sample.py") -> set[str]:
    """Return the rules that a file breaks."""
    return {finding.rule for finding in build_linter().check_file(path, source)}


BAD = [
    ("beside", "Store the file beside the corpus."),
    ("anew", "Read the page anew."),
    ("nobody", "A page that nobody reads."),
    ("somebody", "Wait until somebody answers."),
    ("whoever", "Raise to whoever retries."),
    ("whom", "The user whom the run asks."),
    ("begun", "A run that has begun."),
    ("archaic", "Wait lest it fails."),
    ("heed", "A server may not heed the limit."),
    ("mend", "The words are mended."),
    ("purse", "Fill the purse of a run."),
    ("patience", "Retry with patience."),
    ("stance", "Keep the stance of the run."),
    ("manners", "Fetch with manners."),
    ("twin", "The answer of the twin."),
    ("stood-in", "A twin stood in for the model."),
    ("leg", "Both legs of a search."),
    ("ladder", "The ladder of output."),
    ("house", "The parts of the house."),
    ("stand", "The title stands in the first line."),
    ("as-it-stands", "Return the text as it stands."),
    ("bear", "The evidence bears it out."),
    ("tell", "The log tells the reason."),
    ("tell-whether", "Tell whether it is long."),
    ("told", "The number of pages is told."),
    ("hold", "The rule holds for all runs."),
    ("so-many", "Return at most so many bytes."),
    ("to-the-letter", "Keep a quote to the letter."),
    ("for-good", "A step failed for good."),
    ("at-once", "Return at once."),
    ("by-itself", "The run ends by itself."),
    ("word-as-command", "A person's word to the run."),
    ("wish", "A wish for one section."),
    ("fit-for", "A phrase fit for a report."),
    ("at-hand", "The copy at hand is used."),
    ("come-of", "Record the state that came of a step."),
    ("go-on", "The run goes on."),
    ("go-without", "The test goes without network."),
    ("in-the-making", "A report in the making."),
    ("idiom", "Try in vain."),
    ("in-the-end", "All is sent in the end."),
    ("no-more", "The page matters no more."),
    ("at-the-most", "Five pages at the most."),
    ("be-had", "The page cannot be had."),
    ("for-not-doing", "None for not telling them."),
    ("one-that", "Skip a page and one that failed."),
    ("inversion", "Use the copy that is there."),
    ("there-is-none", "The file cannot be opened; there is none."),
    ("let-be", "Let it be."),
    ("where-for-if", "The name; None where unknown."),
    ("where-for-if", "Use the title, where it exists."),
    ("where-sentence", "Where a page fails, the next page is read."),
    ("clause-as-noun", "What a call may use."),
    ("clause-as-noun", "How many pages were read."),
    ("clause-as-noun", "That people outside are notified."),
    ("clause-after-colon", "Activities: what the model needs."),
    ("return-clause", "Return what a module imports."),
    ("found-by", "Columns for what it is found by."),
    ("outside-reference", "The formula (document 003)."),
    ("outside-reference", "The formula (DESIGN §4)."),
]


@pytest.mark.parametrize(("rule", "sentence"), BAD)
def test_banned_construction_is_found(rule: str, sentence: str) -> None:
    """A sentence that breaks a rule has a finding of the rule in a docstring."""
    assert rule in find_rules(f'"""{sentence}"""\n')


def test_every_rule_has_a_sample() -> None:
    """No rule of the vocabulary is without a sentence that breaks it."""
    assert {rule["name"] for rule in findings.load_vocabulary()["rule"]} == {rule for rule, _ in BAD}


GOOD = [
    "Return the parsed integer, or 0 if the header is invalid.",
    "Query providers concurrently; a failing provider loses only its own results.",
    "Apply the parent's control state and forward it to child workflows.",
    "Notification settings; None disables notifications.",
    "Serialized record; searchable fields have columns of their own.",
    "The abbreviation RRF stands for reciprocal rank fusion.",
    "Wait while another process holds the lock of the home.",
    "Read no more than ten pages, and skip the page that failed.",
    "The folder where the index is stored.",
    "Call `tell` and `beside` of the module.",
    "Whether the run is paused.",
    "Understand the standing question and forget the bearer token.",
    "The result is as good as the best single retriever.",
]


@pytest.mark.parametrize("sentence", GOOD)
def test_plain_sentence_is_accepted(sentence: str) -> None:
    """A sentence in plain technical English has no finding."""
    assert find_rules(f'"""{sentence}"""\n') == set()


FORMS = [
    ("docstring-verb", 'def read() -> None:\n    """The reader of a page."""\n'),
    ("docstring-weak-verb", 'def read() -> None:\n    """Tell the length of a page."""\n'),
    ("docstring-class", 'class Reader:\n    """Reads pages of the web."""\n'),
    ("docstring-class", 'class Reader:\n    """Start a reader."""\n'),
]


@pytest.mark.parametrize(("rule", "source"), FORMS)
def test_form_of_docstring_is_checked(rule: str, source: str) -> None:
    """Functions begin with a verb in base form, classes with a noun."""
    assert rule in find_rules(source)


@pytest.mark.parametrize(
    "source",
    [
        'def read() -> None:\n    """Look up the length of a page."""\n',
        'class Reader:\n    """Reader of pages."""\n',
        'class Calls:\n    """Calls of a model."""\n',
        'class Reader:\n    @property\n    def size(self) -> int:\n        """Number of bytes."""\n',
        'def _helper() -> None:\n    """The reader of a page."""\n',
    ],
)
def test_good_form_of_docstring_is_accepted(source: str) -> None:
    """Imperative verbs, noun phrases, properties and private functions are accepted."""
    assert find_rules(source) == set()


PLACES = [
    ("x = 1  # read anew\n", "tenure/a.py"),
    ("x = 1\n# a page that is\n# read anew\n", "tenure/a.py"),
    ('class A:\n    x: int\n    """Pages read anew."""\n', "tenure/a.py"),
    ('def f(x):\n    """Read pages.\n\n    Args:\n        x: pages that are read anew.\n    """\n', "tenure/a.py"),
    ('raise ValueError("the page is read anew")\n', "tenure/a.py"),
    ('raise ValueError(f"the page {x} is read anew")\n', "tenure/a.py"),
    ("A page is read anew.\n", "docs/a.md"),
    ("# Pages read anew\n", "README.md"),
    ("| A | B |\n|---|---|\n| x | read anew |\n", "docs/a.md"),
    ("x = 1 # read anew\n", "pyproject.toml"),
]


@pytest.mark.parametrize(("source", "path"), PLACES)
def test_every_kind_of_prose_is_read(source: str, path: str) -> None:
    """Docstrings, comments, messages, paragraphs, headings, table cells and comments of settings are checked."""
    assert "anew" in find_rules(source, path)


NOT_PROSE = [
    ('x = "page # read anew"[:3]\n', "tests/test_a.py"),
    ('x = "read anew page list".split()\n', "tenure/a.py"),
    ('x = re.compile("read the page anew")\n', "tenure/a.py"),
    ('x = r"read the page anew"\n', "tenure/a.py"),
    ('x = "SELECT anew FROM a table"\n', "tenure/a.py"),
    ('x = "anew"\n', "tenure/a.py"),
    ('x = ["the page is read anew"]  # prose: data\n', "tenure/a.py"),
    ('# prose: data\nx = [\n    "the page is read anew",\n]\n', "tenure/a.py"),
    ("```\nread anew\n```\n\nThe option `anew`.\n", "docs/a.md"),
]


@pytest.mark.parametrize(("source", "path"), NOT_PROSE)
def test_data_and_code_are_not_prose(source: str, path: str) -> None:
    """Word lists, patterns, queries, marked data, strings of tests and code blocks are not checked."""
    assert find_rules(source, path) == set()


def test_finding_names_its_line() -> None:
    """The line of a finding is that of the words, also in a string of several literals."""
    source = '"""Read pages.\n\nA page is read anew.\n"""\n\nx = (\n    "a page that is "\n    "read anew"\n)\n'

    assert [finding.line for finding in build_linter().check_file("tenure/a.py", source)] == [3, 8]
