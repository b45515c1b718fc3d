"""What a member logs."""

from __future__ import annotations

import json
import logging

from tacit.cli.deploying import JsonLines


def line(message: str, *args: object) -> dict[str, object]:
    record = logging.LogRecord("tacit.site", logging.WARNING, "", 0, message, args, None)
    return json.loads(JsonLines().format(record))


def test_a_line_of_json_has_the_fields_that_its_message_was_made_of() -> None:
    said = line("sent %(key)s %(digest)s", {"key": "0/1/0/0", "digest": "ab"})
    assert said["message"] == "sent 0/1/0/0 ab" and said["level"] == "WARNING"
    assert (said["key"], said["digest"]) == ("0/1/0/0", "ab")
    assert str(said["time"]).endswith("+00:00")


def test_a_message_without_fields_is_a_line_as_well() -> None:
    assert line("the end\nof %d", 3)["message"] == "the end\nof 3"
