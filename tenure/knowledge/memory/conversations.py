"""Store and load the conversations between a role and its model over a run.

The messages of a turn are never changed, so that the next prompt starts with exactly the text of the last one and a
server with a prompt cache finds it there. Each turn is a file: it is read only by its number.
"""

import json
from collections.abc import Sequence

from tenure.contracts.base import RunId
from tenure.contracts.messages import Message
from tenure.contracts.run.role_calls import ConversationTurn
from tenure.files.file_store import is_shared
from tenure.knowledge.store.schema import hash_parts
from tenure.knowledge.store.store import Store
from tenure.knowledge.store.stored_files import StoredFiles


class Conversations:
    """Conversations of all runs in one store, which is a folder or an S3 store; others keep no conversation."""

    def __init__(self, store: Store) -> None:
        """Store messages at the place of `store`."""
        self._files = StoredFiles(store.uri) if store.folder is not None or is_shared(store.uri) else None

    def load_turns(self, role: str, turn: ConversationTurn) -> tuple[Message, ...]:
        """Return the messages of the current conversation before a turn, oldest first.

        The result is empty if a turn is missing: a conversation with a gap has to start again.
        """
        messages: list[Message] = []
        for number in reversed(range(turn.first, turn.number)):
            data = self._files.read(_build_name(turn.run, role, number)) if self._files else None
            if data is None:
                return ()
            starts_conversation, said = json.loads(data)
            messages[:0] = map(Message.model_validate, said)
            if starts_conversation:
                break
        return tuple(messages)

    def save_turn(
        self, role: str, turn: ConversationTurn, messages: Sequence[Message], *, starts_conversation: bool
    ) -> None:
        """Store the messages of a turn, and whether it starts a conversation instead of continuing one."""
        if self._files:
            content = [starts_conversation, [message.model_dump() for message in messages]]
            self._files.write(_build_name(turn.run, role, turn.number), json.dumps(content).encode())

    def copy_turns(self, role: str, turn: ConversationTurn, run: RunId) -> ConversationTurn:
        """Copy the current conversation before a turn into another run, and return its turn there."""
        for number in range(turn.first, turn.number):
            if self._files and (data := self._files.read(_build_name(turn.run, role, number))):
                self._files.write(_build_name(run, role, number), data)
        return turn.model_copy(update={"run": run})

    def delete_run(self, run: str) -> None:
        """Delete the conversations of a run."""
        if self._files:
            self._files.delete_folder(_build_folder(run))


def _build_folder(run: str) -> str:
    return f"turns/{hash_parts(run)}"


def _build_name(run: str, role: str, number: int) -> str:
    return f"{_build_folder(run)}/{hash_parts(role, str(number))}.json"
