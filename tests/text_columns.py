"""Columns of text as different versions of pandas make them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pandas


@contextmanager
def columns_of_text(kind: Literal["str", "object"]) -> Iterator[None]:
    """Read columns of text as pandas 3 does (`str`), or as pandas 2 does (`object`)."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*future.infer_string", DeprecationWarning)
        with pandas.option_context("future.infer_string", kind == "str"):
            yield
