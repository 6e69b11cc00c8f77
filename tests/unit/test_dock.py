"""Settings and the reader of models/: what they find, and the one line they say when they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dock import catalog, settings
from dock.errors import SettingsError

ENV = "# comment\nTARGET=cpu\nDOCK_URL=http://127.0.0.1:8080/\nKEYS_DIR=./keys\nMODELS_DIR=./models\nPLEIAS_RAG_REVISION='r1'\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made installation, untouched by the environment of this one."""
    for name in ("TARGET", "DOCK_URL", "KEYS_DIR", "MODELS_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".env").write_text(ENV)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "user").write_text("secret\n")
    return tmp_path


def test_reads_what_site_yml_wrote(root: Path) -> None:
    """Values, paths relative to the root, and a model's name turned into its variable."""
    found = settings.load(root)
    assert (found.url, found.target) == ("http://127.0.0.1:8080", "cpu")
    assert found.models_dir == root / "models"
    assert found.revision("pleias-rag") == "r1"
    assert found.key("user") == "secret"


def test_environment_wins_over_the_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does for Compose."""
    monkeypatch.setenv("TARGET", "npu")
    assert settings.load(root).target == "npu"


def test_what_is_missing_is_named_with_the_remedy(root: Path) -> None:
    """A variable, a key, a whole file: the command to run is in the message."""
    found = settings.load(root)
    for ask in (
        lambda: found.get("GATEWAY_DIR"),
        lambda: found.key("operator"),
        lambda: settings.load(root / "keys").url,
    ):
        with pytest.raises(SettingsError, match=r"found no .*, need .*, do: ansible-playbook site\.yml"):
            ask()


def test_catalog_reads_a_consumer_file(tmp_path: Path) -> None:
    """A folder with serve.yaml is a model."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "serve.yaml").write_text("model: /model\n")
    assert catalog.names(tmp_path) == ["m"]
    assert catalog.find("m", tmp_path).read("serve") == {"model": "/model"}


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "found no"), ("a: [", "that is not YAML"), ("- 1\n", "without a mapping"), ("", "without a mapping")],
)
def test_catalog_says_what_is_wrong_with_a_file(tmp_path: Path, content: str | None, said: str) -> None:
    """One line each, whatever is in the file."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "serve.yaml").write_text("model: /model\n")
    if content is not None:
        (tmp_path / "m" / "load.yaml").write_text(content)
    with pytest.raises(SettingsError, match=said) as error:
        catalog.find("m", tmp_path).read("load")
    assert "\n" not in str(error.value)


def test_unknown_model_lists_those_there_are() -> None:
    """The real folder, and a name that is not in it."""
    with pytest.raises(SettingsError, match=r"found no model 'gpt', need one of: .*lightonocr"):
        catalog.find("gpt")
