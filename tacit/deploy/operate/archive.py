"""The archive of a bundle: equal contents are equal bytes.

It is a zip file whose files are stored as they are, in order and without dates. So whoever reads it
packs the files again and compares, and no byte can be changed unseen, not even between the files.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.deploy.files import why
from tacit.errors import ConfigError

FORMAT = "tacit-bundle-1"

CONTENTS, SIGNATURE = "bundle.json", "bundle.sig"
"""List of all other files with their digests, and the signature over it."""

CONTEXT = b"tacit bundle 1\n"
"""What is signed before the list, so that the signature says what it is for."""

README = """\
This bundle shows what a run of tacit between sites guaranteed, as {name} has it.

  report.html         everything on one page; open it in a browser, offline
  guarantee.json      what is protected, from whom, at which epsilon and delta, and who proved it
  study.toml          what was computed
  manifest.toml       what all members agreed to and signed, the study included
  ledger.json         what was charged to the privacy budget for this run, and for no other
  versions.json       versions of the software
  result.json         how the run ended
  all others          the answer, as it was released
  bundle.json         SHA-256 of every file
  bundle.sig          Ed25519 signature in base64 over the line "tacit bundle 1", a line feed, and
                      bundle.json; the key is signing_key of {name} in manifest.toml

Verify it, with the fingerprint that {name} told you over another channel:

  tacit verify FILE --fingerprint "XXXX XXXX ..."
"""
"""Contents of `README.txt`, for the name of a member."""

PRIVATE = ("round_seconds", "epsilon_of_account")
"""What a member's `result.json` has for its owner alone."""

_WRITES = "`tacit bundle` writes one"

LARGEST = 1 << 28
"""Bytes of a bundle, at most."""

_MOST, _DIRECTORY = 64, 1 << 14
"""Files of a bundle and bytes of the directory of its archive, at most."""

_END = struct.Struct("<4s4H2LH")
"""End of a zip file without a comment."""

_FORMATS = re.compile(r"tacit-bundle-\d{1,4}")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Tampered(Exception):
    """A bundle in which something is not as it was signed; the message is a clause."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """Files as the bytes of an archive.

    Args:
        files: contents of each file, by name.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            about = zipfile.ZipInfo(name)  # of 1980, as every file of a zip without a date
            about.create_system, about.external_attr = 3, 0o644 << 16
            archive.writestr(about, files[name])
    return buffer.getvalue()


def unpacked(path: Path) -> dict[str, bytes]:
    """The files of a bundle, by name, each with the digest that the list has; nothing is written.

    Args:
        path: path of the bundle.

    Raises:
        ConfigError: there is no such file, it is not a bundle, or one of a later format.
        Tampered: a file is missing, added or changed, or a byte outside of the files.
    """
    data = _bytes(path)
    _check_end(data)
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if not {CONTENTS, SIGNATURE} & set(archive.namelist()):
                raise ConfigError(f"{path} is not a bundle: it holds no {CONTENTS}; {_WRITES}")
            if sum(about.compress_size for about in archive.infolist()) > len(data):
                raise Tampered("its files overlap")
            for about in archive.infolist():
                _admit(about, files)
                try:
                    files[about.filename] = archive.read(about)
                except zipfile.BadZipFile as error:
                    raise Tampered(f"{about.filename} was changed") from error
    # what a damaged archive makes zipfile raise
    except (
        *(zipfile.BadZipFile, zipfile.LargeZipFile, struct.error),
        *(OSError, EOFError, RuntimeError, ValueError, OverflowError),
    ) as error:
        raise Tampered("the archive is damaged") from error
    _check_digests(files, path)
    if packed(files) != data:
        raise Tampered(
            "bytes outside of its files were changed, or another program packed it again; ask for "
            "the file as `tacit bundle` wrote it"
        )
    return files


def document(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """A JSON file of a bundle, read as every reader would.

    Args:
        files: files of the bundle, by name.
        name: name of the file.

    Raises:
        Tampered: it is missing, or is not one JSON object with every key once.
    """
    if name not in files:
        raise Tampered(f"{name} is missing")
    try:
        found = json.loads(
            files[name].decode(), object_pairs_hook=_unique, parse_constant=_no_number
        )
        json.dumps(found, ensure_ascii=False).encode()  # refuses half a character
    # numbers of too many digits and text that is not UTF-8 are ValueErrors, too
    except (ValueError, RecursionError) as error:
        raise Tampered(f"{name} cannot be read") from error
    if not isinstance(found, dict):
        raise Tampered(f"{name} cannot be read")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a key that is there twice, readers take one or the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def digests(data: bytes) -> dict[str, Any]:
    """Size and SHA-256 of a file, as the list has them."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise ConfigError(f"{path} has {size:,} bytes, and a bundle at most {LARGEST:,}")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({why(error)}); check the path") from error
    if not zipfile.is_zipfile(io.BytesIO(data)) and not data.startswith(b"PK"):
        raise ConfigError(f"{path} is not a bundle; {_WRITES}")
    return data


def _check_end(data: bytes) -> None:
    """Refuse an archive of many files before its directory is read."""
    try:
        sign, _, _, _, count, size, _, comment = _END.unpack(data[-_END.size :])
    except struct.error as error:
        raise Tampered("the archive is damaged") from error
    longer = data[-_END.size - 20 : -_END.size].startswith(b"PK\6\7")
    if sign != b"PK\5\6" or comment or longer or count > _MOST or size > _DIRECTORY:
        raise Tampered("the archive is cut off, or has more than `tacit bundle` writes")


def _admit(about: zipfile.ZipInfo, files: Mapping[str, bytes]) -> None:
    """Refuse what no bundle has, before it is read."""
    stored = about.compress_type == zipfile.ZIP_STORED and about.file_size == about.compress_size
    if not stored or not _NAME.fullmatch(about.filename):
        raise Tampered("it holds a file that `tacit bundle` does not write")
    if about.filename in files:
        raise Tampered(f"it holds {about.filename} twice")


def _check_digests(files: Mapping[str, bytes], path: Path) -> None:
    for name in (CONTENTS, SIGNATURE):
        if name not in files:
            raise Tampered(f"{name} is missing")
    contents = document(files, CONTENTS)
    listed, known = contents.get("files"), contents.get("format")
    if known != FORMAT and isinstance(known, str) and _FORMATS.fullmatch(known):
        raise ConfigError(
            f"{path} has the format {known!r}, and this version of tacit reads {FORMAT!r}; verify "
            f"it with the version that wrote it ({contents.get('tacit')})"
        )
    if known != FORMAT or not isinstance(listed, dict):
        raise Tampered(f"{CONTENTS} was changed")
    there = set(files) - {CONTENTS, SIGNATURE}
    if missing := sorted(set(listed) - there):
        raise Tampered(f"{', '.join(missing)} is missing")
    if added := sorted(there - set(listed)):
        raise Tampered(f"{', '.join(added)} was added: the signed list does not name it")
    for name in sorted(there):
        if listed[name] != digests(files[name]):
            raise Tampered(f"{name} was changed: its digest is not that of the signed list")
