"""Which mistakes are planted, alone or together, and the first seed that finds them.

Two are planted together where one line of defence stands behind the other.
"""

from __future__ import annotations

FIRST: dict[tuple[str, ...], int] = {
    ("published before it is stored",): 0,
    ("used before it is stored",): 0,
    ("begun again after a restart",): 0,
    ("begun again after a restart", "a ledger that does not compare what it is asked"): 0,
    ("missing messages not asked for",): 3,
    ("the key for masks kept",): 3,
    ("a message made anew after a restart", "a ledger that does not compare what it is asked"): 11,
    ("commits that do not wait for the disk",): 12,
    ("released without a charge",): 13,
    ("a message made anew after a restart",): 17,
    ("forgotten before the neighbours have it",): 17,
    ("the state before a message stored with it",): 17,
    ("no farewell",): 21,
    ("signatures not checked",): 24,
    ("charged in one transaction, stored in another",): 25,
    ("heard not stored",): 28,
    ("another folder of state accepted",): 54,
    ("a second content accepted",): 60,
    ("two contents not kept",): 60,
    ("errors of the disk ignored",): 65,
    ("a coordinator that ended early is not asked for its last word",): 81,
    ("back in the round that was missed",): 83,
    ("the key for masks deleted before there is a result",): 100,
    ("who has finished is waited for",): 103,
    ("not bound",): 151,
    ("an older state not refused by the binding",): 151,
    ("greetings of any question believed",): 185,
    ("a mask without its slot, cohort and announcement",): 192,
    ("a state that was marked is recorded only when a message is made",): 193,
    ("a sum of whoever answered",): 303,
    (
        "a sum that is over is waited for",
        "a coordinator is waited for no longer than it waits",
    ): 402,
    ("a sum that is over is waited for",): 436,
    ("a second content that is out of bounds not kept",): 445,
    ("who has finished is waited for beside one who is silent",): 567,
    (
        "who has finished is waited for beside one who is silent",
        "who was left out is not waited for after a new start",
    ): 567,
    ("no lock",): 604,
    ("neighbours not believed about what they have",): 706,
    ("one neighbour asked before anything is sent",): 790,
    ("where a neighbour was is forgotten when it goes on",): 1867,
}

UNFOUND: dict[tuple[str, ...], int] = {
    ("a sum that was announced meanwhile is not asked for",): 2000,
    ("a beginning that was recorded on one side alone is not recorded on the other",): 2000,
    ("a folder of state that cannot be made is not told of",): 2000,
    ("what was heard before a start tells of no later sum",): 2000,
    (
        "a sum that was announced meanwhile is not asked for",
        "what was heard before a start tells of no later sum",
    ): 2000,
    ("rounds in which a member took part at last told as an absence",): 2000,
    ("who has finished is waited for as if it waited itself",): 2000,
    ("a coordinator that went on is given up as if it were silent",): 2000,
    ("who is silent is not asked whether it has finished",): 2000,
    ("who was left out is not waited for after a new start",): 2000,
}
"""Those that none of the first seeds finds, with how many were tried."""
