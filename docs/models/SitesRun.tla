------------------------------ MODULE SitesRun ------------------------------
(***************************************************************************)
(* One run of a ring of members, each on a machine of its own: messages,   *)
(* what is heard, crashes at every point, older copies that an owner puts  *)
(* back, and greetings.                                                    *)
(*                                                                         *)
(* In a ring of three every member's neighbours are all others. In turn p  *)
(* each makes its message p; it makes the next when all neighbours'        *)
(* messages p are there. After the last turn it says that it needs nothing *)
(* more: its word. Contents are numbers: 1 for what is made first under a  *)
(* name, 2 for what is made under the same name again, with other noise.   *)
(* What is computed is left out.                                           *)
(*                                                                         *)
(* What a member does between two looks at the others is one step. A crash *)
(* within it is a step of its own, which leaves what was written by then.  *)
(* Whether a message has arrived is decided where it matters: when its     *)
(* receiver uses it, says that it has it, stores it, or crashes.           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Members,  \* the members
    Rounds,   \* number of turns
    Plain,    \* turns whose messages release nothing: in the journal, and not charged
    Apart,    \* whether the ledger is elsewhere than beside the keys
    PutBacks, \* what an owner may put back, once a run: sets of "state", "ledger", "keys"
    Crashes,  \* how often each member may crash
    Removed   \* lines of defence that are taken out, to see what each is for

VARIABLES
    mode,    \* "down", "meeting" (greets, and makes nothing), "running", "finished", "refused"
    ledger,  \* on disk: releases, and how often each was charged
    journal, \* on disk, in the folder of state: other messages, what was heard, number of starts,
             \* newest release
    head,    \* on disk, beside the keys: number of starts, newest message
    heard,   \* in memory: contents heard from each neighbour, those in the journal among them
    answers, \* in memory: neighbours that have answered the greeting
    left,    \* contents that ever left a member, by name
    crashes, \* crashes that each member may still have
    put      \* whether a copy was put back, and what of its member others then had on disk

disks == <<ledger, journal, head>>
memory == <<heard, answers>>
vars == <<mode, disks, memory, left, crashes, put>>

Turns == 1..Rounds
Word == Rounds + 1
Names == 1..Word
Releases == Turns \ Plain
Others(m) == Members \ {m}

Machine == {"state", "ledger", "keys"}

In(line) == line \notin Removed  \* whether a line of defence is there

Max(numbers) == CHOOSE x \in numbers : \A y \in numbers : y <= x
Latest(contents) == Max({0} \cup {p \in DOMAIN contents : contents[p] # 0})
Cut(contents, last) == [p \in DOMAIN contents |-> IF p <= last THEN contents[p] ELSE 0]

Nothing == [turn |-> 0, content |-> 0]
At(contents, p) == IF p = 0 THEN Nothing ELSE [turn |-> p, content |-> contents[p]]

(***************************************************************************)
(* A member's own messages. A release is in the ledger, any other message  *)
(* in the journal; a member resumes from the newest in both.               *)
(***************************************************************************)
Content(m, p) == IF p \in Releases THEN ledger[m].sent[p] ELSE journal[m].said[p]
Own(m) == [p \in Names |-> Content(m, p)]
Newest(m) == Latest(Own(m))

\* Messages whose newest is noted beside the keys.
Bound(m) == IF Apart /\ In("bound") THEN Own(m) ELSE journal[m].said

Up(m) == mode[m] \in {"meeting", "running"}
Over(m) == mode[m] \in {"finished", "refused"}
Becomes(m, new) == mode' = [mode EXCEPT ![m] = new]

Init ==
    LET silence == [p \in Names |-> 0] IN
    /\ mode = [m \in Members |-> "down"]
    /\ ledger = [m \in Members |-> [sent |-> [p \in Releases |-> 0],
                                    charged |-> [p \in Releases |-> 0]]]
    /\ journal = [m \in Members |-> [begun |-> FALSE, starts |-> 0, noted |-> Nothing,
                                     said |-> [p \in Names \ Releases |-> 0],
                                     heard |-> [n \in Others(m) |-> silence]]]
    /\ head = [m \in Members |-> [starts |-> 0, newest |-> Nothing]]
    /\ heard = [m \in Members |-> [n \in Others(m) |-> silence]]
    /\ answers = [m \in Members |-> {}]
    /\ left = [m \in Members |-> [p \in Names |-> {}]]
    /\ crashes = [m \in Members |-> Crashes]
    /\ put = [done |-> FALSE, known |-> {}]

\* A member goes down, and has on disk what it heard up to some moment since it last stored it.
Falls(m, stored) ==
    /\ crashes[m] > 0
    /\ crashes' = [crashes EXCEPT ![m] = @ - 1]
    /\ Becomes(m, "down")
    /\ heard' = [heard EXCEPT ![m] = stored]
    /\ answers' = [answers EXCEPT ![m] = {}]

(***************************************************************************)
(* A start. Journal, ledger and head are compared, so that each tells      *)
(* whether another is an older copy; then nothing is sent. The start is    *)
(* recorded in the journal, then in the head. From then on neighbours may  *)
(* ask for what is on disk.                                                *)
(***************************************************************************)
Contradicts(noted, contents) ==
    \/ noted.turn > Latest(contents)
    \/ noted # Nothing /\ noted.turn = Latest(contents) /\ noted.content # contents[noted.turn]

OlderCopy(m) ==
    \/ /\ In("starts")
       /\ \/ journal[m].starts < head[m].starts
          \/ journal[m].starts > head[m].starts + 1
          \/ journal[m].begun /\ head[m].starts = 0
    \/ In("head") /\ Contradicts(head[m].newest, Bound(m))
    \/ In("noted") /\ Contradicts(journal[m].noted, ledger[m].sent)

Refuses(m) ==
    /\ mode[m] = "down" /\ OlderCopy(m)
    /\ Becomes(m, "refused")
    /\ UNCHANGED <<disks, memory, left, crashes, put>>

Starts(m) ==
    /\ mode[m] = "down" /\ ~OlderCopy(m)
    /\ \E cut \in BOOLEAN :
        /\ journal' = [journal EXCEPT
               ![m].starts = head[m].starts + 1,
               ![m].noted = At(ledger[m].sent, Latest(ledger[m].sent)),
               ![m].begun = @ \/ ~cut]
        /\ head' = [head EXCEPT
               ![m].newest = At(Bound(m), Latest(Bound(m))),
               ![m].starts = IF cut THEN @ ELSE @ + 1]
        /\ IF cut
           THEN Falls(m, heard[m]) /\ UNCHANGED left
           ELSE /\ Becomes(m, IF Newest(m) = Word THEN "running" ELSE "meeting")
                /\ left' = [left EXCEPT ![m] = [p \in Names |-> @[p] \cup ({Own(m)[p]} \ {0})]]
                /\ UNCHANGED <<memory, crashes>>
    /\ UNCHANGED <<ledger, put>>

(***************************************************************************)
(* Hearing. What left may be lost, late or repeated, and is asked for.     *)
(***************************************************************************)
Forged == 9  \* what others made up in the name of a member

Offered(n, p) == left[n][p] \cup IF In("signatures") THEN {} ELSE {Forged}

\* What a member may have heard of another by now.
Arrived(m, n) ==
    LET open == {p \in Names : heard[m][n][p] = 0 /\ Offered(n, p) # {}} IN
    {[p \in Names |-> IF p \in open THEN new[p] ELSE heard[m][n][p]] : new \in
        {f \in [open -> {0, 1, 2, Forged}] : \A p \in open : f[p] \in {0} \cup Offered(n, p)}}

\* Elsewhere what is stored is decided with the next message or crash. Here it is needed before: it
\* is what an owner may rely on who puts a whole machine back.
Stores(m) ==
    /\ Up(m) /\ In("heard") /\ Machine \in PutBacks /\ ~put.done
    /\ \E n \in Others(m) : \E contents \in Arrived(m, n) :
        /\ contents # journal[m].heard[n]
        /\ heard' = [heard EXCEPT ![m][n] = contents]
        /\ journal' = [journal EXCEPT ![m].heard = heard'[m]]
    /\ UNCHANGED <<mode, ledger, head, answers, left, crashes, put>>

\* A second content under one name: both are kept as evidence, and nothing more is sent.
Contradicted(m, n) ==
    /\ Up(m)
    /\ \E p \in Names : heard[m][n][p] # 0 /\ left[n][p] \ {heard[m][n][p]} # {}
    /\ Becomes(m, "refused")
    /\ UNCHANGED <<disks, memory, left, crashes, put>>

(***************************************************************************)
(* Greeting. Before a member makes anything, all neighbours say what they  *)
(* have of it, and where they are. It refuses if they have more than it    *)
(* knows of, or could not be there without.                                *)
(***************************************************************************)
Greets(m, n) ==
    LET turn == IF Newest(n) = Word THEN Rounds ELSE Newest(n) IN
    /\ mode[m] = "meeting" /\ n \notin answers[m] /\ Up(n)
    /\ \E contents \in Arrived(n, m) :
        /\ heard' = [heard EXCEPT ![n][m] = contents]
        /\ answers' = [answers EXCEPT ![m] = @ \cup {n}]
        /\ Becomes(m,
             IF In("greeting") /\ (Latest(contents) > Newest(m) \/ turn > Newest(m) + 1)
             THEN "refused"
             ELSE IF answers'[m] = Others(m) THEN "running" ELSE "meeting")
    /\ UNCHANGED <<disks, left, crashes, put>>

(***************************************************************************)
(* Sending. What was heard is stored before it is used. Then a message is  *)
(* committed, a release with its charge; noted in the journal if it is a   *)
(* release; bound, that is, noted in the head; and published.              *)
(***************************************************************************)
Steps == IF In("commit first") THEN <<"commit", "note", "bind", "publish">>
                               ELSE <<"publish", "commit", "note", "bind">>

\* Words of one member are all alike; any other message that is made again is another.
Fresh(m, p) == IF p = Word THEN 1 ELSE Cardinality(left[m][p]) + 1

\* What a member has heard when it uses all neighbours' messages of a turn; none is before turn 1.
Takes(m, p) ==
    IF p = 0 THEN {heard[m]}
    ELSE {[n \in Others(m) |-> [heard[m][n] EXCEPT ![p] = used[n]]] : used \in
             {u \in [Others(m) -> {1, 2, Forged}] : \A n \in Others(m) :
                 u[n] \in IF heard[m][n][p] # 0 THEN {heard[m][n][p]} ELSE Offered(n, p)}}

Sends(m) ==
    LET p == Newest(m) + 1  content == Fresh(m, p)  release == p \in Releases IN
    /\ mode[m] = "running" /\ p \in Names
    /\ \E last \in 1..4, taken \in Takes(m, p - 1) :
        LET done == {Steps[i] : i \in 1..last}
            stored == IF In("heard") THEN taken ELSE journal[m].heard
            committed == "commit" \in done
            noted == "note" \in done
            charged == IF In("charge") THEN committed ELSE noted
        IN
        /\ ledger' = [ledger EXCEPT
               ![m].sent = IF release /\ committed THEN [@ EXCEPT ![p] = content] ELSE @,
               ![m].charged = IF release /\ charged THEN [@ EXCEPT ![p] = @ + 1] ELSE @]
        /\ journal' = [journal EXCEPT
               ![m].heard = stored,
               ![m].said = IF ~release /\ committed THEN [@ EXCEPT ![p] = content] ELSE @,
               ![m].noted = IF release /\ noted THEN [turn |-> p, content |-> content] ELSE @]
        /\ head' = [head EXCEPT
               ![m].newest = IF "bind" \in done /\ p \in DOMAIN Bound(m)
                             THEN [turn |-> p, content |-> content] ELSE @]
        /\ left' = [left EXCEPT
               ![m][p] = IF "publish" \in done THEN @ \cup {content} ELSE @]
        /\ IF last < 4 THEN Falls(m, stored)
           ELSE /\ heard' = [heard EXCEPT ![m] = taken]
                /\ UNCHANGED <<mode, crashes, answers>>
    /\ UNCHANGED put

(***************************************************************************)
(* The end. Who has said its word serves the others until it has heard     *)
(* theirs, or until nobody is there who would say one.                     *)
(***************************************************************************)
Finishes(m) ==
    /\ mode[m] = "running" /\ Newest(m) = Word
    /\ \A n \in Others(m) : left[n][Word] # {} \/ Over(n)
    /\ Becomes(m, "finished")
    /\ UNCHANGED <<disks, memory, left, crashes, put>>

\* Nothing came from a neighbour for as long as the manifest says: it has gone for good.
GivesUp(m) ==
    /\ \E n \in Others(m) :
        /\ Over(n)
        /\ \/ mode[m] = "meeting" /\ n \notin answers[m]
           \/ mode[m] = "running" /\ Newest(m) \in Turns
    /\ Becomes(m, "refused")
    /\ UNCHANGED <<disks, memory, left, crashes, put>>

(***************************************************************************)
(* What goes wrong. Files only grow, so an older copy is a part of what is *)
(* there. Copies that are put back together may be of different ages.      *)
(***************************************************************************)
Crash(m) ==
    /\ Up(m)
    /\ IF In("heard")
       THEN \E stored \in [Others(m) -> UNION {Arrived(m, n) : n \in Others(m)}] :
               /\ \A n \in Others(m) : stored[n] \in Arrived(m, n)
               /\ Falls(m, stored)
               /\ journal' = [journal EXCEPT ![m].heard = stored]
       ELSE Falls(m, journal[m].heard) /\ UNCHANGED journal
    /\ UNCHANGED <<ledger, head, left, put>>

OlderLedgers(m) ==
    {[sent |-> Cut(ledger[m].sent, p), charged |-> Cut(ledger[m].charged, p)] :
        p \in 0..Latest(ledger[m].sent)}

OlderJournals(m) ==
    {[begun |-> journal[m].begun,
      starts |-> age[1],
      noted |-> IF journal[m].noted.turn <= age[2] THEN journal[m].noted
                ELSE At(ledger[m].sent, Latest(Cut(ledger[m].sent, age[2]))),
      said |-> Cut(journal[m].said, age[2]),
      heard |-> [n \in Others(m) |-> Cut(journal[m].heard[n], age[3])]] :
        age \in {a \in (0..journal[m].starts) \X (0..Newest(m)) \X Names :
                     a[3] \in {a[2], a[2] + 1}}}

OlderHeads(m) ==
    {[starts |-> age[1],
      newest |-> IF head[m].newest.turn <= age[2] THEN head[m].newest
                 ELSE At(Bound(m), Latest(Cut(Bound(m), age[2])))] :
        age \in (0..head[m].starts) \X (0..head[m].newest.turn)}

\* What others have on disk of a member, or would have if they stored what they hear.
Known(m) ==
    LET of(n) == IF In("heard") THEN journal[n].heard[m] ELSE heard[n][m] IN
    UNION {{<<m, p, of(n)[p]>> : p \in {q \in Names : of(n)[q] # 0}} : n \in Others(m)}

PutsBack(m) ==
    /\ mode[m] = "down" /\ ~put.done
    /\ \E parts \in PutBacks :
        /\ \E older \in (IF "ledger" \in parts THEN OlderLedgers(m) ELSE {ledger[m]}) :
            ledger' = [ledger EXCEPT ![m] = older]
        /\ \E older \in (IF "state" \in parts THEN OlderJournals(m) ELSE {journal[m]}) :
            /\ journal' = [journal EXCEPT ![m] = older]
            /\ heard' = [heard EXCEPT ![m] = older.heard]
        /\ \E older \in (IF "keys" \in parts THEN OlderHeads(m) ELSE {head[m]}) :
            head' = [head EXCEPT ![m] = older]
    /\ disks' # disks
    /\ put' = [done |-> TRUE, known |-> Known(m)]
    /\ UNCHANGED <<mode, answers, left, crashes>>

(***************************************************************************)
(* Runs.                                                                   *)
(***************************************************************************)
\* What happens in the end, unless something else goes wrong. A message that has not arrived comes
\* from a member that is up, because it is asked for.
Proceeds(m) ==
    \/ Refuses(m) \/ Starts(m) \/ Finishes(m) \/ GivesUp(m)
    \/ /\ Newest(m) > 0 => \A n \in Others(m) : Up(n) \/ heard[m][n][Newest(m)] # 0
       /\ Sends(m)
    \/ \E n \in Others(m) : Greets(m, n)

Next ==
    \E m \in Members :
        \/ Proceeds(m) \/ Sends(m) \/ Stores(m)
        \/ \E n \in Others(m) : Contradicted(m, n)
        \/ Crash(m) \/ PutsBack(m)

Spec == Init /\ [][Next]_vars /\ \A m \in Members : WF_vars(Proceeds(m))

(***************************************************************************)
(* What must hold.                                                         *)
(***************************************************************************)
\* Nothing leaves a member under one name with two contents.
OneAnswer == \A m \in Members, p \in Names : Cardinality(left[m][p]) <= 1

\* Where a whole machine was put back: no second content to what a neighbour then had on disk.
OneKnownAnswer == \A known \in put.known : left[known[1]][known[2]] = {known[3]}

\* A member that takes part has charged every release that ever left it, once.
Charged ==
    \A m \in Members, p \in Releases :
        /\ ledger[m].charged[p] <= 1
        /\ mode[m] \in {"running", "finished"} /\ left[m][p] # {} => ledger[m].charged[p] = 1

\* Nobody has heard what its sender did not make.
Made ==
    \A m \in Members : \A n \in Others(m), p \in Names :
        heard[m][n][p] # 0 => heard[m][n][p] \in left[n][p]

\* Crashes alone make nobody refuse.
NobodyRefuses == put.done \/ \A m \in Members : mode[m] # "refused"

\* Nobody stands still. As every step is one forward, all finish or refuse in the end.
Ends == (\A m \in Members : Over(m)) \/ \E m \in Members : ENABLED Proceeds(m)

\* The same as a property of whole behaviours, which takes longer to check.
AllEnd == <>(\A m \in Members : Over(m))

Alike == Permutations(Members)
=============================================================================
