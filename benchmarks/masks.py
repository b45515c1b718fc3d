"""What it costs an agent to mask its value, against the keystream that this takes.

The bare keystream is AES-256 in counter mode, of as many bytes, under one key and written to one
place: what the processor's own AES allows. Both are measured in turns, so that whatever else the
machine does falls on both. Then what the keys of a run cost, once.

    python benchmarks/masks.py [--size 7840] [--peers 9] [--repetitions 500]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit.privacy.masking import mask, mask_label, new_key, opened, pair_key, sealed


def milliseconds(calls: dict[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """Median wall-clock time of each call, in turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            taken[name].append(1e3 * (time.perf_counter() - began))
    return {name: statistics.median(each) for name, each in taken.items()}


def keystream(size: int, peers: int) -> Callable[[], None]:
    cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
    zeros, place = bytes(8 * size), bytearray(8 * size + 16)

    def write() -> None:
        for _ in range(peers):
            cipher.update_into(zeros, place)

    return write


def agreement(private: bytes, publics: list[bytes], run: bytes) -> dict[int, bytes]:
    return {peer: pair_key(private, public, run, 0, peer) for peer, public in enumerate(publics, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=7840)
    parser.add_argument("--peers", type=int, default=9)
    parser.add_argument("--repetitions", type=int, default=500)
    arguments = parser.parse_args()
    size, peers = arguments.size, arguments.peers
    run, cohort = os.urandom(32), range(peers + 1)
    private, _ = new_key()
    publics = [new_key()[1] for _ in range(peers)]
    keys = agreement(private, publics, run)
    label = mask_label(run, 0, 0, 0, cohort, bytes(32))
    hidden = mask(keys, 0, cohort, label, size)
    steps = np.arange(size)
    took = milliseconds(
        {
            "mask": partial(mask, keys, 0, cohort, label, size),
            "bare keystream": keystream(size, peers),
            "sealed": partial(sealed, steps, hidden),
            "opened": partial(opened, [hidden] * len(cohort)),
            "mask_label": partial(mask_label, run, 0, 0, 0, cohort, bytes(32)),
        },
        arguments.repetitions,
    )
    once = milliseconds(
        {"new_key": new_key, "pair_key, all peers": partial(agreement, private, publics, run)},
        max(arguments.repetitions // 10, 1),
    )
    print(f"{size:,} coordinates, {peers} peers; milliseconds (medians)")
    for name, value in took.items():
        print(f"{name:<20} {value:8.3f}")
    print(f"mask / bare keystream: {took['mask'] / took['bare keystream']:.1f}")
    print("once a run")
    for name, value in once.items():
        print(f"{name:<20} {value:8.3f}")


if __name__ == "__main__":
    main()
