#!/usr/bin/python3
"""What the guard of a controller promises, stated once and proved by z3 (Debian: python3-z3) for any number of workers,
any bound and any answers of a policy.

An event is the smallest change that include/rubato/sync makes to the state in state.py; a call of a controller is some
of them: the host's own (phase idle), those that the policy orders, as it likes (asking), and the guard's (guarding,
then idle again). Each invariant holds at the start, and after every event that begins where all hold. Workers W,
gradients G, tickets T and rounds R are uninterpreted sorts, clocks integers. checker.py makes C++ of the same events.

Each event, each branch of one, and each limit is shown to occur, in a world of three workers, gradients, tickets and
rounds; and each `rule` is weakened in turn, which must break the proof.

usage: shield.py     a line a group of obligations, then a summary; exit status 1 if anything is not as it should be
"""
import sys

from z3 import And, FreshConst, If, Implies, Not, Or

import logic
import parts
from state import (BOOL, INT, VERDICT, Shield, abandoned, absent, accumulate, admitted, answered, applied, apply,
                   asking, discarding, drop, dropped, flushed, flushing, fresh, gone, guarding, held, idle, joining,
                   opened, out, over, parked, released, running, unborn, unused, waiting)


class Events:
    # --- the host's
    def join(e, s, w: "W"):
        e.need(s.phase == idle, e.rule("only who is not here", e.one_of(s.st(w), absent, gone)))
        e.put(w, st=joining, doomed=False)

    def seat(e, s, w: "W"):
        """A joining worker becomes a member, once enough have joined."""
        e.need(e.one_of(s.phase, idle, asking), s.st(w) == joining)
        e.need(e.rule("not before the commit of its former life", Not(s.sent(w))))
        parts.come_in(e, s, w, s.policy_bound)
        e.put(w, st=parked)
        e.put(started=True, phase=asking)

    def depart(e, s, w: "W", least: INT):
        """A worker leaves, has finished, or is lost."""
        e.ends = (w, None)
        e.need(s.phase == idle, e.one_of(s.st(w), joining, running, released, admitted, parked))
        e.either("others remain", s.some(lambda v: And(v != w, s.counts(v))), of=e.either("counts", s.counts(w)))
        parts.go_out(e, s, w, least)
        parts.abandon_ticket(e, s, w)
        e.put(w, st=gone, has=False, excluded=False)
        e.put(phase=e.either("started", s.started, asking, idle))

    def admit(e, s, w: "W", g: "G", what: VERDICT):
        e.need(s.phase == idle, s.fate(g) == unborn, e.one_of(what, apply, accumulate, drop))
        e.need(e.rule("once a step", s.st(w) == running, Or(s.st(w) == running, s.st(w) == admitted)))
        e.need(e.rule("what is doomed is dropped", Implies(e.either("doomed", s.doomed(w)), what == drop)))
        e.put(g, fate=out, owner=w, verdict=what, round=s.current, vain=s.doomed(w))
        e.put(w, st=admitted, sent=True, token=g)
        e.put(filled=Or(s.filled, what == accumulate))

    def commit(e, s, g: "G", ok: BOOL):
        w, r, kept = s.owner(g), s.round(g), s.verdict(g) == accumulate
        e.ends = (w, g)
        e.need(s.phase == idle, s.sent(w), e.rule("by its token, not by its worker", s.token(w) == g))
        here = e.either("in this life", s.st(w) == admitted)
        last = And(kept, Or(s.round_is(r) == flushing, s.round_is(r) == discarding), Not(s.awaited(r, but=g)))
        last = e.either("the last of a closed round", e.rule("the last one ends its round", last, False))
        how = e.either("to be flushed", s.round_is(r) == flushing, flushed, dropped, of=last)
        fate = If(kept, If(last, how, waiting), If(s.verdict(g) == apply, applied, dropped))
        fate = e.either("ok", ok, fate, dropped)
        e.one_of(fate, waiting, applied, flushed, dropped)
        parts.end_round(e, s, r, last, how, g, fate)
        e.put(r, round_is=If(last, over, s.round_is(r)))
        e.put(w, sent=False, st=If(here, parked, s.st(w)), clock=s.clock(w) + If(here, 1, 0))
        others = s.some(lambda v: And(v != w, s.counts(v), s.clock(v) == s.m))
        lowest = And(e.either("counts", s.counts(w), of=here), here, s.clock(w) == s.m)
        alone = e.either("alone at the minimum", e.rule("the minimum stays with others", Not(others), True), of=lowest)
        e.put(m=s.m + If(And(lowest, alone), e.rule("the minimum moves", 1, 0), 0))
        useful = e.either("useful", And(here, s.verdict(g) != drop), of=here)
        e.put(may_cancel=Or(s.may_cancel, useful), batches=If(useful, 0, s.batches), phase=asking)

    def give(e, s, w: "W", t: "T"):
        """A worker waits with this ticket, from a join, a commit or a pull; it runs if it was released already."""
        e.need(s.ticket_is(t) == fresh, e.one_of(s.st(w), joining, released, admitted, parked))
        free = s.st(w) == released
        parts.abandon_ticket(e, s, w)
        e.put(t, ticket_is=If(free, answered, held), parks=s.parks(t) + 1, stops=s.stops(t) + If(free, 1, 0), holder=w)
        e.put(w, has=Not(free), ticket=t, st=If(free, running, s.st(w)), doomed=And(s.doomed(w), Not(free)))

    def reply(e, s, w: "W", t: "T", terms: BOOL):
        """To a request that changes nothing: a running worker is told its terms again, all others are refused."""
        e.need(s.ticket_is(t) == fresh, Or(Not(terms), s.st(w) == running))
        e.put(t, ticket_is=e.either("terms", terms, answered, abandoned), stops=s.stops(t) + 1)

    def switch_to(e, s, to: INT):
        """Another policy and bound: the excluded come back, clocks are re-based and limited. `close` is apart."""
        e.need(s.phase == idle, to >= 0)
        e.somewhere("the guard's bound", "W", lambda w: s.guard_bound < to, of=s.excluded)
        parts.rebase(e, s, s.member, lambda w: If(And(s.excluded(w), s.guard_bound < to), s.guard_bound, to))
        e.each(excluded=lambda w: False)
        e.put(policy_bound=to, phase=e.either("started", s.started, asking, idle))

    def poll(e, s):
        e.need(s.phase == idle, s.started)
        e.put(phase=asking)

    def host_release(e, s, w: "W"):
        """A host's override, `force_release` (`readmit` is apart): outside the bound until it is released again."""
        e.need(s.phase == idle, s.st(w) == parked, s.counts(w))
        parts.go(e, s, w)
        e.put(w, exempt=e.rule("exempt", True, False))

    # --- what a policy orders
    def close(e, s, flush: BOOL, r: "R"):
        """The open round takes no more gradients; r is the next. By a decision, a verdict, or a switch."""
        e.need(s.filled, s.round_is(r) == unused)
        ready = e.either("all are in", e.rule("not before the last commit", Not(s.awaited(s.current))))
        parts.end_round(e, s, s.current, ready, e.either("flush", flush, flushed, dropped))
        e.put(s.current, round_is=If(ready, over, If(flush, flushing, discarding)))
        e.put(r, round_is=opened)
        e.put(current=r, filled=False)

    def release(e, s, w: "W"):
        """By a decision; or later, when a call left it over or the bound kept it back."""
        e.need(s.st(w) == parked, s.counts(w))
        top = s.m + parts.bound(e, s)
        e.need(e.rule("within the bound", s.clock(w) <= top, s.clock(w) <= top + 1))
        parts.go(e, s, w)

    def exclude(e, s, w: "W", least: INT):
        e.need(s.phase == asking, s.counts(w), s.some(lambda v: And(v != w, s.counts(v))))
        parts.go_out(e, s, w, least)
        withdrawn = e.rule("its promise is withdrawn", s.st(w) == released, False)
        e.put(w, excluded=True, st=e.either("released", withdrawn, parked, s.st(w)),
              doomed=Or(s.doomed(w), e.either("running", e.rule("its step is in vain", s.st(w) == running, False))))

    def readmit(e, s, w: "W"):
        e.need(e.one_of(s.phase, idle, asking), s.excluded(w), e.one_of(s.st(w), running, admitted, parked))
        parts.come_in(e, s, w, parts.bound(e, s) + If(s.st(w) == parked, 1, 0))
        e.put(w, excluded=False)

    def cancel(e, s, w: "W"):
        """Its push comes all the same, and is dropped. Somebody else stays busy, or will be released."""
        e.need(s.phase == asking, s.st(w) == running, Not(s.doomed(w)), e.rule("once a useful push", s.may_cancel))
        bound = parts.bound(e, s)
        e.need(s.some(lambda v: And(v != w, s.counts(v), Or(
            And(s.st(v) == running, Not(s.doomed(v))), s.st(v) == released, s.st(v) == admitted,
            And(s.st(v) == parked, s.clock(v) <= s.m + bound)))))
        e.put(w, doomed=True)
        e.put(cancels=True)

    def rebase(e, s, limit: INT, to: INT):
        """Clocks are re-based and limited, so that the policy's bound may fall to `to`."""
        e.need(s.phase == asking, limit >= 0, to >= 0)
        fits = Or(e.either("to the limit or more", to >= limit), e.either("no lower", to >= s.policy_bound))
        e.need(e.rule("not below what clocks are limited to", fits))
        parts.rebase(e, s, s.counts, lambda w: limit)
        e.put(policy_bound=to)

    def widen(e, s, to: INT):
        """A policy's bound may grow at any time."""
        e.need(to >= 0, e.rule("it does not fall", to >= s.policy_bound))
        e.put(policy_bound=to)

    # --- the guard's, at the end of every call that asks the policy
    def rescue(e, s, w: "W"):
        """If nobody counts, somebody who is excluded is readmitted."""
        needed = And(Not(s.some(s.counts)), s.some(s.excluded))
        e.need(s.phase == asking, Implies(needed, s.excluded(w)))
        needed = e.either("needed", e.rule("one comes back", needed, False))
        e.put(w, excluded=And(s.excluded(w), Not(needed)), exempt=And(s.exempt(w), Not(needed)))
        e.put(m=If(needed, s.clock(w), s.m), phase=guarding)

    def finish(e, s, w: "W"):
        """If nobody counted is busy, one of those at the minimum is released."""
        needed = s.idles()
        e.need(s.phase == guarding, Implies(needed, And(s.counts(w), e.rule("at the minimum", s.clock(w) == s.m))))
        cancels = e.either("somebody was cancelled", s.cancels)
        e.claim("whom the guard releases is parked", Implies(needed, s.st(w) == parked))
        parts.go(e, s, w, e.either("needed", e.rule("one is released", needed, False)))
        e.put(may_cancel=And(s.may_cancel, Not(cancels)), batches=s.batches + If(cancels, 1, 0), cancels=False)
        e.put(phase=idle)


def invariants(s):
    W, G, T, R = (lambda body, sort=sort: s.world.all(sort, body) for sort in "WGTR")
    one_of = lambda x, *choices: Or([x == choice for choice in choices])
    return [
        ("the minimum: a lower bound", W(lambda w: Implies(s.counts(w), s.m <= s.clock(w)))),
        ("the minimum: a witness", If(
            s.some(s.counts), s.some(lambda w: And(s.counts(w), s.clock(w) == s.m)), s.m == 0)),
        ("who has started is within s of the minimum", W(
            lambda w: Or(Not(s.busy(w)), s.exempt(w), s.clock(w) <= s.m + s.bound))),
        ("counted clocks take s + 2 values", And(s.policy_bound >= 0, s.guard_bound >= 0, W(
            lambda w: Or(Not(s.counts(w)), s.exempt(w), s.clock(w) <= s.m + s.policy_bound + 1)))),
        ("after a call somebody is busy or nobody parked", Implies(s.phase == idle, Not(s.idles()))),
        ("after a call somebody counts or nobody is excluded", Or(
            s.phase == asking, s.some(s.counts), Not(s.some(s.excluded)))),
        ("what the excluded do is in vain", W(lambda w: Implies(s.excluded(w), Or(
            s.st(w) == parked, s.st(w) == admitted, And(s.st(w) == running, s.doomed(w)))))),
        ("nobody counts before the start", Or(s.started, And(s.phase == idle, W(
            lambda w: Not(Or(s.member(w), s.excluded(w), s.sent(w))))))),
        ("each gradient ends exactly once", G(
            lambda g: s.ends(g) == If(one_of(s.fate(g), applied, flushed, dropped), 1, 0))),
        ("each gradient ends as was said", G(lambda g: And(
            Or(s.fate(g) != applied, s.verdict(g) == apply),
            Or(s.fate(g) == unborn, Not(s.vain(g)), s.verdict(g) == drop),
            Or(Not(one_of(s.fate(g), waiting, flushed)), s.verdict(g) == accumulate)))),
        ("a push that is out has one token", And(
            G(lambda g: Or(s.fate(g) != out, And(s.sent(s.owner(g)), s.token(s.owner(g)) == g))),
            W(lambda w: Or(Not(s.sent(w)), And(s.fate(s.token(w)) == out, s.owner(s.token(w)) == w))))),
        ("a worker with a push out does nothing else", W(lambda w: If(
            s.sent(w), one_of(s.st(w), admitted, joining, gone), s.st(w) != admitted))),
        ("a round lasts until its last commit", And(
            R(lambda r: (s.round_is(r) == opened) == (r == s.current)),
            G(lambda g: Implies(And(one_of(s.fate(g), out, waiting), s.verdict(g) == accumulate), If(
                s.round(g) == s.current, s.filled, one_of(s.round_is(s.round(g)), flushing, discarding)))))),
        ("a round lasts no longer than that", R(
            lambda r: Implies(one_of(s.round_is(r), flushing, discarding), s.awaited(r)))),
        ("each ticket is parked once, and answered or abandoned once", T(lambda t: And(
            s.stops(t) == If(one_of(s.ticket_is(t), answered, abandoned), 1, 0),
            s.parks(t) <= If(s.ticket_is(t) == fresh, 0, 1)))),
        ("a parked ticket is that of one worker", And(
            T(lambda t: Or(s.ticket_is(t) != held, And(s.has(s.holder(t)), s.ticket(s.holder(t)) == t))),
            W(lambda w: Or(Not(s.has(w)), And(s.ticket_is(s.ticket(w)) == held, s.holder(s.ticket(w)) == w))))),
        ("who has a ticket waits", W(lambda w: Or(Not(s.has(w)), one_of(s.st(w), joining, admitted, parked)))),
        ("one batch of cancellations a useful push", And(
            s.batches <= If(s.may_cancel, 0, 1), Implies(s.cancels, And(s.may_cancel, s.phase != idle))))]


def promises(e, s, n):
    """Of what event e leaves alone, from state s to n."""
    pushes = lambda s, w: Or(s.st(w) == running, s.st(w) == admitted)
    return [
        ("a push ends only by its own commit or a departure", And(
            s.world.all("W", lambda w: Or(Not(pushes(s, w)), w == e.ends[0], pushes(n, w))),
            s.world.all("G", lambda g: Or(s.fate(g) != out, g == e.ends[1], n.fate(g) == out)))),
        ("what has ended does not change", And(
            s.world.all("G", lambda g: Or(s.ends(g) == 0, n.fate(g) == s.fate(g))),
            s.world.all("T", lambda t: Or(s.stops(t) == 0, n.ticket_is(t) == s.ticket_is(t)))))]


def consequences(s):
    """Of the invariants: a group, a formula, and whether it is to hold always, or in one state at least."""
    a, b = (FreshConst(s.world.sort("W")) for _ in "ab")
    usual = And(s.counts(a), s.counts(b), Not(s.exempt(a)), Not(s.exempt(b)))
    span = s.clock(a) - s.clock(b) + 1
    yield ("the guard finds whom to release", Implies(s.idles(), s.some(
        lambda w: And(s.st(w) == parked, s.counts(w), s.clock(w) == s.m))), True)
    yield ("a ring of s + 2 counters has a place for each clock", Implies(usual, span <= s.policy_bound + 2), True)
    yield ("a ring of s + 1 counters has not", And(usual, span == s.policy_bound + 2), False)


if __name__ == "__main__":
    sys.exit(logic.main(Shield, Events, invariants, promises, consequences))
