"""Store and load the conversations between a role and its model over a run.

The messages of a turn are never changed, so that the next prompt starts with exactly the text of the last one and a
server with a prompt cache finds it there.
"""

import json
from collections.abc import Sequence

import pyarrow as pa

from tenure.contracts.messages import Message
from tenure.contracts.run.role_calls import ConversationTurn
from tenure.knowledge.store.schema import TURNS, TURNS_SCHEMA, hash_parts
from tenure.knowledge.store.store import Store, quote_list


class Conversations:
    """Conversations of all runs in one store."""

    def __init__(self, store: Store) -> None:
        """Store messages in `store`."""
        self._store = store

    def load_turns(self, role: str, turn: ConversationTurn) -> tuple[Message, ...]:
        """Return the messages of the current conversation before a turn, oldest first.

        The result is empty if a turn is missing: a conversation with a gap has to start again.
        """
        if turn.number == turn.first:
            return ()
        where = f"run = {quote_list([turn.run])[1:-1]} AND role = {quote_list([role])[1:-1]} AND turn >= {turn.first}"
        rows = self._store.read_rows(
            TURNS, ["turn", "starts_conversation", "messages"], f"{where} AND turn < {turn.number}"
        ).to_pylist()
        rows.sort(key=lambda row: int(row["turn"]))
        if [row["turn"] for row in rows] != list(range(turn.first, turn.number)):
            return ()
        last = max((index for index, row in enumerate(rows) if row["starts_conversation"]), default=0)
        return tuple(Message.model_validate(said) for row in rows[last:] for said in json.loads(row["messages"]))

    def save_turn(
        self, role: str, turn: ConversationTurn, messages: Sequence[Message], *, starts_conversation: bool
    ) -> None:
        """Store the messages of a turn; `anew` if it starts a conversation instead of continuing one."""
        columns = {
            "key": [hash_parts(turn.run, role, str(turn.number))],
            "run": [turn.run],
            "role": [role],
            "turn": [turn.number],
            "starts_conversation": [starts_conversation],
            "messages": [json.dumps([message.model_dump() for message in messages], ensure_ascii=False)],
        }
        self._store.upsert(TURNS, pa.table(columns, schema=TURNS_SCHEMA), "key")
