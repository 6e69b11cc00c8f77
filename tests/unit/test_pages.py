"""dock.pages: which pixels and bytes leave for the model, and what a bad file is told."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from dock.errors import InputError
from dock.pages import Page, chat_body, fit, load_pages


def write_pdf(path: Path, *sizes: tuple[float, float]) -> Path:
    document = pypdfium2.PdfDocument.new()
    for width, height in sizes:
        document.new_page(width, height)
    document.save(path)
    document.close()
    return path


def write_image(path: Path, size: tuple[int, int], mode: str = "RGB", colour: object = "white", **how: object) -> Path:
    Image.new(mode, size, colour).save(path, **how)
    return path


@pytest.mark.parametrize(
    ("points", "pixels"),
    [
        ((420, 560), (1155, 1540)),  # the stand-in's page
        ((595, 842), (1089, 1540)),  # A4: capped by the longest side
        ((842, 595), (1540, 1089)),  # the same, lying
        ((200, 300), (556, 834)),  # small: 200 DPI decides
        ((2000, 2000), (1540, 1540)),
    ],
)
def test_pdf_page_gets_200_dpi_or_the_longest_side(
    tmp_path: Path, points: tuple[float, float], pixels: tuple[int, int]
) -> None:
    [page] = load_pages(write_pdf(tmp_path / "a.pdf", points))
    assert (page.width, page.height) == pixels
    assert Image.open(io.BytesIO(page.data)).size == pixels
    assert page.mime == "image/png"


def test_fit_is_the_smaller_of_both_limits() -> None:
    assert fit(100, 100) == 200 / 72
    assert fit(1540, 770) == 1.0
    assert fit(420, 560, longest_edge=448) == 0.8


def test_pages_are_named_and_ordered(tmp_path: Path) -> None:
    write_pdf(tmp_path / "b.pdf", (100, 100), (100, 100))
    write_image(tmp_path / "a.png", (10, 20))
    write_image(tmp_path / "c.JPG", (30, 40), format="JPEG")
    (tmp_path / "notes.txt").write_text("not a page")
    pages = load_pages(tmp_path)
    assert [page.name for page in pages] == ["a.png", "b.pdf#1", "b.pdf#2", "c.JPG"]
    assert [page.mime for page in pages] == ["image/png", "image/png", "image/png", "image/jpeg"]


def test_progress_is_told_page_by_page(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    load_pages(write_pdf(tmp_path / "a.pdf", (10, 10), (10, 10)), progress=lambda *step: seen.append(step))
    assert seen == [("a.pdf", 1, 2), ("a.pdf", 2, 2)]


def test_small_image_is_sent_as_it_is(tmp_path: Path) -> None:
    path = write_image(tmp_path / "a.png", (1540, 3))
    [page] = load_pages(path)
    assert page.data == path.read_bytes()


@pytest.mark.parametrize(("name", "mime"), [("a.png", "image/png"), ("a.jpg", "image/jpeg")])
def test_large_image_is_shrunk_with_its_aspect(tmp_path: Path, name: str, mime: str) -> None:
    [page] = load_pages(write_image(tmp_path / name, (3080, 1000)))
    assert (page.width, page.height, page.mime) == (1540, 500, mime)
    assert Image.open(io.BytesIO(page.data)).size == (1540, 500)


def test_transparency_becomes_white_paper(tmp_path: Path) -> None:
    [page] = load_pages(write_image(tmp_path / "a.png", (2000, 10), "RGBA", (0, 0, 0, 0)))
    assert Image.open(io.BytesIO(page.data)).getpixel((5, 5)) == (255, 255, 255)


def test_orientation_tag_is_obeyed_when_an_image_is_shrunk(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees to see it upright
    [page] = load_pages(write_image(tmp_path / "a.jpg", (3080, 1540), exif=exif))
    assert (page.width, page.height) == (770, 1540)


ENCRYPTED = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    b"3 0 obj<</Filter/Standard/V 1/R 2/P -4/O<" + b"41" * 32 + b">/U<" + b"42" * 32 + b">>>endobj\n"
    b"trailer<</Root 1 0 R/Encrypt 3 0 R/ID[<00><00>]>>\n%%EOF"
)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.pdf", b"hello", "is no PDF, PNG or JPEG (5 bytes)"),
        ("a.pdf", b"", "is no PDF, PNG or JPEG (0 bytes)"),
        ("a.pdf", b"%PDF-1.4\ncut", "that pdfium cannot open"),
        ("a.pdf", ENCRYPTED, "encrypted"),
        ("a.png", b"\x89PNG\r\n\x1a\nrubbish", "broken image/png"),
        ("a.jpg", b"\xff\xd8\xffrubbish", "broken image/jpeg"),
    ],
)
def test_bad_file_is_named_in_one_line(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as caught:
        load_pages(tmp_path / name)
    message = str(caught.value)
    assert words in message
    assert str(tmp_path / name) in message
    assert "need" in message
    assert "\n" not in message


def test_missing_path_and_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found no .*nowhere"):
        load_pages(tmp_path / "nowhere")
    with pytest.raises(InputError, match="found no page in"):
        load_pages(tmp_path)


def test_one_bad_file_refuses_a_directory(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", (10, 20))
    (tmp_path / "b.pdf").write_bytes(b"no")
    with pytest.raises(InputError, match=r"b\.pdf"):
        load_pages(tmp_path)


def test_body_is_one_image_and_no_text() -> None:
    page = Page("a.png", b"\x00\xff", "image/png", 1, 1)
    body = json.loads(chat_body("m", page, max_tokens=7, stream=True, temperature=0, stream_options={"x": 1}))
    assert body == {
        "model": "m",
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AP8="}}],
            }
        ],
        "max_tokens": 7,
        "stream": True,
        "temperature": 0,
        "stream_options": {"x": 1},
    }
    assert base64.b64decode("AP8=") == page.data
