"""From a PDF, an image or a directory of these to page images and ready-made request bodies.

The rules are those of LightOnOCR's model card: 200 DPI, longest side at most 1540 px, aspect kept, one image a request
and no text beside it. Everything here runs before a clock starts: pages are encoded once and kept as bytes.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
from PIL import Image, ImageOps

from dock.errors import InputError

LONGEST_EDGE = 1540  # px
DPI = 200
SUFFIXES = (".pdf", ".png", ".jpg", ".jpeg")
SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}

Progress = Callable[[str, int, int], None]
"""Called as progress(file name, pages done, pages in this file)."""


@dataclass(frozen=True)
class Page:
    """One page image as it is sent. `name` is `file.pdf#1` (pages count from 1) or the image's file name."""

    name: str
    data: bytes
    mime: str
    width: int  # px
    height: int  # px


def load_pages(
    path: Path, *, longest_edge: int = LONGEST_EDGE, dpi: int = DPI, progress: Progress | None = None
) -> list[Page]:
    """All pages under `path`: a PDF, a PNG, a JPEG, or a directory of these (sorted by name, not recursive).

    Raises InputError when there is nothing to read or when a file is not what it should be; one bad file refuses all.
    """
    pages: list[Page] = []
    for file in _files(path):
        pages.extend(_read(file, longest_edge, dpi, progress))
    return pages


def fit(width: float, height: float, *, longest_edge: int = LONGEST_EDGE, dpi: int = DPI) -> float:
    """Pixels per point for a PDF page of `width` x `height` points: min(dpi / 72, longest_edge / longest side)."""
    return min(dpi / 72, longest_edge / max(width, height))


def chat_body(model: str, page: Page, *, max_tokens: int, stream: bool, **fields: Any) -> bytes:
    """The JSON bytes of one chat completion request for `page`: one image, no text, plus `fields` as they are."""
    url = f"data:{page.mime};base64,{base64.b64encode(page.data).decode('ascii')}"
    content = [{"type": "image_url", "image_url": {"url": url}}]
    body = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "max_tokens": max_tokens,
        "stream": stream,
        **fields,
    }
    return json.dumps(body).encode("ascii")


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"found no {path}, need a PDF, a PNG, a JPEG or a directory of these")
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and file.suffix.lower() in SUFFIXES)
    if not files:
        raise InputError(f"found no page in {path}, need files named *.pdf, *.png, *.jpg or *.jpeg")
    return files


def _read(path: Path, longest_edge: int, dpi: int, progress: Progress | None) -> Iterator[Page]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"found {path} unreadable ({error.strerror}), need read access to it") from None
    for signature, mime in SIGNATURES.items():
        if data.startswith(signature):
            yield _image(path, data, mime, longest_edge)
            return
    # Readers accept some bytes before the header; the PDF standard's own notes ask them to look at the first 1024.
    if b"%PDF-" not in data[:1024]:
        raise InputError(f"found {path} that is no PDF, PNG or JPEG ({len(data)} bytes), need one of these")
    yield from _pdf(path, data, longest_edge, dpi, progress)


def _pdf(path: Path, data: bytes, longest_edge: int, dpi: int, progress: Progress | None) -> Iterator[Page]:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        # The library puts its own reason in brackets; a password is the one that a person can do something about.
        if "password" in str(error).lower():
            raise InputError(f"found {path} encrypted, need a PDF that opens without a password") from None
        raise InputError(f"found {path} that pdfium cannot open ({error}), need an intact PDF") from None
    try:
        if len(document) == 0:
            raise InputError(f"found {path} without a page, need at least one")
        document.init_forms()  # without this the values of form fields stay invisible
        for index in range(len(document)):
            yield _pdf_page(document, index, path, longest_edge, dpi)
            if progress:
                progress(path.name, index + 1, len(document))
    finally:
        document.close()


def _pdf_page(document: pypdfium2.PdfDocument, index: int, path: Path, longest_edge: int, dpi: int) -> Page:
    try:
        page = document[index]
        width, height = page.get_size()
        # pdfium rounds sides up; the margin keeps 1540.0000000002 from becoming 1541.
        scale = fit(width, height, longest_edge=longest_edge, dpi=dpi) * (1 - 1e-9)
        image = page.render(scale=scale).to_pil()
        page.close()
    except (pypdfium2.PdfiumError, ZeroDivisionError) as error:
        raise InputError(f"found {path} with a broken page {index + 1} ({error}), need an intact PDF") from None
    return _encode(f"{path.name}#{index + 1}", image, "image/png")


def _image(path: Path, data: bytes, mime: str, longest_edge: int) -> Page:
    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"found {path} that is a broken {mime} ({error}), need an intact image") from None
    if max(image.size) <= longest_edge:
        return Page(path.name, data, mime, image.width, image.height)
    # An image that is encoded anew loses its orientation tag, so it is turned upright first.
    upright = _flat(ImageOps.exif_transpose(image))
    upright.thumbnail((longest_edge, longest_edge), Image.Resampling.BICUBIC)
    return _encode(path.name, upright, mime)


def _flat(image: Image.Image) -> Image.Image:
    """`image` as RGB on white paper: transparency would otherwise turn black."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    paper = Image.new("RGB", layer.size, "white")
    paper.paste(layer, mask=layer.getchannel("A"))
    return paper


def _encode(name: str, image: Image.Image, mime: str) -> Page:
    buffer = io.BytesIO()
    if mime == "image/png":
        image.save(buffer, "PNG", compress_level=1)  # lossless; higher levels cost time and save little on text
    else:
        image.save(buffer, "JPEG", quality=95, subsampling=0)
    return Page(name, buffer.getvalue(), mime, image.width, image.height)
