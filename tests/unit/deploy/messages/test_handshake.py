"""A greeting answers one question of one asker: kept, or shown to another, it is nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import tacit
from tacit.deploy.identity import keys
from tacit.deploy.messages.handshake import Question, read_hello, write_hello
from tacit.errors import WireError

RUN = bytes(range(32))
VERSIONS = {"tacit": tacit.__version__}


def test_an_answer_is_its_questions(tmp_path: Path) -> None:
    own, other = (keys.create(tmp_path / name, name) for name in ("north", "south"))
    question = Question(asked=1, asker=0)
    data = write_hello(question, RUN, 7, VERSIONS, own.identity, heard=41)
    hello = read_hello(data, question, RUN, own.card)
    assert (hello.round, hello.heard, hello.versions) == (7, 41, VERSIONS)
    # the last is to who adds up at the same site, and has the same key
    nonce = question.nonce
    for wrong in (Question(1, 0), Question(1, 2, nonce), Question(5, 0, nonce)):
        with pytest.raises(WireError, match="another question"):
            read_hello(data, wrong, RUN, own.card)
    with pytest.raises(WireError, match="another run"):
        read_hello(data, question, bytes(32), own.card)
    # a certificate in its name, or an authority that signs one, has no such key
    with pytest.raises(WireError, match="signature"):
        read_hello(data, question, RUN, other.card)
    assert Question(1, 0).nonce != Question(1, 0).nonce


@pytest.mark.parametrize(
    "key",
    [
        "1/hello",
        "1/hello/0",
        "1/hello/0/" + "0" * 31,
        "1/hello/0/" + "g" * 32,
        "1/hello/x/" + "0" * 32,
        "1/hello/1234567890/" + "0" * 32,
        "1/2/0/" + "0" * 32,
    ],
)
def test_what_is_no_question_is_none(key: str) -> None:
    assert Question.read(key) is None


def test_a_question_is_read_from_its_name() -> None:
    question = Question(12, 3)
    assert Question.read(question.key()) == question
