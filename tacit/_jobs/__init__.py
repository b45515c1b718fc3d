"""Work in pieces: each is run once, on any free process, and its answer is stored.

A `Piece` is a function at the top of a module with JSON arguments and a JSON answer. `run` spreads
pieces over processes of this machine or over a `Cluster`, and puts every answer in a `Store` as
soon as it exists, under a digest of the code, the arguments and the files it was made from. So
however a run ends, repeating the call does only what is missing.
"""

from tacit._jobs.cluster import Cluster
from tacit._jobs.piece import Answer, Piece
from tacit._jobs.run import Told, announced, answers, missing, run
from tacit._jobs.store import Store, name_of

__all__ = [
    "Answer",
    "Cluster",
    "Piece",
    "Store",
    "Told",
    "announced",
    "answers",
    "missing",
    "name_of",
    "run",
]
