"""A Dask cluster on this machine: a scheduler and workers as processes of their own, over TLS."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Certificates:
    """An authority and one certificate of it, as PEM files."""

    ca: Path
    certificate: Path
    key: Path

    def options(self) -> list[str]:
        """As the commands of tacit and of Dask take them."""
        files = {"ca-file": self.ca, "cert": self.certificate, "key": self.key}
        return [word for name, path in files.items() for word in (f"--tls-{name}", str(path))]


def certify(folder: Path) -> Certificates:
    """Make an authority of our own, and a certificate for this machine."""
    folder.mkdir(parents=True)
    authority, ours = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    ca = _certificate("test authority", authority, None, authority)
    mine = _certificate("test cluster", ours, ca, authority)
    made = Certificates(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    made.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(mine.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        ours.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    made.key.chmod(0o600)
    return made


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    signing: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    local = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(local, critical=False)
        .sign(signing, hashes.SHA256())
    )


@dataclass
class Running:
    """A scheduler and its workers.

    Attributes:
        address: of the scheduler.
        security: options with its certificates.
        folder: of the workers' files.
        process: the scheduler.
        workers: processes, without a nanny that would replace them.
    """

    address: str
    security: list[str]
    folder: Path
    process: subprocess.Popen[str]
    workers: list[subprocess.Popen[str]] = field(default_factory=list)

    def add_worker(self, environment: Mapping[str, str] | None = None, *python: str) -> None:
        """Start a worker; it is there as soon as a client sees it."""
        command = [sys.executable, *python, "-m", "distributed.cli.dask_worker", self.address]
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", *self.security]
        with (self.folder / f"worker{len(self.workers)}.log").open("w") as log:
            self.workers.append(
                subprocess.Popen(
                    [*command, *options, "--local-directory", str(self.folder)],
                    cwd=self.folder,
                    env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    text=True,
                )
            )


@contextlib.contextmanager
def scheduler(folder: Path, certificates: Certificates | None) -> Iterator[Running]:
    """A scheduler on a free port, and the end of everything that belongs to it."""
    folder.mkdir(parents=True, exist_ok=True)
    scheme = "tcp" if certificates is None else "tls"
    security = [] if certificates is None else certificates.options()
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            *("--host", f"{scheme}://127.0.0.1:0", "--no-dashboard", *security),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        running = Running("", security, folder, process)
        try:
            running.address = _address(process, scheme)
            yield running
        finally:
            for each in (*running.workers, process):
                each.kill()
                each.wait()


def _address(process: subprocess.Popen[str], scheme: str) -> str:
    """What the scheduler says of itself."""
    assert process.stderr is not None
    end = time.monotonic() + 60
    said = ""
    while time.monotonic() < end:
        line = process.stderr.readline()
        said += line
        found = re.search(rf"Scheduler at:\s+({scheme}://\S+)", line)
        if found:
            return found[1]
        assert line, said
    raise AssertionError(said)
