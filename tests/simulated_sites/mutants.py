"""Mistakes that the watchers must find: each takes a line of defence out, or hurries."""

from __future__ import annotations

from tacit.deploy.agreement.binding import Binding
from tacit.deploy.member import greetings, process, sending
from tacit.deploy.member.ending import Ending
from tacit.deploy.member.greetings import Greetings
from tacit.deploy.member.peers import Neighbours
from tacit.deploy.member.sending import Sender
from tacit.deploy.member.session import Session
from tacit.deploy.member.sum_session import SumSession
from tacit.deploy.messages import handshake, mailbox, wire
from tacit.deploy.messages.heard import HeardStore
from tacit.deploy.messages.journal import Journal
from tacit.deploy.messages.mailbox import Mailbox
from tacit.deploy.messages.outgoing import Outgoing
from tacit.deploy.waited import Waited
from tacit.privacy.ledger import Ledger, lock, store
from tests.simulated_sites.planting import Change, Mutant


def _mutant(name: str, why: str, watchers: str, *changes: Change, shape: str = "") -> Mutant:
    return Mutant(name, why, changes, tuple(watchers.split()), shape)


_ANY = "one_answer charged_once committed_first all_end same_model no_traceback"

MUTANTS = (
    _mutant(
        "published before it is stored",
        "a kill between the two makes a second answer",
        "committed_first one_answer",
        Change(
            Sender,
            "send",
            "self._outgoing.commit(made, after, recipients, charge)",
            "self._neighbours.transport.publish(made.key, made.data)\n"
            "    self._outgoing.commit(made, after, recipients, charge)",
        ),
    ),
    _mutant(
        "released without a charge",
        "a budget that is not counted protects nobody",
        "charged_once",
        Change(
            Outgoing, "commit", "if charge is not None and self._account is not None:", "if False:"
        ),
        shape="ring",
    ),
    _mutant(
        "charged in one transaction, stored in another",
        "a kill between the two charges a release twice, or keeps it from ever being made",
        "charged_once all_end",
        Change(
            Ledger,
            "prepare",
            '        with self._writer.writing("release", what) as sequence:\n',
            '        with self._writer.writing("release", what) as sequence:\n'
            "            pass\n"
            "        with store.transaction(self._writer._connection):\n",
        ),
    ),
    _mutant(
        "begun again after a restart",
        "every question is answered again, with other noise",
        _ANY,
        Change(Outgoing, "resume", "newest = self._newest()", "newest = None"),
    ),
    _mutant(
        "the state before a message stored with it",
        "what follows a restart is computed from the wrong state",
        "same_model all_end one_answer no_traceback",
        Change(
            Session,
            "_send",
            "self._keep(turn, arrays, after, charge)",
            "self._keep(turn, arrays, state, charge)",
        ),
    ),
    _mutant(
        "a second content accepted",
        "what was used can be replaced",
        "one_content",
        Change(
            Mailbox, "offer", "if heard is None or heard.digest == received.digest:", "if True:"
        ),
    ),
    _mutant(
        "two contents not kept",
        "nobody can show what a neighbour did",
        "one_content",
        Change(
            HeardStore,
            "contradicted",
            "return keep(self._journal.path.parent, self._journal.run, name, conflict)",
            "return name",
        ),
    ),
    _mutant(
        "neighbours not believed about what they have",
        "a machine that was put back answers again",
        "one_answer",
        Change(
            Neighbours, "_check_state", "list(self._greetings.answers.items())", "list({}.items())"
        ),
        shape="ring",
    ),
    _mutant(
        "one neighbour asked before anything is sent",
        "only another one may know of the newest message",
        "one_answer one_content",
        Change(
            Neighbours,
            "meet",
            "silent = [i for i in self.cards if i not in self._greetings.answers]",
            "silent = [] if self._greetings.answers else list(self.cards)",
        ),
        shape="ring",
    ),
    _mutant(
        "heard not stored",
        "a neighbour that restarts has forgotten what it heard",
        "one_answer",
        Change(HeardStore, "keep", "self.note(heard)", "pass"),
        shape="ring, skip",
    ),
    _mutant(
        "used before it is stored",
        "a neighbour that restarts has forgotten what it used",
        "heard_first",
        Change(Neighbours, "take", "self.keep_heard()", "pass"),
    ),
    _mutant(
        "greetings of any question believed",
        "an older answer hides that a state was lost",
        "greetings_fresh",
        Change(
            handshake,
            "read_hello",
            'if Question(said["asked"], said["asker"], said["nonce"]) != question:',
            "if False:",
            also=(greetings,),
        ),
    ),
    _mutant(
        "an older state not refused by the binding",
        "only neighbours notice it, and a coordinator does not ask them",
        _ANY,
        Change(Binding, "catch_up", "if position < newest:", "if False:"),
        Change(Binding, "check", "if own.starts < starts:", "if False:"),
        Change(Binding, "record", "if position <= newest[0]:", "if False:"),
        shape="masks",
    ),
    _mutant(
        "another folder of state accepted",
        "a second process with an empty folder begins the run again",
        _ANY,
        Change(
            Binding,
            "check",
            "if known is not None and (own is None or own.state != known[0]):",
            "if known is not None and own is None:\n        return None\n    if False:",
        ),
    ),
    _mutant(
        "not bound",
        "nothing says which state serves a run",
        _ANY,
        Change(process, "_part", "binding.bind(digest_of(keys, prepared))", "pass"),
    ),
    _mutant(
        "a state that was marked is recorded only when a message is made",
        "a second kill before that leaves a state that is refused for ever",
        "all_end",
        Change(Binding, "bind", "elif self._known is None:", "elif False:"),
    ),
    _mutant(
        "a release noted in the ledger and the journal alone",
        "where both stand apart from the keys, older copies of both look new",
        "one_answer charged_once",
        Change(
            Outgoing,
            "commit",
            "if self._binding is not None and self._apart:",
            "if False:",
        ),
        shape="ring, ledgers of the owners",
    ),
    _mutant(
        "commits that do not wait for the disk",
        "a power cut takes what has left",
        _ANY,
        Change(lock, "make_durable", "synchronous = FULL", "synchronous = NORMAL", also=(store,)),
    ),
    _mutant(
        "forgotten before the neighbours have it",
        "who missed it can never get it",
        "all_end patience_kept",
        Change(Outgoing, "settle", "self._forget(self._rows, before)", "before += 1; every = 0"),
    ),
    _mutant(
        "missing messages not asked for",
        "a lost message stops a run",
        "all_end no_standstill patience_kept",
        Change(
            Neighbours,
            "wait",
            "self.ask([Address(self._terms.run, sender, *at) for sender in missing])",
            "pass",
        ),
    ),
    _mutant(
        "a message made anew after a restart",
        "its noise is another",
        _ANY,
        Change(Session, "_turns", "again=turn.position == sent", "again=False"),
    ),
    _mutant(
        "no farewell",
        "who is one message behind waits for ever",
        "all_served all_end no_needless_timeout",
        Change(
            Ending,
            "farewell",
            "most = LINGER if again else max(self._terms.patience, LINGER)",
            "most = -1.0",
        ),
    ),
    _mutant(
        "back in the round that was missed",
        "who was away answers a round that the others have left",
        "absences_kept one_answer all_end nobody_left_behind",
        Change(
            Neighbours,
            "come_in_again",
            "first = schedule.next_round(schedule.next_round(position))",
            "first = schedule.next_round(here)",
        ),
        shape="ring, skip",
    ),
    _mutant(
        "a mask without its slot, cohort and announcement",
        "two tries of one sum have one mask",
        "one_mask",
        Change(
            SumSession,
            "_reply",
            "label = mask_label(self._terms.run, at.round, at.phase, slot, cohort, self._asked)",
            "label = mask_label(self._terms.run, at.round, at.phase, 0, [], b'')",
        ),
        shape="masks",
    ),
    _mutant(
        "a sum of whoever answered",
        "masks do not cancel",
        "all_end same_model",
        Change(SumSession, "_gather", "if len(received) < len(cohort):", "if not received:"),
        shape="masks",
    ),
    _mutant(
        "the key for masks kept",
        "whoever gets it later removes all masks",
        "mask_keys_gone",
        Change(process, "_take_part", "forget(keys, manifest.run)", "pass"),
        shape="masks",
    ),
    _mutant(
        "the key for masks deleted before there is a result",
        "a kill between the two leaves neither",
        "mask_keys_gone all_end",
        Change(
            process,
            "_take_part",
            "solution = party.run(transport)",
            "solution = party.run(transport); forget(keys, manifest.run)",
        ),
        shape="masks",
    ),
    _mutant(
        "no lock",
        "two processes with one state answer one question twice",
        _ANY,
        Change(lock.FileLock, "__init__", 'self._file.execute("BEGIN EXCLUSIVE")', "pass"),
        Change(Binding, "_begin", 'self._file.execute("PRAGMA locking_mode = EXCLUSIVE")', "pass"),
        shape="masks",
    ),
    _mutant(
        "signatures not checked",
        "anything is used that arrives",
        "nothing_invented one_content",
        Change(
            wire,
            "decode",
            "key.verify(signature, _signed(data[: _HEAD.size], digest))",
            "pass",
            also=(mailbox, sending),
        ),
    ),
    _mutant(
        "errors of the disk ignored",
        "what could not be stored leaves",
        "committed_first one_answer no_traceback",
        Change(
            Journal,
            "_telling",
            "except sqlite3.Error as error:",
            "except sqlite3.Error as error:\n        return",
        ),
    ),
    _mutant(
        "who has finished is waited for",
        "who was away in the last rounds never ends",
        "all_end",
        Change(
            Neighbours,
            "wait",
            "if may_skip and self.mailbox.finished and not awaited:",
            "if False:",
        ),
        shape="ring, skip",
    ),
    _mutant(
        "who has finished is waited for beside one who is silent",
        "neighbours that are started again one at a time never let who was away end",
        "all_end",
        Change(
            Neighbours,
            "wait",
            "awaited = set(self.unfinished()) - set(silent)",
            "awaited = set(self.unfinished())",
        ),
        shape="ring, skip",
    ),
    _mutant(
        "who was left out is not waited for after a new start",
        "who was left out has seconds to come back to neighbours that are started again for it",
        "all_end",
        Change(
            Ending,
            "farewell",
            "self._neighbours.unfinished(left_out=again)",
            "self._neighbours.unfinished()",
        ),
        shape="ring, skip",
    ),
    _mutant(
        "who has finished is waited for as if it waited itself",
        "nothing else comes from it, and who waits is itself waited for",
        "nobody_left_behind",
        Change(
            Neighbours,
            "_times",
            "if self._terms.skipping and sender in self.mailbox.finished:",
            "if False:",
        ),
        shape="ring, skip",
    ),
    _mutant(
        "rounds in which a member took part at last told as an absence",
        "who was killed before it came in again goes on where it was",
        "absences_kept",
        Change(
            Neighbours,
            "remember_absences",
            "self._absences.not_yet_back(",
            "(lambda *_: None)(",
        ),
        shape="ring, skip",
    ),
    _mutant(
        "a second content that is out of bounds not kept",
        "who answered twice is not told apart from who diverged",
        "one_content",
        Change(Mailbox, "offer", "if heard is None and not ended", "if not ended"),
    ),
    _mutant(
        "who is silent is not asked whether it has finished",
        "who begins in the last rounds never learns that nobody waits for it",
        "all_end",
        Change(Neighbours, "wait", "if may_skip or self._terms.early:", "if self._terms.early:"),
        shape="ring, skip",
    ),
    _mutant(
        "a coordinator that ended early is not asked for its last word",
        "who was away when it was said waits for a message that is never made",
        "nobody_left_behind",
        Change(Neighbours, "wait", "if may_skip or self._terms.early:", "if may_skip:"),
        shape="masks",
    ),
    _mutant(
        "where a neighbour was is forgotten when it goes on",
        "who waited beside it gives it up before its message is there",
        "patience_kept",
        Change(
            Greetings,
            "take",
            "min(hello.round, self._earliest.get(sender, hello.round))",
            "hello.round",
        ),
    ),
    _mutant(
        "a coordinator that went on is given up as if it were silent",
        "who was left out ends while the coordinator waits for somebody else",
        "patience_kept",
        Change(Neighbours, "_times", "(there > here and not above)", "there > here"),
        shape="masks",
    ),
    _mutant(
        "a sum that is over is waited for",
        "who comes back and the coordinator wait for each other",
        "no_standstill",
        Change(
            Neighbours,
            "notice_that_they_went_on",
            "if self._terms.early and turn.phase.sender is Role.SERVER:",
            "if False:",
        ),
        shape="masks",
    ),
    _mutant(
        "a sum that was announced meanwhile is not asked for",
        "who comes back and the coordinator wait for each other",
        "no_standstill",
        Change(
            Neighbours,
            "_ask_for_announced",
            "if self._terms.early and self._terms.skipping and turn.phase.sender is Role.SERVER:",
            "if False:",
        ),
        shape="masks",
    ),
    _mutant(
        "what was heard before a start tells of no later sum",
        "who comes back and the coordinator wait for each other",
        "no_standstill",
        Change(
            Neighbours,
            "notice_that_they_went_on",
            "newest = max(map(self.mailbox.newest, self.cards))",
            "newest = max(self.mailbox.reached.values())",
        ),
        shape="masks",
    ),
    _mutant(
        "time in which a member was stopped counts as waiting",
        "it gives up its neighbours as it goes on, before it has asked them",
        "patience_kept",
        Change(Waited, "__call__", "if gap > self._most:", "if False:"),
    ),
    _mutant(
        "a beginning that was recorded on one side alone is not recorded on the other",
        "who was killed twice as it began is refused for ever",
        "all_end",
        Change(Binding, "bind", "elif self._known is None:", "elif False:"),
    ),
    _mutant(
        "a folder of state that cannot be made is not told of",
        "a full disk ends in a traceback",
        "no_traceback",
        Change(
            process,
            "_part",
            "    except OSError as error:\n        raise ConfigError(",
            "    except ZeroDivisionError as error:\n        raise ConfigError(",
        ),
    ),
    _mutant(
        "who adds up beside an agent asks nobody before it sends",
        "what its agent is asked was put back with it",
        "one_answer",
        Change(
            Neighbours,
            "meet",
            "asking = not self._coordinator or self._terms.beside",
            "asking = not self._coordinator",
        ),
        shape="peers that add up",
    ),
    _mutant(
        "an agent begins although who adds up beside it is refused",
        "the newest state is refused later, since one of its parts was started anew",
        "all_end",
        Change(
            process,
            "run",
            "check_adding(keys, manifest.run, options.state / ADDING, len(manifest.agents))",
            "pass",
        ),
        shape="peers that add up",
    ),
    _mutant(
        "who ended early goes back to a round that never was",
        "a state that is whole is taken for an older copy",
        "all_end",
        Change(
            Session,
            "run",
            "self.progress.round = self.rounds - 1",
            "self.progress.round = self._schedule.rounds - 1",
        ),
        shape="peers that add up",
    ),
    _mutant(
        "a coordinator is waited for no longer than it waits",
        "while it waits for one client, it is given up by the others",
        "patience_kept",
        Change(Neighbours, "_times", "return 4 if above else 2", "return 2"),
        shape="masks",
    ),
    _mutant(
        "a ledger that does not compare what it is asked",
        "another answer to one question leaves uncharged",
        "charged_once one_answer",
        Change(Ledger, "_check_same", "if other:", "if False:"),
        Change(
            Ledger,
            "stored",
            "if found is not None and found.input_hash != input_hash:",
            "if False:",
        ),
    ),
)


def named(name: str) -> Mutant:
    """A mistake by its name."""
    return next(each for each in MUTANTS if each.name == name)
