"""Which embedding model the settings ask for."""

from pathlib import Path

from tenure.models.embedding import embedding_model
from tenure.models.minilm.model import MiniLM
from tenure.models.openai.embeddings import OpenAIEmbeddings
from tenure.settings import Settings


def test_the_embedded_model_is_the_default(tmp_path: Path) -> None:
    """With no embedding model named, the embedded one is taken, its files below the home."""
    model = embedding_model(Settings(home=tmp_path, embedding_model=""))

    assert isinstance(model, MiniLM)
    assert not (tmp_path / "models").exists()


def test_a_named_model_is_asked_from_the_server(tmp_path: Path) -> None:
    """An embedding model's name leads to the OpenAI-compatible server, without contacting it."""
    settings = Settings(home=tmp_path, embedding_model="embed-1", openai_base_url="http://127.0.0.1:9/v1")
    model = embedding_model(settings)

    assert isinstance(model, OpenAIEmbeddings)
    assert model.name == "openai:embed-1"
