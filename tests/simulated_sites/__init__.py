"""A deployment in one process: members of a run under a virtual clock, network and disk.

Everything that a member of `tacit agent` runs is the real code: its files, journal, ledger,
messages, signatures and turns. What it asks of the machine is answered from one seed: time,
threads, random numbers, commits to disk, messages. So a run of months takes milliseconds, faults of
all kinds hit it at every point, and a seed repeats to the last byte.

    world.py      the world of one run
    hub.py        virtual time, and which thread of which process runs
    threads.py    threads, locks, conditions and clocks of a process
    chance.py     numbers drawn by what they are for
    link.py       connections between members
    disk.py       commits, full disks, power cuts
    files.py      files and names in folders
    signing.py    signatures
    seams.py      puts these in the place of Python's modules
    desk.py       compiled halves of the phases, shared by all members
    cast.py       members, keys, manifests
    faults.py     what goes wrong, drawn before a run
    byzantine.py  members that lie
    owner.py      what owners do
    run.py        one seed, from its faults to its history
    ran.py        what became of it
    left.py       what is on the disks at the end
    observed.py   what members do inside
    seeds.py      the faults of a seed, and many seeds
    watchers.py   what must hold of a history
    endings.py    how members must end
    mutants.py    mistakes that the watchers must find
    planting.py   plants them
    first.py      at which seed each is found
    shrink.py     the fewest faults that still fail
    timeline.py   a history by member
"""
