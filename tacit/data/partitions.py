"""Rules for dividing records that a study can name: those of `partition`, and your own."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Int

from tacit.arguments.fields import Fields
from tacit.data.partition import (
    Sites,
    at_sites,
    by_column,
    check_sites,
    dirichlet,
    drawn,
    even,
    numbered,
    sorted_by_label,
)
from tacit.data.schema import Prepared
from tacit.errors import ProblemError
from tacit.types import Division


class AbstractPartition(metaclass=Fields):
    """Your own rule for dividing records. A package can add one to studies: docs/extend.md.

    It sees all records, so a guarantee assumes that the division is public and depends on none.
    It is for simulations and rehearsals: in a run between sites every site has its own records.

    Attributes:
        sites: number of sites, at least 2 and at most the number of records; an argument and a key.
    """

    sites: int

    @abc.abstractmethod
    def owners(self, prepared: Prepared) -> Int[np.ndarray, " n"]:
        """The number of the site of each record, from 0 and below `sites`.

        Args:
            prepared: prepared records. The same records always get the same owners: a random rule
                has a seed.
        """

    def divide(self, prepared: Prepared) -> Sites:
        """The records by site.

        Raises:
            ProblemError: owners that are not such numbers, or a site without records.
        """
        name = type(self).__name__
        check_sites(prepared, self.sites)
        owners = np.asarray(self.owners(prepared))
        if owners.shape != prepared.targets.shape or owners.dtype.kind not in "iu":
            raise ProblemError(
                f"{name}.owners gives an array of shape {owners.shape} and type {owners.dtype}, "
                f"and must give a whole number for each of the {len(prepared.targets)} records"
            )
        wrong = owners[(owners < 0) | (owners >= self.sites)]
        if wrong.size:
            raise ProblemError(
                f"{name}.owners puts a record at site {int(wrong[0])}; there are {self.sites}, "
                "from 0"
            )
        return at_sites(prepared, owners, numbered(self.sites), Division.TABLE)


PARTITIONS: Mapping[str, Callable[..., Sites]] = {
    "column": by_column,
    "drawn": drawn,
    "even": even,
    "label": sorted_by_label,
    "dirichlet": dirichlet,
}
"""The rules that a study file can name."""
