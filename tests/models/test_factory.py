"""Tests of the choice of models by the settings."""

from pathlib import Path

from tenure.models.factory import create_embedding_model
from tenure.models.minilm.model import MiniLM
from tenure.models.multilingual import MultilingualEncoder
from tenure.models.openai.embeddings import OpenAIEmbeddings
from tenure.settings import Settings


def test_the_embedded_model_is_the_default(tmp_path: Path) -> None:
    """Without a configured embedding model, the embedded one is used, with its files below the home."""
    model = create_embedding_model(Settings(home=tmp_path, embedding_model=""))

    assert isinstance(model, MiniLM)
    assert not (tmp_path / "models").exists()


def test_the_multilingual_model_needs_no_server(tmp_path: Path) -> None:
    """Its name in the settings selects the model of the extra, which is loaded at its first use."""
    model = create_embedding_model(Settings(home=tmp_path, embedding_model="multilingual"))

    assert isinstance(model, MultilingualEncoder)


def test_a_configured_model_is_requested_from_the_server(tmp_path: Path) -> None:
    """A configured embedding model uses the OpenAI-compatible server, without contacting it yet."""
    settings = Settings(home=tmp_path, embedding_model="embed-1", openai_base_url="http://127.0.0.1:9/v1")
    model = create_embedding_model(settings)

    assert isinstance(model, OpenAIEmbeddings)
    assert model.name == "openai:embed-1"
