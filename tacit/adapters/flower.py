"""An app of Flower: a `ClientApp` that is a site's part, and a `ServerApp` that coordinates a run.

Needs `flwr`.
"""

# flwr is not among tacit's own dependencies, so that type checkers may not find it.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.adapters.coordinator import coordinate, summary
from tacit.adapters.site import step
from tacit.errors import ConfigError, WireError

if TYPE_CHECKING:
    from flwr.app import Context, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp

log = logging.getLogger("tacit.site")

HOSTED = "TACIT_HOSTED"
"""Variable of the environment of a ServerApp with the folder of the coordinator."""

NODE = "tacit-hosted"
"""Key of a node's configuration with the folder of the site."""

_RECORD, _BAG, _KIND = "tacit", "bag", "query"


def configured(context: Context) -> Path:
    """The folder of a site, as the owner of its node has configured it.

    Args:
        context: context of the ClientApp.

    Raises:
        ConfigError: the node's configuration does not give it.
    """
    folder = context.node_config.get(NODE)
    if not isinstance(folder, str):
        raise ConfigError(
            "this node does not say where its site is; start it with: flower-supernode "
            f"--node-config '{NODE}=\"/srv/tacit\"'"
        )
    return Path(folder)


def client_app(site: Callable[[Context], Path] = configured) -> ClientApp:
    """A ClientApp that takes a site's turn for every message.

    Args:
        site: function that gives the folder of the site. It has to come from the node's owner; for
            simulations it may be made of the number of the partition.
    """
    from flwr.app import Message
    from flwr.clientapp import ClientApp

    app = ClientApp()

    @app.query()
    def turn(message: Message, context: Context) -> Message:
        record = message.content.config_records[_RECORD]
        answer = step(site(context), _bag(record[_BAG]))
        return Message(_content(answer), reply_to=message)

    return app


def server_app(folder: Path | None = None) -> ServerApp:
    """A ServerApp that coordinates a run, from its start or from where an earlier one stopped.

    Args:
        folder: folder of the coordinator; if `None`, the one in the variable `TACIT_HOSTED`.
    """
    from flwr.app import ConfigRecord
    from flwr.serverapp import ServerApp

    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        own = folder or Path(os.environ.get(HOSTED, ""))
        found = summary(coordinate(own, _Nodes(grid)))
        context.state[_RECORD] = ConfigRecord({"result": json.dumps(found)})

    return app


class _Nodes:
    """The nodes that are connected; each is sent a message of its own."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def places(self) -> list[int]:
        return sorted(self._grid.get_node_ids())

    def exchange(self, bags: Mapping[int, bytes], seconds: float) -> dict[int, bytes]:
        from flwr.app import Message

        sent = [
            Message(_content(bag), dst_node_id=node, message_type=_KIND, ttl=seconds)
            for node, bag in bags.items()
        ]
        found: dict[int, bytes] = {}
        for reply in self._grid.send_and_receive(sent, timeout=seconds):
            node = reply.metadata.src_node_id
            if reply.has_error():
                log.warning("node %(node)s failed in a task", {"node": node})
                continue
            try:
                found[node] = _bag(reply.content.config_records[_RECORD][_BAG])
            except WireError as error:
                log.warning("node %(node)s: %(error)s", {"node": node, "error": error})
        return found


def _bag(value: object) -> bytes:
    """The bag of mail in a message; numbers, of which `bytes` makes zeros, are none."""
    if not isinstance(value, bytes):
        raise WireError(f"a bag of mail is bytes, and here it is {type(value).__name__}")
    return value


def _content(bag: bytes) -> RecordDict:
    from flwr.app import ConfigRecord, RecordDict

    return RecordDict({_RECORD: ConfigRecord({_BAG: bag})})
