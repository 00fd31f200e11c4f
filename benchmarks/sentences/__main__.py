"""Run the benchmark: `python -m benchmarks.sentences PATH…`."""

from benchmarks.sentences.measure import main

main()
