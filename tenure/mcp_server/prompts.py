"""Prompts of the server: words for the model of an assistant, which a person sends with one command."""

from dataclasses import dataclass
from string import Template

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)


@dataclass(frozen=True)
class ServedPrompt:
    """A prompt that clients offer."""

    description: str
    arguments: dict[str, str]
    """Meanings of the arguments by name; each is required."""
    words: Template
    """Words for the model, with the arguments in their places."""


PROMPTS = {
    "research": ServedPrompt(
        "Answer a question from documents, with sources",
        {"question": "Question to answer", "docs": "Absolute path of a folder or a file, or the name of a corpus"},
        Template(
            "Call the tool research with this question: $question\nThe documents are: $docs (an absolute path belongs "
            "into docs, a name into corpora). While the run continues, call status again. Answer from its report only: "
            "first the answer, then what it rests on, with the numbers and titles of the report's sources, and at last "
            "what the report says is missing. Do not add what the report does not say."
        ),
    ),
    "repair": ServedPrompt(
        "Change a repository and prove the change by its tests",
        {"repository": "Absolute path of the repository", "task": "What should be different afterwards"},
        Template(
            "Call the tool code with this repo: $repository\nIts question is: $task\nWhile the run continues, call "
            "status again. Then say which files it changed, which tests prove it and which fail, and show how to apply "
            "the patch. Change no file yourself."
        ),
    ),
    "follow_up": ServedPrompt(
        "Ask about a finished run",
        {"run": "Id of the run", "question": "Question about its report"},
        Template(
            "Call the tool ask for the run $run with this question: $question\nPass on its answer with its sources. If "
            "the answer is not in the evidence of the run, say so, and offer to search again."
        ),
    ),
}


def list_prompts() -> ListPromptsResult:
    """Return the prompts as clients list them."""
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=name,
                description=prompt.description,
                arguments=[
                    PromptArgument(name=argument, description=meaning, required=True)
                    for argument, meaning in prompt.arguments.items()
                ],
            )
            for name, prompt in PROMPTS.items()
        ]
    )


def fill_prompt(name: str, arguments: dict[str, str]) -> GetPromptResult:
    """Return the words of a prompt for these arguments.

    Raises:
        MCPError: there is no such prompt, or an argument is missing.
    """
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise MCPError(code=INVALID_PARAMS, message=f"there is no prompt {name[:100]!r}: {', '.join(PROMPTS)}")
    if missing := [argument for argument in prompt.arguments if not arguments.get(argument, "").strip()]:
        raise MCPError(code=INVALID_PARAMS, message=f"the prompt {name} needs {' and '.join(missing)}")
    words = TextContent(type="text", text=prompt.words.substitute(arguments))
    return GetPromptResult(description=prompt.description, messages=[PromptMessage(role="user", content=words)])
