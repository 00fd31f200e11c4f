"""Score passages by late interaction of token vectors.

Each question token is matched with its most similar passage token; the score is the mean of these similarities. This is
the MaxSim of Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction
over BERT" (2020), divided by the number of question tokens.
"""

import numpy as np

from tenure.algorithms.text.passage import Vectors


def compute_maxsim(question: Vectors, passage: Vectors) -> float:
    """Return the mean maximum similarity of the question tokens, from -1 to 1; 0 if either text has no tokens."""
    if not len(question) or not len(passage):
        return 0.0
    return float(np.mean((question @ passage.T).max(axis=1)))
