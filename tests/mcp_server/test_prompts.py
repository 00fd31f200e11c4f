"""Prompts, with the official client."""

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from tenure.mcp_server.prompts import PROMPTS, fill_prompt
from tenure.mcp_server.tools import TOOLS


async def test_prompts_are_listed_and_filled(served: Server) -> None:
    """A client lists the prompts and gets the words of one with its arguments in them."""
    async with Client(served) as client:
        listed = (await client.list_prompts()).prompts
        filled = await client.get_prompt("research", {"question": "What costs $5?", "docs": "/papers"})

    assert [prompt.name for prompt in listed] == list(PROMPTS)
    assert all(prompt.description and prompt.arguments for prompt in listed)
    (message,) = filled.messages
    assert message.role == "user"
    assert message.content.type == "text"
    assert "What costs $5?" in message.content.text
    assert "/papers" in message.content.text


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_calls_a_tool_that_exists(name: str) -> None:
    """Each prompt has all of its arguments in its words, and begins with a tool of the server."""
    arguments = {argument: f"value of {argument}" for argument in PROMPTS[name].arguments}
    content = fill_prompt(name, arguments).messages[0].content

    assert content.type == "text"
    assert content.text.split()[3] in TOOLS
    assert all(value in content.text for value in arguments.values())


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [("nothing", {}, "there is no prompt"), ("repair", {"task": " "}, "needs repository and task")],
)
async def test_what_does_not_fit_is_refused(served: Server, name: str, arguments: dict[str, str], words: str) -> None:
    """An unknown prompt and missing arguments are errors of the protocol that say what is needed."""
    async with Client(served) as client:
        with pytest.raises(MCPError, match=words):
            await client.get_prompt(name, arguments)
