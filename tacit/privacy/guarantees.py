"""The guarantees of all owners of a run: the weakest, whether they are equal, what is required."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from tacit.arguments import checked
from tacit.errors import NonPrivateRelease, PrivacyError
from tacit.privacy import wording
from tacit.privacy.guarantee import FORMAT, Guarantee, Status, check_format, parsed


@dataclass(frozen=True)
class Guarantees(Sequence[Guarantee]):
    """The guarantees of all owners of a run, in the order of the agents.

    Attributes:
        owners: one guarantee per owner, at least one.

    Raises:
        PrivacyError: none given.
    """

    owners: tuple[Guarantee, ...]

    def __post_init__(self) -> None:
        if not self.owners:
            raise PrivacyError("a run has at least one owner; no guarantee was given")

    def __str__(self) -> str:
        return self.sentence()

    def __repr__(self) -> str:
        return f"<Guarantees of {len(self)} owners: {self.brief()}>"

    def _repr_html_(self) -> str:
        each = f"each of the {len(self):,} agents" if self.equal and len(self) > 1 else ""
        said = self.sentence() if self.equal else f"The weakest: {self.worst.sentence()}"
        return wording.html(self.owners, said, each)

    def brief(self) -> str:
        """The weakest guarantee in a few words, and whose it is if they differ."""
        worst = self.worst
        whose = "" if self.equal else f"the weakest is that of {worst.owner}, "
        return whose + wording.brief(worst)

    def __len__(self) -> int:
        return len(self.owners)

    def __iter__(self) -> Iterator[Guarantee]:
        return iter(self.owners)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self.owners[index]

    @property
    def worst(self) -> Guarantee:
        """The weakest: by status first, then by epsilon, then by delta."""
        return max(self.owners, key=lambda g: (_rank(g.status), g.epsilon, g.delta))

    @property
    def equal(self) -> bool:
        """Whether all guarantees are equal, apart from the owner."""
        first = {**vars(self.owners[0]), "owner": ""}
        return all({**vars(each), "owner": ""} == first for each in self.owners)

    @property
    def certificate(self) -> bool:
        """Whether every owner's guarantee is a certificate."""
        return all(each.certificate for each in self.owners)

    @checked(PrivacyError)
    def sentence(self, *, assumptions: bool = True) -> str:
        """One sentence if all guarantees are equal, else the range and a list.

        Args:
            assumptions: whether to end with them; leave them out where a list of them follows.
        """
        if len(self) == 1:
            return self.owners[0].sentence(assumptions=assumptions)
        if self.equal:
            each = f"each of the {len(self)} agents"
            return wording.sentence(self.owners[0], each, assumptions=assumptions)
        return wording.differing(self.owners, self.worst, assumptions=assumptions)

    def table(self) -> list[dict[str, Any]]:
        """One row per owner, with exact numbers."""
        return [each.row() for each in self.owners]

    def require(self, status: Status | str) -> None:
        """Refuse a run in which some owner's guarantee has a weaker status.

        Raises:
            NonPrivateRelease: some owner's values leave without any guarantee.
            PrivacyError: some owner's guarantee is weaker, or `status` is unknown.
        """
        try:
            wanted = Status(status)
        except ValueError as error:
            known = ", ".join(Status)
            raise PrivacyError(f"unknown status {status!r}; one of {known}") from error
        worst = self.worst
        if _rank(worst.status) <= _rank(wanted):
            return
        if worst.status is Status.NONE:
            raise NonPrivateRelease(
                f"status {wanted.value!r} was required, but the values that {worst.owner} releases "
                "carry no guarantee. Give the method a privacy budget, or choose a private method."
            )
        reason = f", because {worst.reason}" if worst.reason else ""
        raise PrivacyError(
            f"status {wanted.value!r} was required, but the guarantee of {worst.owner} is "
            f"{worst.status.value!r}{reason}. Choose a method or mode whose guarantee is "
            f"{wanted.value}, or leave `require` out and state {worst.status.value!r} wherever the "
            "result is shown."
        )

    def to_dict(self) -> dict[str, Any]:
        """All guarantees as strict JSON values, and the sentence."""
        owners = [each.to_dict() for each in self.owners]
        return {"format": FORMAT, "sentence": self.sentence(), "owners": owners}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Guarantees:
        """The guarantees that `to_dict` wrote.

        Raises:
            PrivacyError: another format, or missing or wrong fields.
        """
        check_format(values.get("format"))
        if not isinstance(values.get("owners"), list):
            raise PrivacyError("not guarantees written by tacit: there is no list 'owners'")
        return cls(tuple(Guarantee.from_dict(each) for each in values["owners"]))

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Guarantees:
        """The guarantees that `to_json` wrote.

        Raises:
            PrivacyError: not JSON, or as for `from_dict`.
        """
        return cls.from_dict(parsed(text))


def _rank(status: Status) -> int:
    return list(Status).index(status)
