"""A bag of mail: what a platform carries between the coordinator and a site in one task."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.deploy.messages.settings import LARGEST
from tacit.errors import WireError

WHO, MAIL = "who", "mail"
"""What the coordinator sends: the question who is there, and mail."""

WAITING, FINISHED, REFUSED, BUSY = "waiting", "finished", "refused", "busy"
"""What a site says of itself."""

_FORMAT = "tacit-bag-1"
_MOST = 4096
"""Letters, or names of letters, in one bag."""
_BYTES = 4 * LARGEST


@dataclass(frozen=True)
class Bag:
    """Mail of one task. Its letters are signed and checked one by one; the bag is not.

    Attributes:
        run: id of the run in hexadecimal.
        status: what the sender says of itself.
        member: number of the site; -1 in a bag for one.
        letters: messages of the sender by name, each as bytes.
        asks: names of the messages that the sender asks for.
    """

    run: str
    status: str
    member: int = -1
    letters: Mapping[str, bytes] = field(default_factory=dict)
    asks: tuple[str, ...] = ()

    def data(self) -> bytes:
        """The bag as bytes of JSON."""
        letters = {key: base64.b64encode(data).decode() for key, data in self.letters.items()}
        document = {
            "format": _FORMAT,
            "run": self.run,
            "status": self.status,
            "member": self.member,
            "letters": letters,
            "asks": list(self.asks),
        }
        return json.dumps(document).encode()

    @classmethod
    def read(cls, data: bytes) -> Bag:
        """Read a bag.

        Args:
            data: output of `data`, as the platform delivered it.

        Raises:
            WireError: it is not a bag.
        """
        if len(data) > _BYTES:
            raise WireError(f"{len(data)} bytes, and at most {_BYTES} are read")
        try:
            found = json.loads(data)
            letters, asks = dict(found["letters"]), list(found["asks"])
            if found["format"] != _FORMAT or len(letters) + len(asks) > _MOST:
                raise WireError("a bag of another version, or with too many letters")
            member = found["member"]
            if type(member) is not int:
                raise WireError(f"a bag of member {member!r}, which is not a whole number")
            return cls(
                str(found["run"]),
                str(found["status"]),
                member,
                {str(key): base64.b64decode(text, validate=True) for key, text in letters.items()},
                tuple(map(str, asks)),
            )
        except (ValueError, KeyError, TypeError, binascii.Error, RecursionError) as error:
            raise WireError("the platform delivered something that is not a bag of mail") from error
