"""What hides an agent besides its own noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

from tacit.privacy.event import Event
from tacit.types import PublicContext


class AbstractHiding:
    """What hides an agent besides its own noise; the three of this package are all there are.

    Attributes:
        prefix: in the name of a mechanism.
        words: in what a mechanism does, after its noise.
        together: whether agents hide each other, for which all add noise of one scale.
    """

    prefix: ClassVar[str] = ""
    words: ClassVar[str] = ""
    together: ClassVar[bool] = False

    def check(self, phase: Any) -> None:
        """Refuse a phase whose releases cannot be hidden like this.

        Raises:
            PrivacyError: with the reason.
        """

    def event(self, own: Event, public: PublicContext) -> Event:
        """What is learned of an agent whose own noise alone would cost `own`."""
        return own


@final
@dataclass(frozen=True)
class Alone(AbstractHiding):
    """Nothing: every release can be read."""


ALONE = Alone()
"""Nothing but an agent's own noise."""
