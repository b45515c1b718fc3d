"""What somebody may send in the place of a bundle, and what its verification says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.deploy.identity.keys import sign
from tacit.deploy.operate.archive import CONTENTS, CONTEXT, SIGNATURE, digests, packed
from tacit.deploy.operate.verify import Verdict, Verified, verify_bundle

Files = dict[str, bytes]


def resigned(files: Mapping[str, bytes], key: Ed25519PrivateKey, **change: Any) -> Files:
    """The files with the list, and its signature, that this key's owner would make of them."""
    contents = json.loads(files[CONTENTS]) | change
    others = {name: files[name] for name in files if name not in (CONTENTS, SIGNATURE)}
    contents["files"] = {name: digests(data) for name, data in sorted(others.items())}
    listed = json.dumps(contents).encode()
    return {**others, CONTENTS: listed, SIGNATURE: (sign(key, CONTEXT + listed) + "\n").encode()}


def problem_of(data: bytes | Files, folder: Path, **known: Any) -> str:
    """What is wrong with a bundle; nothing if it is sound."""
    found = verified(data, folder, **known)
    assert found.verdict is (Verdict.TAMPERED if found.problem else Verdict.VERIFIED)
    return found.problem


def verified(data: bytes | Files, folder: Path, **known: Any) -> Verified:
    """What the verification of a bundle says."""
    path = folder / "tried.zip"
    path.write_bytes(data if isinstance(data, bytes) else packed(data))
    return verify_bundle(path, **known)
