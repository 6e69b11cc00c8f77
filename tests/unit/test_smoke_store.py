"""smoke.store: a baseline is computed once, reused while nothing changed, and refused when it is not one."""

import json
import stat
import sys
from itertools import pairwise

import pytest
from smoke_parts import PAGES, PLAN, write_checkpoint

from dock.errors import InputError, SettingsError
from smoke import store
from smoke.store import BaselineRefusedError, Store, docker_command, load, write_atomically

RECORD = {"name": PAGES[0].name, "grid": [3, 2], "prompt_ids": [1], "ids": [5], "second": [6]}
ANSWER = {"class": "C", "pages": [{**RECORD, "margin": [1.0], "margin_bf16": [0.5]}]}

# Stands for `docker run`: says its versions, counts the jobs it got, and answers each with the same page.
FAKE_DOCKER = """
import json, pathlib, sys
place = pathlib.Path(sys.argv[1])
print("a line of the image's entry point")
if "--versions" in sys.argv:
    print('@smoke {"versions": {"torch": "' + (place / "torch").read_text() + '"}}')
else:
    job = json.load(sys.stdin)
    (place / "jobs").open("a").write("x")
    print('@smoke {"progress": "float32 page 1 of 1"}')
    print("@smoke " + (place / "answer").read_text())
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "torch").write_text("2.10.0")
    (tmp_path / "answer").write_text(json.dumps(ANSWER))
    (tmp_path / "docker.py").write_text(FAKE_DOCKER)
    command = [sys.executable, str(tmp_path / "docker.py"), str(tmp_path)]
    monkeypatch.setattr(store, "docker_command", lambda _image, _ready: command)
    return tmp_path


def make_store(place, said=None):
    checkpoint = write_checkpoint(place / "ready")
    return Store(place / "baseline", checkpoint, "image:1", (said if said is not None else []).append)


def jobs(place):
    return len((place / "jobs").read_text())


def ask(place, spec=PLAN["baseline"], pages=PAGES[:1], said=None):
    return make_store(place, said).baseline(spec, 64, pages)


def test_computed_once_then_reused(place):
    said = []
    first = ask(place, said=said)
    assert (first.kind, first.floor, first.pages[PAGES[0].name].second) == ("C", 0.5, (6,))
    assert said == [
        "no baseline yet for this checkpoint, image and page set: computing it with image:1",
        "float32 page 1 of 1",
    ]
    assert ask(place).path == first.path
    assert jobs(place) == 1


def test_computed_anew_when_anything_it_rests_on_changes(place):
    paths = {ask(place).path}
    paths.add(ask(place, pages=PAGES[1:]).path)
    paths.add(ask(place, spec={**PLAN["baseline"], "image_grid": 14}).path)
    (place / "torch").write_text("2.11.0")
    paths.add(ask(place).path)
    write_checkpoint(place / "ready")
    (place / "torch").write_text("2.10.0")
    keep = make_store(place)
    (place / "ready" / "model.safetensors").write_bytes(b"other weights")
    paths.add(keep.baseline(PLAN["baseline"], 64, PAGES[:1]).path)
    paths.add(keep.baseline(PLAN["baseline"], 65, PAGES[:1]).path)
    assert len(paths) == jobs(place) == 6


def test_a_refusal_by_the_image_is_one_line_and_leaves_no_file(place):
    (place / "answer").write_text('{"error": "found 33 tensors missing"}')
    with pytest.raises(BaselineRefusedError, match="no baseline: found 33 tensors missing"):
        ask(place)
    assert not (place / "baseline").exists()


def test_an_image_that_fails_is_one_line(place):
    said = "docker: no such image\\nRun 'docker run --help' for more"
    (place / "docker.py").write_text(f'import sys; sys.exit("{said}")')
    with pytest.raises(SettingsError, match=r"image:1 cannot compute the baseline \(docker: no such image\)"):
        ask(place)


def test_a_traceback_in_the_image_is_its_last_line(place):
    (place / "docker.py").write_text("raise RuntimeError('wrong size')")
    with pytest.raises(SettingsError, match=r"cannot compute the baseline \(RuntimeError: wrong size\)"):
        ask(place)


def test_an_image_that_says_nothing_is_one_line(place):
    (place / "docker.py").write_text("print('hello')")
    with pytest.raises(SettingsError, match=r"no answer from smoke\.baseline in image:1"):
        ask(place)


def test_no_docker_is_one_line(place, monkeypatch):
    monkeypatch.setattr(store, "docker_command", lambda _image, _ready: ["/nonexistent/docker"])
    with pytest.raises(SettingsError, match="found no docker command"):
        ask(place)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"key": "other"}', '{"key": "k", "pages": [{}]}'])
def test_a_file_that_is_no_baseline_is_refused(tmp_path, text):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"that is no baseline .*do: delete it"):
        load(path, "k")


def test_the_container_gets_no_network_no_capability_and_nothing_to_write(tmp_path):
    command = docker_command("image:1", tmp_path)
    text = " ".join(command)
    for part in ["--network none", "--user 1000:1000", "--read-only", "--cap-drop ALL", f"{tmp_path}:/model:ro"]:
        assert part in text
    assert "--entrypoint" not in text
    assert command[-4:] == ["image:1", "python3", "-m", "smoke.baseline"]
    assert all(volume.endswith(":ro") for option, volume in pairwise(command) if option == "--volume")


def test_write_atomically_keeps_the_old_file_when_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "new" / "file"
    write_atomically(path, "old")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("old", 0o644)
    monkeypatch.setattr(store.os, "fdopen", lambda *_a, **_k: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
