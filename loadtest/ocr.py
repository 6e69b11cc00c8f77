"""OCR under load: pages in, Markdown out, as many at a time as there are users.

    locust -f loadtest/ocr.py                                     web page on http://localhost:8089
    locust -f loadtest/ocr.py --headless -u 4 -r 2 -t 30s         without it; the exit code is the verdict
    locust -f loadtest/ocr.py --headless --pages book.pdf         own pages: a PDF, PNG, JPEG or a directory

Server and key come from .env; --host and --key-file overrule it. Each page is rendered and encoded once, before the
clock starts, as the model card says: 200 DPI, longest side 1540 px, one image a request, no text. Users are a closed
loop: the next page leaves when the last answer has ended.

One request goes out alone first, then the users come; the measuring window opens when each has had one answer.
Locust's statistics show a row for requests and, as METRIC, rows for TTFT, output tokens (time = ITL, req/s = tokens/s)
and pages (req/s = pages/s). The exact figures, to the formulas in loadtest/records.py, are printed at the end and lie
in reports/ocr-<time>/: report.html, summary.json, requests.jsonl (one raw record a request).

Exit code: 0 good, 1 a request failed, 2 could not run or nothing was measured.
"""

from __future__ import annotations

from typing import ClassVar

from locust import events

from loadtest.session import Session
from loadtest.user import StreamUser
from loadtest.workload import ocr_workload

SESSION = Session("ocr", "lightonocr", ocr_workload)
SESSION.listen(events)


class OcrUser(StreamUser):
    """Reads pages."""

    abstract = False
    session: ClassVar[Session] = SESSION
