"""When a checkpoint counts as whole, and what a run of site.yml ends with."""

import json
from typing import Any

import pytest
from ansible_filters import load

weights = load("weights")
report = load("report")

FILES = {"a.json": {"size": 1, "sha256": "aa" * 32}, "b.bin": {"size": 2, "sha256": "bb" * 32}}
PLACE = "/m/lightonocr/r1"
WHOLE = {"manifest.json": 9, "ready/a.json": 1, "ready/b.bin": 2}


@pytest.mark.parametrize(
    ("there", "complete"),
    [
        (WHOLE, True),
        (WHOLE | {"baseline/x": 5}, True),
        ({}, False),
        ({name: size for name, size in WHOLE.items() if name != "manifest.json"}, False),
        ({name: size for name, size in WHOLE.items() if name != "ready/b.bin"}, False),
        (WHOLE | {"ready/b.bin": 1}, False),
        ({"manifest.json": 9, "a.json": 1, "b.bin": 2}, False),
    ],
)
def test_a_checkpoint_is_whole_with_marker_and_sizes(there: dict[str, int], complete: bool) -> None:
    """A copy that was cut off has no marker; a truncated file has another size."""
    found = [{"path": f"{PLACE}/{name}", "size": size} for name, size in there.items()]
    assert weights.weights_complete(found, PLACE, FILES) is complete


def stat(name: str, **values: Any) -> dict[str, Any]:
    """One result of Ansible's stat module."""
    good = {"exists": True, "size": FILES[name]["size"], "checksum": FILES[name]["sha256"]}
    return {"item": name, "stat": good | values}


@pytest.mark.parametrize(
    ("sums", "faults"),
    [
        ([stat("a.json"), stat("b.bin")], []),
        ([stat("a.json"), {"item": "b.bin", "stat": {"exists": False}}], ["b.bin missing"]),
        ([stat("a.json", size=3), stat("b.bin")], ["a.json damaged"]),
        ([stat("a.json", checksum="cc" * 32), stat("b.bin", checksum="dd" * 32)], ["a.json damaged", "b.bin damaged"]),
    ],
)
def test_faults_of_a_source_are_named(sums: list[dict[str, Any]], faults: list[str]) -> None:
    """Every bad file by name."""
    found = weights.weights_faults(sums, FILES)
    assert len(found) == len(faults)
    assert all(text.startswith(start) for text, start in zip(found, faults, strict=True))


def smoke(rc: int, stdout: str = "", stderr: str = "") -> dict[str, Any]:
    """One result of running smoke."""
    return {"item": "lightonocr", "rc": rc, "stdout": stdout, "stderr": stderr}


BAD = json.dumps(
    {
        "checks": [
            {"evidence": [{"name": "two images", "verdict": "pass", "saw": "400"}]},
            {"evidence": [{"name": "character error rate", "verdict": "fail", "saw": "12.00%"}]},
        ]
    }
)


@pytest.mark.parametrize(
    ("result", "verdict", "why"),
    [
        (smoke(0, BAD), "good", ""),
        (smoke(1, BAD), "WRONG", "character error rate: 12.00%"),
        (smoke(2, "", "one\nfound no server, need one"), "not checked", "found no server, need one"),
        (smoke(2), "not checked", "exit code 2"),
        (smoke(130), "not checked", "exit code 130"),
    ],
)
def test_the_verdict_and_its_reason(result: dict[str, Any], verdict: str, why: str) -> None:
    """Only exit code 0 is good; the reason names the evidence, or the last line that smoke said."""
    assert report.verdicts([result]) == [{"model": "lightonocr", "verdict": verdict, "why": why}]


def test_the_table_has_a_row_for_each_model() -> None:
    """Model, target, URL, how to get the key, verdict, in columns."""
    env = "# a comment = no value\nTARGET=cpu\nDOCK_URL=http://127.0.0.1:8080\nKEYS_DIR=./state/keys\n"
    found = [{"model": "lightonocr", "verdict": "good"}, {"model": "x", "verdict": "WRONG"}]
    lines = report.result_table(found, env)
    assert [line.split() for line in lines[1:]] == [
        ["lightonocr", "cpu", "http://127.0.0.1:8080", "cat", "./state/keys/user", "good"],
        ["x", "cpu", "http://127.0.0.1:8080", "cat", "./state/keys/user", "WRONG"],
    ]
    assert len({line.index("cat" if "cat" in line else "key") for line in lines}) == 1
