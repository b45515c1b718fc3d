"""What methods that ask records themselves, and no loss, demand of a task."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.data.cells import Column
from tacit.errors import ProblemError
from tacit.privacy.budget import Privacy
from tacit.problem.task import Records, Task
from tacit.types import Relation


def check_records(
    doing: str, task: Task, columns: Iterable[Column], privacy: Privacy | None
) -> None:
    """Refuse records without these columns, or with a private number that is not declared.

    Args:
        doing: name of the method and what it does, such as "PrivateCounts counts".
        task: task of the run.
        columns: columns that the method reads.
        privacy: budget of the method, or `None`.

    Raises:
        ProblemError: with the remedy.
    """
    if not isinstance(task, Records):
        raise ProblemError(
            f"{doing} records by declared columns, and this is a {type(task).__name__}; make the "
            "tables known with problem.record_tables(...)"
        )
    for column in columns:
        if task.column(column.name) != column.declared:
            raise ProblemError(
                f"column {column.name!r} is declared otherwise in these records; take "
                f"task.column({column.name!r}) of them"
            )
    added = privacy is not None and privacy.relation is Relation.ADD_REMOVE
    if added and not task.declared:
        raise ProblemError(
            "size=None: under relation='add_remove' the number of records is private; declare a "
            "public number near it, as size=... of the records"
        )
