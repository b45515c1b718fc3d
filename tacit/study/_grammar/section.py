"""The common base of all sections of a study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, Strict
from pydantic_core import PydanticCustomError

Number: TypeAlias = Annotated[float, Strict(), Field(allow_inf_nan=False)]
"""A finite number; text that looks like one is refused."""

Whole: TypeAlias = Annotated[int, Strict()]
"""A whole number."""

Flag: TypeAlias = Annotated[bool, Strict()]
"""`true` or `false`."""


class Section(BaseModel):
    """A table of the study file: unknown keys are errors, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _per_site(value: Any) -> Any:
    """One number, a list in the order of the sites, or a table by site name."""
    entries = value
    if isinstance(value, Mapping):
        entries = list(value.values())
    elif not isinstance(value, list | tuple):
        entries = [value]
    if not entries or not all(
        isinstance(entry, int | float) and not isinstance(entry, bool) for entry in entries
    ):
        raise PydanticCustomError(
            "per_site",
            "must be a number, a list with one number a site, or a table { site = number }",
        )
    if isinstance(value, Mapping):
        return {str(site): float(entry) for site, entry in value.items()}
    return tuple(map(float, value)) if isinstance(value, list | tuple) else float(value)


PerSite: TypeAlias = Annotated[
    float | tuple[float, ...] | Mapping[str, float], PlainValidator(_per_site)
]
"""A number for all sites, or one per site: a list in their order, or a table by name."""


def _named(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


Short = BeforeValidator(_named)
"""Lets `loss = "logistic"` stand for `loss = { kind = "logistic" }`."""
