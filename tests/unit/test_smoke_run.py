"""smoke.run: smoke.yaml and the pages with known text must be whole before anything is asked of a server."""

import copy
import json

import pytest
from smoke_parts import CORPUS, PAGES, PLAN

from dock import catalog
from dock.errors import InputError
from smoke import run
from smoke.run import baseline_pages, load_corpus, require_plan


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "load_pages", lambda _path: PAGES)
    return catalog.Model("lightonocr", tmp_path)


def write(model, rows):
    (model.folder / "truths.json").write_text(rows if isinstance(rows, str) else json.dumps(rows))
    return {"pages": "pages.pdf", "truths": "truths.json"}


def test_the_shipped_plan_and_pages_are_whole():
    model = catalog.find("lightonocr")
    plan = model.read("smoke")
    require_plan(plan, model.folder / "smoke.yaml")
    corpus = load_corpus(model, plan)
    assert len(corpus.pages) == len(corpus.truths) >= 8
    assert len(baseline_pages(plan, corpus, model.folder)) == len(plan["baseline"]["pages"])


@pytest.mark.parametrize("name", run.PLAN)
def test_a_plan_without_a_part_is_one_line(tmp_path, name):
    plan = copy.deepcopy(PLAN)
    *parents, last = name.split(".")
    holder = plan
    for part in parents:
        holder = holder[part]
    del holder[last]
    with pytest.raises(InputError, match=rf"found None as {name} in .*, need a value of type"):
        require_plan(plan, tmp_path / "smoke.yaml")


def test_truths_are_matched_to_pages_by_number(model):
    plan = write(model, [{"page": 2, "truth": "b"}, {"page": 1, "truth": "a"}])
    assert load_corpus(model, plan).truths == ["a", "b"]


@pytest.mark.parametrize("rows", ["", "{", [1], [{"page": 1}], [{"page": "x", "truth": "a"}]])
def test_truths_that_cannot_be_used_are_one_line(model, rows):
    with pytest.raises(InputError, match="that cannot be used"):
        load_corpus(model, write(model, rows))


@pytest.mark.parametrize("numbers", [[1], [1, 3], [1, 2, 3]])
def test_truths_for_other_pages_are_refused(model, numbers):
    rows = [{"page": number, "truth": "a"} for number in numbers]
    with pytest.raises(InputError, match="need one for each page"):
        load_corpus(model, write(model, rows))


@pytest.mark.parametrize("numbers", [[2], [1, 3], [0, 1], []])
def test_the_baseline_covers_the_demo_page_and_no_page_that_is_not_there(tmp_path, numbers):
    with pytest.raises(InputError, match="need page 1 and none past 2"):
        baseline_pages({"baseline": {"pages": numbers}}, CORPUS, tmp_path)
