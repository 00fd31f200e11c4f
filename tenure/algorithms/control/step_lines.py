"""Describe the steps of a research plan in one line each, for the status page, the command line and the trace."""

from tenure.contracts.run.run import StepProgress


def describe_step(step: StepProgress) -> str:
    """Return a step with its kind, state, dependencies, inserted names, alternative and note."""
    parts = [f"{step.id} {step.kind} “{step.query}”"]
    if step.depends_on:
        parts.append(f"after {', '.join(step.depends_on)}")
    if step.inserted:
        parts.append(f"with {', '.join(step.inserted)}")
    if step.alternative:
        parts.append(f"alternative “{step.alternative}”")
    state = step.status.replace("_", " ")
    return f"{', '.join(parts)}: {state}{f' ({step.note})' if step.note else ''}"
