"""Runs between real sites: keys, manifests, messages over mutual TLS, and recovery from crashes.

Owners agree on a `Manifest` with the `Card` of each; a site's process is `run` with `Options`;
`prepare` and `perform` rehearse a run with real processes on one machine; `write_bundle` signs what
a finished run guaranteed, and `verify_bundle` checks it. Inside, `agreement` lays
out a run, `member` takes a member's turns, and `messages` carries its messages. Needs
`tacit[deploy]`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.deploy.agreement.manifest import Manifest, Member, agreed, read_manifest
    from tacit.deploy.identity.certificates import create_authority
    from tacit.deploy.identity.keys import Card, Keys, create, load, renew
    from tacit.deploy.member.checking import Options
    from tacit.deploy.member.process import run
    from tacit.deploy.operate.bundle import write_bundle
    from tacit.deploy.operate.proposal import Review, propose, review
    from tacit.deploy.operate.rehearse import Rehearsal, perform, prepare
    from tacit.deploy.operate.report import write_report
    from tacit.deploy.operate.results import Outcome
    from tacit.deploy.operate.status import read_status
    from tacit.deploy.operate.verify import Verdict, Verified, verify_bundle

_MODULE = {
    "Options": "member.checking",
    "Outcome": "operate.results",
    "run": "member.process",
    "Card": "identity.keys",
    "Keys": "identity.keys",
    "create": "identity.keys",
    "create_authority": "identity.certificates",
    "load": "identity.keys",
    "renew": "identity.keys",
    "Manifest": "agreement.manifest",
    "Member": "agreement.manifest",
    "agreed": "agreement.manifest",
    "read_manifest": "agreement.manifest",
    "Review": "operate.proposal",
    "propose": "operate.proposal",
    "review": "operate.proposal",
    "Rehearsal": "operate.rehearse",
    "perform": "operate.rehearse",
    "prepare": "operate.rehearse",
    "read_status": "operate.status",
    "write_report": "operate.report",
    "write_bundle": "operate.bundle",
    "Verdict": "operate.verify",
    "Verified": "operate.verify",
    "verify_bundle": "operate.verify",
}

__all__ = [
    "Card",
    "Keys",
    "Manifest",
    "Member",
    "Options",
    "Outcome",
    "Rehearsal",
    "Review",
    "Verdict",
    "Verified",
    "agreed",
    "create",
    "create_authority",
    "load",
    "perform",
    "prepare",
    "propose",
    "read_manifest",
    "read_status",
    "renew",
    "review",
    "run",
    "verify_bundle",
    "write_bundle",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        from tacit.checks import absent

        raise absent(__name__, name, __all__)
    value = getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
