"""Which mistakes are planted, alone or together, and the first seed that finds them.

Two are planted together where one line of defence stands behind the other.
"""

from __future__ import annotations

FIRST: dict[tuple[str, ...], int] = {
    ("published before it is stored",): 0,
    ("begun again after a restart",): 0,
    ("the state before a message stored with it",): 0,
    ("used before it is stored",): 0,
    ("a message made anew after a restart",): 0,
    ("begun again after a restart", "a ledger that does not compare what it is asked"): 0,
    ("forgotten before the neighbours have it",): 0,
    ("missing messages not asked for",): 0,
    ("released without a charge",): 1,
    ("errors of the disk ignored",): 1,
    ("the key for masks kept",): 3,
    ("a message made anew after a restart", "a ledger that does not compare what it is asked"): 3,
    ("signatures not checked",): 4,
    ("back in the round that was missed",): 7,
    ("neighbours not believed about what they have",): 13,
    ("charged in one transaction, stored in another",): 18,
    ("where a neighbour was is forgotten when it goes on",): 18,
    ("heard not stored",): 28,
    ("one neighbour asked before anything is sent",): 35,
    ("a second content accepted",): 42,
    ("two contents not kept",): 42,
    ("a mask without its slot, cohort and announcement",): 47,
    ("greetings of any question believed",): 48,
    ("another folder of state accepted",): 51,
    ("commits that do not wait for the disk",): 51,
    ("no farewell",): 79,
    ("a coordinator that ended early is not asked for its last word",): 99,
    ("the key for masks deleted before there is a result",): 100,
    ("a sum that is over is waited for",): 106,
    (
        "a sum that is over is waited for",
        "a coordinator is waited for no longer than it waits",
    ): 106,
    ("who has finished is waited for",): 258,
    ("a sum of whoever answered",): 289,
    ("no lock",): 324,
    ("an older state not refused by the binding",): 446,
    ("not bound",): 446,
    (
        "who has finished is waited for beside one who is silent",
        "who was left out is not waited for after a new start",
    ): 639,
    ("a second content that is out of bounds not kept",): 947,
}

UNFOUND: dict[tuple[str, ...], int] = {
    ("a state that was marked is recorded only when a message is made",): 500,
    ("who is silent is not asked whether it has finished",): 586,
    ("a coordinator that went on is given up as if it were silent",): 1500,
    ("who has finished is waited for beside one who is silent",): 2000,
    ("who was left out is not waited for after a new start",): 2000,
}
"""Those that none of the first seeds finds, with how many were tried."""
