"""Which mistakes are planted, alone or together, and the first seed that finds them.

Two are planted together where one line of defence stands behind the other.
"""

from __future__ import annotations

FIRST: dict[tuple[str, ...], int] = {
    ("published before it is stored",): 0,
    ("used before it is stored",): 0,
    ("begun again after a restart",): 0,
    ("begun again after a restart", "a ledger that does not compare what it is asked"): 0,
    ("missing messages not asked for",): 7,
    ("a message made anew after a restart",): 7,
    ("forgotten before the neighbours have it",): 7,
    ("the state before a message stored with it",): 7,
    ("commits that do not wait for the disk",): 12,
    ("another folder of state accepted",): 15,
    ("released without a charge",): 21,
    ("no farewell",): 21,
    ("signatures not checked",): 27,
    ("charged in one transaction, stored in another",): 40,
    ("the key for masks kept",): 47,
    ("a second content accepted",): 71,
    ("two contents not kept",): 71,
    ("a second content that is out of bounds not kept",): 71,
    ("greetings of any question believed",): 80,
    ("a coordinator that ended early is not asked for its last word",): 81,
    ("a message made anew after a restart", "a ledger that does not compare what it is asked"): 100,
    ("the key for masks deleted before there is a result",): 100,
    ("a mask without its slot, cohort and announcement",): 118,
    ("heard not stored",): 142,
    ("errors of the disk ignored",): 147,
    ("a state that was marked is recorded only when a message is made",): 193,
    ("a beginning that was recorded on one side alone is not recorded on the other",): 193,
    ("back in the round that was missed",): 203,
    ("a sum of whoever answered",): 314,
    (
        "a sum that is over is waited for",
        "a coordinator is waited for no longer than it waits",
    ): 402,
    ("who has finished is waited for",): 445,
    ("who has finished is waited for beside one who is silent",): 445,
    (
        "who has finished is waited for beside one who is silent",
        "who was left out is not waited for after a new start",
    ): 445,
    ("not bound",): 478,
    ("an older state not refused by the binding",): 478,
    ("no lock",): 604,
    ("neighbours not believed about what they have",): 706,
    ("one neighbour asked before anything is sent",): 790,
    ("a sum that is over is waited for",): 844,
    ("a sum that was announced meanwhile is not asked for",): 866,
    (
        "a sum that was announced meanwhile is not asked for",
        "what was heard before a start tells of no later sum",
    ): 866,
    ("where a neighbour was is forgotten when it goes on",): 912,
    ("who has finished is waited for as if it waited itself",): 1373,
    ("a folder of state that cannot be made is not told of",): 1511,
}

UNFOUND: dict[tuple[str, ...], int] = {
    ("time in which a member was stopped counts as waiting",): 2000,
    ("what was heard before a start tells of no later sum",): 2000,
    ("rounds in which a member took part at last told as an absence",): 2000,
    ("a coordinator that went on is given up as if it were silent",): 2000,
    ("who is silent is not asked whether it has finished",): 2000,
    ("who was left out is not waited for after a new start",): 2000,
}
"""Those that none of the first seeds finds, with how many were tried."""
