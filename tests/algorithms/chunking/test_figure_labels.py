"""Tests of the labels of figures."""

import pytest

from tenure.algorithms.chunking.figure_labels import find_caption_label, list_figure_references
from tests.architecture.text_functions import TextFunction


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Figure 3: Costs", "Figure 3"),
        ("Fig. 1 – Layers", "Figure 1"),
        ("Figure 2.1. A plot", "Figure 2.1"),
        ("Fig. 3 Overview of the parts", "Figure 3"),
        ("Figure 7-26. Self-locking nuts.", "Figure 7-26"),
        ("Figure A.1. Errors", "Figure A.1"),
        ("Abb. 4: Aufbau", "Figure 4"),
        ("Рис. 5. Схема", "Figure 5"),
        ("图 3 系统结构", "Figure 3"),
        ("Figure 9", "Figure 9"),
        ("Figure 3 shows that costs fall.", ""),
        ("Configure 3: values", ""),
        ("The costs of Figure 3: none", ""),
    ],
)
def test_a_caption_has_the_label_of_its_figure(text: str, label: str) -> None:
    """Labels have one form in all languages; a sentence that begins with a figure is no caption."""
    assert find_caption_label(text) == label


def test_references_have_the_form_of_labels() -> None:
    """Sentences name figures in short and long forms."""
    text = "See Fig. 2 and figure 10, also Abb. A.4; reconfigure 5 is none, and 図12 is one."

    assert list_figure_references(text) == {"Figure 2", "Figure 10", "Figure A.4", "Figure 12"}


@pytest.mark.parametrize("piece", ["figure ", "fig. ", "fig.1.", "fig. 1.1", "图 ", "A.1.", " "])
def test_time_grows_with_length(piece: str) -> None:
    """A text of one repeated piece is read in proportional time."""
    assert not TextFunction(find_caption_label).is_slow(piece)
    assert not TextFunction(list_figure_references).is_slow(piece)
