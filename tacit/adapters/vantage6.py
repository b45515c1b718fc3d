"""An algorithm of vantage6: `central` coordinates a run, `turn` is a site's part in one subtask.

The folder of each member, with `hosted.toml`, is a database of its node, of which the container may
read and write the files: the first database of the task. Needs `vantage6-algorithm-tools`.
"""

# vantage6 is not among tacit's own dependencies, so that type checkers may not find it.
# pyright: reportMissingImports=false

from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tacit.adapters.coordinator import coordinate, summary
from tacit.adapters.site import step
from tacit.errors import ConfigError, RuntimeFailure

log = logging.getLogger("tacit.site")

_LABELS = "USER_REQUESTED_DATABASE_LABELS"
_ASK_EVERY = 1.0
"""Seconds after which the server is asked again whether a subtask has ended."""


def site_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the member's folder before its other arguments.

    With vantage6's mock client, which mounts nothing, the folder is the one value of a table.

    Args:
        function: function of the folder and of a task's arguments.
    """

    @functools.wraps(function)
    def call(*given: Any, mock_data: list[Any] | None = None, **named: Any) -> Any:
        folder = _mounted() if mock_data is None else Path(str(mock_data[0].iloc[0, 0]))
        return function(folder, *given, **named)

    return _marked(call, "wrapped_in_data_decorator")


def with_client(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the client of its container before its other arguments.

    Args:
        function: function of the client and of a task's arguments.
    """

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        from vantage6.algorithm.tools.decorators import algorithm_client

        return algorithm_client(function)(*given, **named)

    return _marked(call, "wrapped_in_algorithm_client_decorator")


def _marked(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Give a function the attribute by which vantage6 finds out what it is given."""
    setattr(call, name, True)
    return call


@site_folder
def turn(folder: Path, bag: str) -> str:
    """Take a site's turn in a subtask.

    Args:
        folder: folder of the site.
        bag: bag of mail of the coordinator.

    Returns:
        The site's bag of mail.
    """
    return step(folder, _encoded(bag)).decode()


@site_folder
@with_client
def central(
    client: Any, folder: Path, organizations: list[int] | None = None, name: str = "tacit"
) -> dict[str, Any]:
    """Coordinate a run, from its start or from where an earlier task stopped.

    Args:
        client: client of the container.
        folder: folder of the coordinator.
        organizations: ids of the organisations whose nodes are the sites; all of the collaboration
            if `None`. A node that refuses, such as the coordinator's own, is left out if the
            manifest does not wait for it.
        name: name of the subtasks.

    Returns:
        The result, as in `result.json`, with the answer and the texts of its files.

    Raises:
        RuntimeFailure: why the run stopped, in words for the log of this node.
    """
    if organizations is None:
        organizations = [int(each["id"]) for each in client.organization.list()]
    return summary(coordinate(folder, _Nodes(client, organizations, name)))


class _Nodes:
    """The nodes of a collaboration; each is given a subtask of its own."""

    def __init__(self, client: Any, organizations: list[int], name: str) -> None:
        self._client, self._organizations, self._name = client, organizations, name

    def places(self) -> list[int]:
        return self._organizations

    def exchange(self, bags: Mapping[int, bytes], seconds: float) -> dict[int, bytes]:
        from vantage6.common.task_status import has_task_finished

        ends = time.monotonic() + seconds
        tasks = {place: self._task(place, bag) for place, bag in bags.items()}
        found: dict[int, bytes] = {}
        while tasks:
            for place, task in list(tasks.items()):
                runs = self._client.run.from_task(task)
                if runs and all(has_task_finished(each["status"]) for each in runs):
                    del tasks[place]
                    answers = [each for each in self._client.result.from_task(task) if each]
                    if answers:
                        found[place] = _encoded(str(answers[0]))
            if not tasks or time.monotonic() > ends:
                break
            time.sleep(_ASK_EVERY)
        if silent := sorted({*bags} - {*found}):
            log.warning("no answer from organisations %(silent)s", {"silent": silent})
        return found

    def _task(self, place: int, bag: bytes) -> int:
        task = self._client.task.create(
            input_={"method": "turn", "kwargs": {"bag": bag.decode()}},
            organizations=[place],
            name=self._name,
            description="a site's turn in a run of tacit",
        )
        if not isinstance(task, dict) or "id" not in task:
            raise RuntimeFailure(f"the server made no subtask for organisation {place}")
        return int(task["id"])


def _encoded(text: str) -> bytes:
    """Bytes of what the server delivered; a bag has ASCII letters only, and anything is refused."""
    return text.encode("ascii", "replace")


def _mounted() -> Path:
    """The folder that the node has mounted for the task's first database."""
    label = os.environ.get(_LABELS, "").partition(",")[0]
    uri = os.environ.get(f"{label.upper()}_DATABASE_URI", "")
    if not label or not uri or not Path(uri).is_dir():  # an empty path is the working directory
        raise ConfigError(
            "the first database of this task must be the folder of the member, with hosted.toml: "
            "name a database of the node's configuration whose uri is that folder"
        )
    return Path(uri)
