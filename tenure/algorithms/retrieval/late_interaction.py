"""Late interaction: a question and a passage compared token by token, each of them read by itself.

Every token of the question looks for the token of the passage that is most like it; the mean of these
likenesses is the score. This is MaxSim of Khattab and Zaharia, "ColBERT: Efficient and Effective Passage
Search via Contextualized Late Interaction over BERT" (2020), divided by the number of the question's tokens.
"""

from collections.abc import Sequence

import numpy as np

from tenure.algorithms.text.passage import Vectors


def max_sim(question: Vectors, passage: Vectors) -> float:
    """Return how well a passage answers to a question's tokens, from -1 to 1; 0 where either has none.

    Args:
        question: unit vectors of its tokens.
        passage: unit vectors of its tokens.
    """
    if not len(question) or not len(passage):
        return 0.0
    return float(np.mean((question @ passage.T).max(axis=1)))


def late_interaction(question: Vectors, passages: Sequence[Vectors]) -> list[float]:
    """Return the score of each passage, in their order."""
    return [max_sim(question, passage) for passage in passages]
