"""Conversations: what a role and its model have said to each other over a run (004, conversation history).

A turn's messages are written once and never changed, so that the next prompt begins with exactly the
words of the last one and a server that caches prompts has them already.
"""

import json
from collections.abc import Sequence

import pyarrow as pa

from tenure.contracts.run.role_calls import Turn
from tenure.knowledge.store.schema import TURNS, TURNS_SCHEMA, digest
from tenure.knowledge.store.store import Store, quoted
from tenure.roles.base import Message


def said(store: Store, role: str, turn: Turn) -> tuple[Message, ...]:
    """Return the messages of the present conversation before a turn, the oldest first.

    Empty where one of them is missing: with a gap in it, a conversation has to begin anew.
    """
    if turn.number == turn.first:
        return ()
    where = f"run = {quoted([turn.run])[1:-1]} AND role = {quoted([role])[1:-1]} AND turn >= {turn.first}"
    rows = store.rows(TURNS, ["turn", "anew", "messages"], f"{where} AND turn < {turn.number}").to_pylist()
    rows.sort(key=lambda row: int(row["turn"]))
    if [row["turn"] for row in rows] != list(range(turn.first, turn.number)):
        return ()
    last = max((index for index, row in enumerate(rows) if row["anew"]), default=0)
    return tuple(Message.model_validate(said) for row in rows[last:] for said in json.loads(row["messages"]))


def keep(store: Store, role: str, turn: Turn, messages: Sequence[Message], *, anew: bool) -> None:
    """Keep what a turn has said; `anew` where it did not go on from the turns before it."""
    columns = {
        "key": [digest(turn.run, role, str(turn.number))],
        "run": [turn.run],
        "role": [role],
        "turn": [turn.number],
        "anew": [anew],
        "messages": [json.dumps([message.model_dump() for message in messages], ensure_ascii=False)],
    }
    store.merge(TURNS, pa.table(columns, schema=TURNS_SCHEMA), "key")
