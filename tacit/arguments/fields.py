"""Fields as arguments of the classes that users derive, with or without `@dataclass`."""

from __future__ import annotations

import abc
import inspect
from dataclasses import dataclass, field
from typing import Any, dataclass_transform

from tacit.errors import ConfigError


@dataclass_transform(field_specifiers=(field,))
class Fields(abc.ABCMeta):
    """The class of a base whose derived classes take their annotated fields as arguments.

    A derived class becomes a dataclass when it is first called, derived from, or asked for
    its signature, unless it is a dataclass by then or has an `__init__` that somebody wrote. It is
    not made one earlier, because a decorator runs after `__init_subclass__` and fails on a
    dataclass.
    """

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **named: object
    ) -> Any:
        """A class, below complete ones."""
        for base in bases:
            _complete(base)
        return super().__new__(cls, name, bases, namespace, **named)

    def __call__(cls, *given: object, **named: object) -> Any:
        """An object of the class."""
        _complete(cls)
        return super().__call__(*given, **named)

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of the class."""
        _complete(cls)
        if cls.__init__ is object.__init__:
            return inspect.Signature()
        signature = inspect.signature(cls.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _complete(kind: type) -> None:
    """Make a class with fields a dataclass, unless it is one; the base itself has none."""
    derived = any(isinstance(base, Fields) for base in kind.__bases__)
    if not derived or "__dataclass_fields__" in vars(kind) or not inspect.get_annotations(kind):
        return
    maker = next(each for each in kind.__mro__ if "__init__" in vars(each))
    if maker is not object and (maker is kind or "__dataclass_fields__" not in vars(maker)):
        return
    # Python refuses a frozen dataclass below one that is not, and the reverse
    above: Any = [base for base in kind.__mro__ if "__dataclass_params__" in vars(base)]
    frozen = bool(above) and all(base.__dataclass_params__.frozen for base in above)
    try:
        # assignable, as a class without a decorator is, and hashed by its fields
        dataclass(frozen=frozen, unsafe_hash="__hash__" not in vars(kind))(kind)
    except (TypeError, ValueError) as error:  # such as a list as a default
        raise ConfigError(f"the fields of {kind.__name__} cannot be arguments: {error}") from error
