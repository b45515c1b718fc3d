"""Running pieces of work on an existing Dask cluster."""

from __future__ import annotations

import functools
import hashlib
import importlib
import logging
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._engine.source_code import code_of
from tacit._jobs.piece import Answer, Piece
from tacit._jobs.store import name_of
from tacit.arguments import checked
from tacit.data.loaders import matching
from tacit.errors import ConfigError, RuntimeFailure

if TYPE_CHECKING:
    from distributed import Client, Future

_SECONDS = 15.0
"""How long an address or a first worker is waited for."""

_ALIKE = ("tacit", "jax", "jaxlib", "equinox", "numpy", "scipy", "pandas", "dp-accounting")
"""Packages of which workers must have the same version: numbers and answers depend on them."""


@checked(ConfigError)
@dataclass(frozen=True)
class Cluster:
    """A running Dask cluster, reached through its scheduler.

    Anyone who can reach a scheduler may run code on its workers and read what is sent there, so a
    cluster beyond this machine should have certificates of its own authority (CA).

    Attributes:
        address: "tls://host:port", or "tcp://host:port" for a cluster without certificates, to
            which everything travels unencrypted.
        ca: certificate of the cluster's authority, PEM; only with tls.
        certificate: certificate of this client, PEM; only with tls.
        key: key of this client, PEM; only with tls.

    Raises:
        ConfigError: an address of another form, or certificates that are missing, superfluous or
            not files.
    """

    address: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        scheme, mark, rest = self.address.partition("://")
        if not mark or scheme not in ("tls", "tcp") or ":" not in rest:
            raise ConfigError(
                f"cluster={self.address!r} must be tls://host:port or tcp://host:port, as the "
                "scheduler prints it when it starts"
            )
        files = {"ca": self.ca, "certificate": self.certificate, "key": self.key}
        absent = [name for name, path in files.items() if path is None]
        if scheme == "tls" and absent:
            raise ConfigError(
                f"cluster={self.address!r} needs certificates; give "
                f"{', '.join(f'{name}=' for name in absent)} too"
            )
        if scheme == "tcp" and len(absent) < len(files):
            raise ConfigError(
                f"cluster={self.address!r} uses no certificates; begin the address with tls://, or "
                "leave the certificates out"
            )
        for name, path in files.items():
            if path is not None and not path.is_file():
                raise ConfigError(
                    f"{name}={str(path)!r} is not a file; give the path of a PEM file"
                )

    @property
    def open(self) -> bool:
        """Whether everything travels unencrypted."""
        return self.address.startswith("tcp://")


_Names = tuple[str, Sequence[str]]
"""Name of a path, and of the files that it stands for."""


def on_cluster(pieces: Sequence[Piece], cluster: Cluster) -> Iterator[tuple[Piece, Answer]]:
    """Pieces with their answers, as they end; see `tacit._jobs.run`.

    A piece whose worker dies is restarted on another one.
    """
    if not pieces:
        return
    with _connected(cluster) as client:
        _check_workers(client, cluster, {piece.work.__module__ for piece in pieces})
        yield from _finished(client, cluster, pieces)


def _finished(
    client: Client, cluster: Cluster, pieces: Sequence[Piece]
) -> Iterator[tuple[Piece, Answer]]:
    from distributed import KilledWorker, as_completed

    held: dict[str, Future[bytes]] = {}
    running: dict[Future[Answer], Piece] = {}
    try:
        for piece in pieces:
            running[_submitted(client, piece, held)] = piece
        for future in as_completed(list(running), loop=client.loop, raise_errors=False):
            piece = running.pop(future)
            if future.status == "finished":
                yield piece, future.result()
                continue
            error = future.exception() if future.status == "error" else None
            if isinstance(error, KilledWorker):
                raise RuntimeFailure(
                    f"the workers that ran {piece.label[:200]} died, one after the other, perhaps "
                    "because memory ran out; what had ended is stored. Give the workers more "
                    "memory and run the same command again."
                ) from error
            if error is not None:
                raise error
            raise RuntimeFailure(
                f"the cluster at {cluster.address} was lost; what had ended is stored. Run the "
                "same command again when it is back."
            )
    finally:
        client.cancel([*running, *held.values()])


def _submitted(client: Client, piece: Piece, held: dict[str, Future[bytes]]) -> Future[Answer]:
    name = name_of(piece)
    files = {key: matching(path) for key, path in piece.inputs.items()}
    names = {key: (piece.inputs[key].name, [each.name for each in files[key]]) for key in files}
    contents: dict[str, Any] = {
        key: [_sent(client, each, held) for each in files[key]] for key in files
    }
    arguments = dict(piece.arguments)
    return client.submit(
        _perform,
        (piece.work, arguments, piece.resumes, names, name),
        **contents,
        key=f"tacit-{name}",
        pure=False,
    )


def _sent(client: Client, path: Path, held: dict[str, Future[bytes]]) -> Future[bytes]:
    """A file's contents, sent once; as a task, since scattered data die with their worker."""
    contents = path.read_bytes()
    key = f"tacit-file-{hashlib.sha256(contents).hexdigest()}"
    if key not in held:
        with warnings.catch_warnings():
            # a table of records may well be larger than Dask expects of a task
            warnings.filterwarnings("ignore", "Sending large graph")
            held[key] = client.submit(bytes, contents, key=key, pure=False)
    return held[key]


def _perform(
    task: tuple[Callable[..., Answer], Mapping[str, Any], bool, Mapping[str, _Names], str],
    **contents: Sequence[bytes],
) -> Answer:
    """Run a piece on a worker, if it has the same code as the client."""
    work, arguments, resumes, names, name = task
    inputs = {key: _kept(names[key], content) for key, content in contents.items()}
    if name_of(Piece(work, arguments, 1.0, inputs=inputs)) != name:
        raise ConfigError(
            "a worker runs other code or other versions of libraries than this machine, so its "
            "answers would be others; install the same there and restart it"
        )
    given = {**arguments, **{key: str(path) for key, path in inputs.items()}}
    if not resumes:
        return work(**given)
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        return work(**given, checkpoint=str(Path(folder) / "checkpoint"))


def _kept(names: _Names, contents: Sequence[bytes]) -> Path:
    """Files with these contents, shared by all pieces that this process runs; their path."""
    path, files = names
    whole = hashlib.sha256()
    for name, content in zip(files, contents, strict=True):
        whole.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    folder = _folder() / whole.hexdigest()
    folder.mkdir(exist_ok=True)
    for name, content in zip(files, contents, strict=True):
        if not (folder / name).exists():
            # a draft beside the folder, where no pattern finds it
            draft = folder.with_name(f"{threading.get_ident()}")
            draft.write_bytes(content)
            draft.replace(folder / name)
    return folder / path


def _folder() -> Path:
    """A folder of this process within its worker's, which is deleted with the worker."""
    from distributed import get_worker

    return _folder_in(get_worker().local_directory)


@functools.cache
def _folder_in(directory: str) -> Path:
    """The same; in one process several workers may run, at once or one after the other."""
    return Path(tempfile.mkdtemp(prefix="tacit-", dir=directory))


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Client]:
    try:
        from distributed import Client, Security
    except ImportError as error:
        raise ConfigError(
            f"cluster={cluster.address!r} needs the package distributed; install it with: "
            "pip install 'tacit[cluster]'"
        ) from error

    security = None
    if not cluster.open:
        security = Security(
            tls_ca_file=str(cluster.ca),
            tls_client_cert=str(cluster.certificate),
            tls_client_key=str(cluster.key),
            require_encryption=True,
        )
    with _quiet(), warnings.catch_warnings():
        # versions are compared below, with a remedy
        warnings.filterwarnings("ignore", "(?s).*Mismatched versions found")
        try:
            client = Client(
                cluster.address, security=security, timeout=_SECONDS, set_as_default=False
            )
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(
                f"cluster={cluster.address!r} cannot be reached ({_reason(error)}); check that the "
                "scheduler runs and that address and certificates are its own"
            ) from error
    with _quiet(), client:
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress what Dask prints about a lost connection: this module reports it, with a remedy."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _reason(error: BaseException) -> str:
    """The innermost reason, on one line: the errors around it are about retrying."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error) or type(error).__name__).splitlines()[0]


def _check_workers(client: Any, cluster: Cluster, modules: set[str]) -> None:
    """Refuse workers that are missing, or that would compute something else."""
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError as error:
        raise ConfigError(
            f"cluster={cluster.address!r} has no workers; start some with `dask worker` and run "
            "the same command again"
        ) from error
    versions = client.get_versions(packages=_ALIKE)
    mine = {**versions["client"]["packages"]}
    mine["python"] = _minor(mine["python"])
    parties = {"the scheduler": versions["scheduler"]} | {
        f"worker {address}": found for address, found in versions["workers"].items()
    }
    for who, found in parties.items():
        theirs = {**found["packages"], "python": _minor(found["packages"]["python"])}
        if theirs["tacit"] is None:
            raise ConfigError(
                f"{who} of {cluster.address} has no tacit; install tacit {mine['tacit']} there "
                "with the extra 'cluster' and restart it"
            )
        for package in ("python", "distributed", *_ALIKE):
            if theirs[package] != mine[package]:
                raise ConfigError(
                    f"{who} of {cluster.address} has {package} {theirs[package] or 'missing'}, and "
                    f"this machine {mine[package]}; install the same version on both, since "
                    "answers depend on it"
                )
    for module in modules:
        expected = code_of(module)
        for address, found in client.run(_code, module, on_error="return").items():
            if isinstance(found, Exception):
                raise ConfigError(
                    f"worker {address} of {cluster.address} cannot load tacit "
                    f"({_reason(found)}); install the same there and restart it"
                ) from found
            if found != expected:
                raise ConfigError(
                    f"worker {address} of {cluster.address} has tacit {mine['tacit']} like this "
                    "machine, but with other code; install the same there and restart it"
                )


def _code(module: str) -> str:
    """The digest of a module's code on a worker."""
    importlib.import_module(module)
    return code_of(module)


def _minor(version: str) -> str:
    """`3.11` of `3.11.9.final.0`."""
    return ".".join(version.split(".")[:2])
