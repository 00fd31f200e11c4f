"""The phases of one cycle of the research loop: plan, act, analyze, decide."""
