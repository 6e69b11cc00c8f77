"""The one family of errors that a person is meant to read.

    DockError                 could not run; printed as one line, exit code 2
    +-- SettingsError         .env, a key file or a models/ folder is missing or wrong
    +-- InputError            a file that the person named cannot be used
    +-- Unreachable           the server does not answer, or not as an OpenAI API does

Every message says: found X, need Y, do Z.
"""

from __future__ import annotations


class DockError(Exception):
    """Could not run. The message is one line for a person."""


class SettingsError(DockError):
    """The installation's own files are missing or wrong."""


class InputError(DockError):
    """A file or value given by the person cannot be used."""


class Unreachable(DockError):
    """No usable answer from the server."""
