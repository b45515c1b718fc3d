"""Diagnosis: name, address, port, certificate, key, access list, clock and version.

A refused connection shows as silence, on purpose. So a member's own machine tries every step
separately, from reading its keys to being answered by a neighbour's running agent, and reports
which one fails and what to do. It reads what `--dry-run` reads, and releases nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509

from tacit._engine.environment import versions
from tacit.deploy.agreement.manifest import Manifest, read_manifest
from tacit.deploy.agreement.own import misfits
from tacit.deploy.agreement.trial import simulated
from tacit.deploy.identity.certificates import common_name
from tacit.deploy.identity.keys import WARN_DAYS, Card, Keys, load
from tacit.deploy.member.checking import Options, check
from tacit.deploy.member.neighbours import linked
from tacit.deploy.messages.address import host_and_port
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.handshake import Question, read_hello
from tacit.deploy.messages.relaying import passed
from tacit.deploy.messages.transport import Transport
from tacit.errors import EnvironmentMismatch, TacitError, TransportError, WireError

CLOCK_SECONDS = 60.0
"""By how much clocks may be apart before it is said."""

_SECONDS = 4.0


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        what: subject of the check, in a few words.
        good: whether the check passed; `None` if it could not be made.
        told: result in words, and what to do.
        later: whether the reason may be that a neighbour has not been started yet.
        busy: whether something, perhaps this member's own agent, prevents a start.
    """

    what: str
    good: bool | None
    told: str
    later: bool = False
    busy: bool = False


def examine(options: Options) -> Iterator[Finding]:
    """Make all checks, one after the other.

    Args:
        options: options that `tacit agent` would be given.
    """
    try:
        keys = load(options.keys)
    except TacitError as error:
        yield Finding("keys", False, str(error))
        return
    yield Finding("keys", True, f"{keys.card.name}, fingerprint {keys.card.fingerprint()}")
    yield _own_certificate(keys)
    yield _writable(keys)
    try:
        manifest = read_manifest(options.manifest)
        number = manifest.number(keys.card.name)
    except TacitError as error:
        yield Finding("manifest", False, str(error))
        return
    yield Finding("manifest", True, f"run {manifest.run.hex()[:12]}, compare it with the others'")
    subject = "agreement"
    try:
        held = manifest.source(options.manifest.parent).held
        subject = f"agreement and {held.plural}"
        check(options)
    except TacitError as error:
        yield Finding(subject, False, str(error))
    else:
        yield Finding(subject, True, f"signed by everybody; {held.declared}")
    yield from _own_records(manifest, number, options.data)
    listens = manifest.coordinator is None or number == len(manifest.agents)
    bound = _own_address(keys.card) if listens else Finding("own address", True, "dials out only")
    yield bound
    around = linked(manifest, number)
    reachable: list[int] = []
    for other in around:
        card = manifest.members[other].card
        if not card.address:
            yield Finding(card.name, None, "dials this member; start it and see who comes")
            continue
        finding = _reached(card, keys)
        yield finding
        if finding.good:
            reachable.append(other)
    if reachable and bound.good:
        yield from _greeted(manifest, keys, number, around, reachable, listens)


def _own_records(manifest: Manifest, number: int, data: Path | None) -> Iterator[Finding]:
    """Findings that only the owner may see: a start does not depend on them."""
    if data is None:
        return
    try:
        told = misfits(manifest, data)
        failed = simulated(manifest, number, data)
    except TacitError:  # reported above
        return
    if failed is None:
        yield Finding("each record", not told, told or "fits the study")
    else:
        yield Finding("simulator", not failed, failed or "answers at the start")


def _own_certificate(keys: Keys) -> Finding:
    what, left = "own certificate", keys.days_left()
    certificate = x509.load_pem_x509_certificate(keys.certificate.read_bytes())
    authority = x509.load_pem_x509_certificate(keys.card.authority.encode())
    if (ahead := keys.hours_until()) > 0:
        return Finding(what, False, f"begins in {ahead:.1f} hours: this machine's clock is behind")
    if left <= 0:
        return Finding(what, False, f"ended {-left:.1f} days ago; renew it with {keys.renewal}")
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # the library raises several kinds
        return Finding(what, False, f"is not signed by the authority of its card; {keys.renewal}")
    if common_name(certificate.subject) != keys.card.name:
        return Finding(
            what, False, f"is of {common_name(certificate.subject)!r} and not of {keys.card.name!r}"
        )
    soon = f"; renew it with {keys.renewal}" if left < WARN_DAYS else ""
    return Finding(what, True, f"good for {left:.0f} days{soon}")


def _writable(keys: Keys) -> Finding:
    """Whether a run can record beside the keys which state serves it."""
    what, folder = "folder of keys", keys.folder / "runs"
    place = folder if folder.exists() else keys.folder
    if os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return Finding(what, True, "a run can be noted in it")
    return Finding(
        what,
        False,
        f"{folder} cannot be written by this user, and has to hold which state serves a run; make "
        "it, and make it writable (ReadWritePaths= in a systemd unit, a mount of its own in a "
        "container)",
    )


def _own_address(card: Card) -> Finding:
    what = "own address"
    host, port = host_and_port(card.address)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return Finding(what, False, f"the name {host!r} is not known here ({error.strerror})")
    family, kind, protocol, _, place = found[0]
    with socket.socket(family, kind, protocol) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(place)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return Finding(
                    what,
                    None,
                    f"port {port} is in use: by this member's running agent, or by something else",
                    busy=True,
                )
            if error.errno == errno.EADDRNOTAVAIL:
                return Finding(
                    what,
                    False,
                    f"{host} ({place[0]}) is not an address of this machine; new keys need "
                    "`tacit keys new --address` with one that is",
                )
            return Finding(what, False, f"port {port} cannot be listened at: {error.strerror}")
    return Finding(what, True, f"{card.address} can be listened at")


def _reached(card: Card, keys: Keys) -> Finding:
    """Whether a neighbour can be reached at its address, tested by a handshake."""
    host, port = host_and_port(card.address)
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return Finding(card.name, False, f"the name {host!r} is not known here ({error.strerror})")
    try:
        connection = socket.create_connection((host, port), _SECONDS)
    except ConnectionRefusedError:
        return Finding(
            card.name,
            False,
            f"nobody listens at port {port} of {host}: its agent is not running, or has another "
            "port in its card",
            later=True,
        )
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        return Finding(
            card.name, False, f"{host}:{port} cannot be reached ({why}): address, route or firewall"
        )
    with connection:
        return _shaken(connection, card, keys, host)


def _shaken(connection: socket.socket, card: Card, keys: Keys, host: str) -> Finding:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=card.authority)
    context.load_cert_chain(keys.certificate, keys.private)
    try:
        with context.wrap_socket(connection, server_hostname=host) as secured:
            shown = secured.getpeercert(binary_form=True)
            name = common_name(x509.load_der_x509_certificate(shown or b"").subject)
            if name != card.name:
                return Finding(
                    card.name, False, f"{name!r} answers at {card.address}; is the address right?"
                )
            secured.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                # a rejection of this member's certificate arrives only now
                secured.recv(1)
    except ssl.SSLCertVerificationError as error:
        reasons = {
            9: "its certificate is not valid yet: one of the two clocks is wrong",
            10: "its certificate has ended, or this machine's clock is ahead",
            18: "its certificate is signed by another authority than its card's: is the card old?",
            19: "its certificate is signed by another authority than its card's: is the card old?",
            20: "its certificate is signed by another authority than its card's: is the card old?",
            62: f"its certificate is not for {host}",
            64: f"its certificate is not for {host}",
        }
        told = reasons.get(error.verify_code, error.verify_message)
        return Finding(card.name, False, told)
    except ssl.SSLError as error:
        return Finding(
            card.name,
            False,
            f"refused this member's certificate ({error.reason}): its manifest has an older card "
            "of this member, the certificate has ended, or its clock is wrong",
        )
    except OSError as error:
        return Finding(card.name, False, f"ended the connection ({error}): is it a tacit agent?")
    return Finding(card.name, True, "reached, and its certificate is right")


def _greeted(
    manifest: Manifest,
    keys: Keys,
    number: int,
    around: list[int],
    reachable: list[int],
    listens: bool,
) -> Iterator[Finding]:
    """Whether running agents answer, which requires matching access list, keys and run."""
    questions = {other: Question(other, number) for other in reachable}
    names = {other: question.key() for other, question in questions.items()}
    if manifest.relayed:
        names = {other: passed(other, number, key) for other, key in names.items()}
    answers: dict[int, bytes] = {}
    came = threading.Condition()

    def accept(sender: int, key: str, data: bytes) -> None:
        if names.get(sender) == key:
            with came:
                answers.setdefault(sender, data)
                came.notify_all()

    cards = {other: manifest.members[other].card for other in around}
    with TemporaryDirectory() as folder:
        try:
            transport = Transport(
                Endpoint(
                    keys,
                    manifest.run.hex(),
                    number,
                    cards,
                    Path(folder),
                    listen=listens,
                    serve=lambda key: None,
                    accept=accept,
                    apart=manifest.relayed,
                )
            )
        except TransportError as error:
            yield Finding("transport", False, str(error))
            return
        ends = time.monotonic() + 2 * _SECONDS
        while time.monotonic() < ends and len(answers) < len(reachable):
            for other in set(reachable) - set(answers):
                transport.request(other, [names[other]])
            with came:
                came.wait(0.5)
        transport.close()
    for other in reachable:
        yield _greeting(manifest, questions[other], answers.get(other))


def _greeting(manifest: Manifest, question: Question, data: bytes | None) -> Finding:
    card = manifest.members[question.asked].card
    what = f"{card.name}, its agent"
    if data is None:
        return Finding(
            what,
            False,
            "does not answer: it runs another manifest (compare run ids), or its access list does "
            "not have this member",
        )
    try:
        hello = read_hello(data, question, manifest.run, card)
    except EnvironmentMismatch as error:
        return Finding(what, False, str(error))
    except WireError as error:
        return Finding(what, False, f"{error}: its identity is another than the manifest's")
    apart = hello.time - time.time()
    if abs(apart) > CLOCK_SECONDS:
        return Finding(
            what,
            False,
            f"its clock is {abs(apart):.0f} seconds {'ahead' if apart > 0 else 'behind'}; set both "
            "by a time server",
        )
    mine = versions()
    other_versions = [
        f"{name} {hello.versions.get(name)} there, {mine[name]} here"
        for name in ("jax", "numpy")
        if name in mine and hello.versions.get(name) != mine[name]
    ]
    if other_versions:
        return Finding(what, False, f"has other versions: {'; '.join(other_versions)}")
    return Finding(what, True, f"answers, is in round {hello.round + 1}, and keeps the same time")
