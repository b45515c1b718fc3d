"""A stream whose words are given beforehand."""

from typing import Any

import numpy as np


class Scripted:
    """Gives the answers in order, each to a request for as many words of its type."""

    def __init__(self, *answers: np.ndarray) -> None:
        self.answers = list(answers)

    def words(self, kind: type[np.unsignedinteger[Any]], count: int) -> np.ndarray:
        answer = self.answers.pop(0)
        assert (answer.dtype, answer.size) == (np.dtype(kind), count)
        return answer


def tie_words(number: int) -> np.ndarray:
    """128 bits as the two words that decide a tie."""
    return np.array([number >> 64, number % 2**64], np.uint64)
