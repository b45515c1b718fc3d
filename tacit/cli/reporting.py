"""`tacit report`: the page of a finished run, written again."""

from __future__ import annotations

import json as reader
from pathlib import Path

from tacit.cli.console import emit, guarded, say
from tacit.errors import ConfigError


def write_again(folder: Path, *, public: bool, json: bool) -> int:
    """Write the report in a directory; see `tacit report --help`."""

    def command() -> int:
        kind = _kind(folder)
        if kind == "tacit-site-result-1":
            from tacit.deploy.operate.report import write_report

            if public:
                raise ConfigError(
                    f"the report of a member such as {folder} is made of releases only as it is; "
                    "leave --public out"
                )
            path = write_report(folder)
        elif kind == "tacit-result-1":
            from tacit.study._output.stored import rewrite

            path = rewrite(folder, public)
        else:
            raise ConfigError(
                f"{folder / 'result.json'} has the format {kind!r}; give a directory that "
                "`tacit run` or a member of a run between sites wrote"
            )
        if json:
            emit({"format": "tacit-report-written-1", "file": str(path)})
        else:
            say(f"Wrote {path}")
        return 0

    return guarded(command, as_json=json)


def _kind(folder: Path) -> object:
    path = folder / "result.json"
    try:
        found = reader.loads(path.read_bytes())
        return found["format"]
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}); give the results directory of a run, or "
            "the --state directory of a member that has finished"
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{path} is no whole JSON document ({error}): it is empty, cut off or damaged. Copy "
            "it again from where it was written, or run the study again"
        ) from error
    except (KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} is not the result of a run; give a directory that `tacit run` or a member of "
            "a run between sites wrote"
        ) from error
