"""The research state: what every phase of a cycle makes of it."""

from tenure.algorithms.research_state import in_words
from tenure.contracts.research import Topic
from tenure.contracts.spiral import Aim, Executed, SpiralState


def test_a_cycle_is_summed_up_in_one_line() -> None:
    """New passages of this cycle alone, mean coverage, gain and its trend."""
    aims = tuple(Aim(topic=Topic(heading=name, question="?"), coverage=share) for name, share in (("A", 0.5), ("B", 1)))
    executed = tuple(Executed(query=f"q{n}", topic="A", cycle=n, accepted=n) for n in (1, 2))
    state = SpiralState(cycle=2, aims=aims, executed=executed, gains=(0.5, 0.2))

    said = "cycle 2 brought 2 new passages: coverage 75% on average, information gain 0.20 (stalling)"
    assert in_words(state) == said


def test_a_cycle_without_anything_is_summed_up_too() -> None:
    """Nothing divides by zero, and one passage is singular."""
    one = SpiralState(cycle=1, executed=(Executed(query="q", topic="A", cycle=1, accepted=1),))

    assert in_words(one).startswith("cycle 1 brought 1 new passage: coverage 0% on average, information gain 0.00")
