"""Error of models on this machine."""


class LocalModelError(Exception):
    """A model on this machine cannot be found, loaded or downloaded; the message is one line that says what to do."""
