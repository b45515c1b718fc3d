"""What a bundle says, computed again from the manifest that all members signed."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from tacit import __version__
from tacit.deploy.agreement.declared import Declared, check_secure, declared
from tacit.deploy.agreement.manifest import Manifest, check_runnable
from tacit.deploy.operate.archive import PRIVATE, README, Tampered, document
from tacit.deploy.operate.finished import MANIFEST, Finished
from tacit.deploy.operate.report import REPORT, render_report
from tacit.deploy.operate.results import Outcome, answer_files, guarantee_document
from tacit.errors import PrivacyError
from tacit.method.citation import papers_of
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.spending import GRID_ERROR
from tacit.study.fitted import MODEL, NAME, fitted, fitted_model

MODEL_FILE = "model.npz"

_LAST_DIGITS = 1e-6
"""Relative tolerance between numbers that two machines compute from the same ones."""

_AROUND = 1 << 12
"""Bytes of a file of NumPy beside its numbers, at most."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_SCRIPTS = re.compile(r"<script\b.*?</script>|<meta http-equiv[^>]*>", re.DOTALL)


class NotRecomputed(Exception):
    """What a bundle says could not be computed again here; the message is a clause."""


@dataclass(frozen=True, eq=False)
class Rerun:
    """A run laid out again from the manifest in a bundle.

    Attributes:
        run: the run, as all members know it.
        agreed: the manifest.
        wrote: versions of tacit that computed and bundled it, as its signer says.
    """

    run: Declared
    agreed: Manifest
    wrote: Sequence[str]

    @classmethod
    def of(cls, agreed: Manifest, wrote: Sequence[str]) -> Rerun:
        """Lay out the run of a manifest.

        Raises:
            NotRecomputed: it cannot be laid out here, such as for parts of other packages.
            Tampered: a run that this version of tacit, which is said to have run it, refuses.
        """
        try:
            check_runnable(agreed, MANIFEST)
            with jax.enable_x64(True):
                run = declared(agreed)
                check_secure(run)
        except PrivacyError as error:
            raise _differs(f"{MANIFEST} is of a run that is refused: {error}", wrote) from error
        # a manifest comes from others, and parts of other packages may raise anything
        except Exception as error:
            raise NotRecomputed(
                f"the run of {MANIFEST} cannot be laid out here: {error}"
            ) from error
        return cls(run, agreed, wrote)

    def differs(self, message: str) -> Exception:
        """The exception for a difference, of which there is none between equal versions.

        Args:
            message: what differs, as a clause.
        """
        return _differs(message, self.wrote)

    def guarantee(self, stated: Guarantee, file: Mapping[str, Any]) -> Guarantee:
        """The guarantee of the owner, which the stated one has to equal in every field.

        Args:
            stated: guarantee in the bundle.
            file: contents of its `guarantee.json`, which may hold nothing else.

        Raises:
            NotRecomputed: it does not, and another version of tacit computed it.
            Tampered: it does not.
        """
        again: Guarantee = self.run.guarantee[self.agreed.number(stated.owner)]
        close = math.isclose(again.epsilon, stated.epsilon, rel_tol=GRID_ERROR)
        expected = replace(again, epsilon=stated.epsilon) if close else again
        names = [each.name for each in fields(Guarantee)]
        wrong = [name for name in names if getattr(expected, name) != getattr(stated, name)]
        if wrong:
            raise _differs(
                f"the guarantee does not follow from {MANIFEST} ({', '.join(wrong)}): stated is "
                f"{shown(stated)}, and tacit {__version__} computes {shown(again)}",
                self.wrote,
            )
        plain = guarantee_document(stated, self.agreed.run.hex())
        if wrong := sorted(key for key in {*file, *plain} if file.get(key) != plain.get(key)):
            raise self.differs(f"guarantee.json contradicts itself in {', '.join(wrong)}")
        return again

    def answer(self, files: Mapping[str, bytes]) -> list[str]:
        """Names of the files of the answer, each of which has to say what the solution says.

        Raises:
            NotRecomputed: they do not, and another version of tacit computed them.
            Tampered: they do not, or the bundle holds other files.
        """
        agreed, source, said = self.run.contract, self.run.source, str(self.run.guarantee)
        try:
            solution = _solution(files, agreed.numbers)
            with jax.enable_x64(True):
                answer = agreed.method.answer(solution, agreed)
            outcome = Outcome(
                solution=solution,
                names=agreed.numbers,
                run=self.agreed.run.hex(),
                rounds=0,
                epsilon=None,
                simulated=False,
                answer=answer,
                protection=said,
                regression=_dated(
                    fitted(source, answer, said, papers_of(agreed.method)), files, NAME
                ),
                model=_dated(fitted_model(source, agreed.numbers, solution, said), files, MODEL),
            )
            made = answer_files(outcome)
        except Tampered:
            raise
        # a solution of numbers that no run gives
        except Exception as error:
            raise self.differs(f"{MODEL_FILE} holds no answer of this run: {error}") from error
        for name, text in made.items():
            if name not in files:
                raise self.differs(f"{name} is missing")
            if not _alike(files[name], text):
                raise self.differs(f"{name} does not follow from {MODEL_FILE}")
        return list(made)

    def shows(self, page: str, report: bytes) -> bool:
        """Whether the report in a bundle is the page that is made of its other files.

        Args:
            page: the page.
            report: the report.

        Returns:
            True if they are equal to the last byte, False if they differ in what draws figures.

        Raises:
            NotRecomputed: they differ in anything else, and another version of tacit made it.
            Tampered: they differ in anything else.
        """
        if report == page.encode():
            return True
        mark = 'id="plotly"'
        drawn = mark.encode() in report
        still = _SCRIPTS.sub("", report.decode(errors="replace"))
        # a page that was made without Plotly has other texts in the place of figures
        if drawn == (mark in page) and not _alike(still.encode(), _SCRIPTS.sub("", page)):
            raise self.differs(f"{REPORT} says something else than the other files")
        return False

    def page(
        self, files: Mapping[str, bytes], signer: str, own: Guarantee | None, predicts: bool
    ) -> str:
        """The report, rendered again from the other files.

        Raises:
            NotRecomputed: they cannot be rendered, and another version of tacit wrote them.
            Tampered: they cannot be rendered.
        """
        try:
            found = Finished(
                folder=Path(),
                manifest=self.agreed,
                number=self.agreed.number(signer),
                result=document(files, "result.json"),
                guarantee=own,
                solution=_solution(files, self.run.contract.numbers),
                versions=document(files, "versions.json"),
                predicts=predicts,
            )
            return render_report(found, self.run)
        except Tampered:
            raise
        # whatever `result.json` holds in the place of what a member writes
        except Exception as error:
            raise self.differs("result.json is not what a member of a run writes") from error

    def check_words(self, files: Mapping[str, bytes], signer: str) -> None:
        """Refuse files with other words, or more of them, than `tacit bundle` writes.

        Args:
            files: files of the bundle, by name.
            signer: name of its signer.

        Raises:
            NotRecomputed: there are others, and another version of tacit wrote them.
            Tampered: there are others.
        """
        if files["README.txt"] != README.format(name=signer).encode():
            raise self.differs("README.txt is not the one that `tacit bundle` writes")
        if files[MANIFEST] != self.agreed.toml().encode():
            raise self.differs(f"{MANIFEST} holds more than what the members signed")
        known = set(Outcome(None, (), "", 0, None, False).document()) - set(PRIVATE)
        if wrong := sorted(known ^ set(document(files, "result.json"))):
            raise self.differs(f"result.json has other fields than a member's: {', '.join(wrong)}")


def shown(guarantee: Guarantee) -> str:
    """Epsilon and delta of a guarantee, in words."""
    return f"epsilon {rounded_up(guarantee.epsilon)} at delta {rounded_up(guarantee.delta)}"


def _differs(message: str, wrote: Sequence[str]) -> Exception:
    other = next((each for each in wrote if each != __version__), None)
    if other is None:
        return Tampered(message)
    return NotRecomputed(
        f"{message}. The signer used tacit {other}, and this is tacit {__version__}: verify it "
        "with that version"
    )


def _solution(files: Mapping[str, bytes], numbers: tuple[str, ...]) -> Float[np.ndarray, " p"]:
    """The numbers in `model.npz`, without asking for more memory than the file has bytes.

    Raises:
        Tampered: it holds something else.
    """
    count, longest = len(numbers), max(map(len, numbers), default=0)
    if len(files[MODEL_FILE]) > count * (8 + 4 * longest) + _AROUND:
        raise Tampered(f"{MODEL_FILE} is larger than its numbers")
    try:
        with zipfile.ZipFile(io.BytesIO(files[MODEL_FILE])) as archive:
            parts = {about.filename: about for about in archive.infolist()}
            stored = {about.compress_type for about in parts.values()} == {zipfile.ZIP_STORED}
            if set(parts) != {"solution.npy", "names.npy"} or not stored:
                raise Tampered(f"{MODEL_FILE} is not a model that a member writes")
            data = {name: archive.read(about) for name, about in parts.items()}
        solution = _array(data["solution.npy"], np.dtype(float), count)
        names = _array(data["names.npy"], np.dtype(f"<U{max(longest, 1)}"), count)
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError, TypeError) as error:
        raise Tampered(f"{MODEL_FILE} cannot be read") from error
    if names.tolist() != list(numbers):
        raise Tampered(f"{MODEL_FILE} has other numbers than the study")
    return solution


def _array(data: bytes, kind: np.dtype[Any], count: int) -> np.ndarray:
    """An array of a known kind and size, from the bytes of a file of NumPy."""
    file = io.BytesIO(data)
    np.lib.format.read_magic(file)
    shape, _, found = np.lib.format.read_array_header_1_0(file)
    rest = data[file.tell() :]
    if (shape, found) != ((count,), kind) or len(rest) != count * kind.itemsize:
        raise ValueError(f"{shape} numbers of the kind {found}")
    return np.frombuffer(rest, kind)


def _dated(made: Any, files: Mapping[str, bytes], name: str) -> Any:
    """A fitted model with the date that the file in the bundle has, which is its signer's word."""
    if made is None or name not in files:
        return made
    date = document(files, name).get("date")
    if not isinstance(date, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise Tampered(f"{name} has no date")
    return replace(made, date=date)


def _alike(found: bytes, made: str) -> bool:
    """Whether two texts are equal up to the last digits of their numbers."""
    try:
        text = found.decode()
    except UnicodeDecodeError:
        return False
    if text == made:
        return True
    if _NUMBER.sub("0", text) != _NUMBER.sub("0", made):
        return False
    return all(
        one == other or math.isclose(float(one), float(other), rel_tol=_LAST_DIGITS)
        for one, other in zip(_NUMBER.findall(text), _NUMBER.findall(made), strict=True)
    )
