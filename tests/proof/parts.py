"""What several events of shield.py have in common: each function adds to event e, which comes in state s."""
from z3 import And, BoolVal, If, Implies, Not

from state import abandoned, answered, parked, released, running, waiting


def come_in(e, s, w, lead):
    """w counts from now on, at its own clock moved into [m, m + lead]."""
    own, somebody = s.clock(w), s.some(s.counts)
    low = e.rule("not below the minimum", own < s.m, False)
    high = e.rule("not beyond the bound", own > s.m + lead, False)
    into = e.either("moved down", high, s.m + lead, own, of=And(somebody, Not(low)))
    into = e.either("moved up", low, s.m, into, of=somebody)
    e.put(w, clock=e.either("somebody counts", somebody, into, own), exempt=False)
    e.put(m=If(somebody, s.m, own))


def go_out(e, s, w, least):
    """w counts no longer; least: the minimum of the rest."""
    rest = lambda v: And(v != w, s.counts(v))
    least_of_rest = And(s.some(lambda v: And(rest(v), s.clock(v) == least)),
                        s.world.all("W", lambda v: Implies(rest(v), s.clock(v) >= least)))
    e.need(Implies(s.counts(w), If(s.some(rest), least_of_rest, least == 0)))
    e.either("another minimum", least != s.m, of=s.counts(w))
    e.put(m=If(e.rule("the minimum moves", s.counts(w), False), least, s.m))


def bound(e, s):
    return e.either("the guard's bound", s.guard_bound < s.policy_bound, s.guard_bound, s.policy_bound)


def go(e, s, w, when=BoolVal(True)):
    """w is released: it runs, or its step waits for a ticket."""
    t, given = s.ticket(w), And(when, s.has(w))
    e.put(t, ticket_is=If(given, answered, s.ticket_is(t)), stops=s.stops(t) + If(given, 1, 0))
    e.put(w, st=If(when, e.either("with a ticket", s.has(w), running, released, of=when), s.st(w)),
          has=And(s.has(w), e.rule("its ticket is used up", Not(given))),
          doomed=And(s.doomed(w), Not(given)), exempt=And(s.exempt(w), Not(when)))


def abandon_ticket(e, s, w):
    t, has = s.ticket(w), e.rule("its ticket is abandoned", s.has(w), False)
    e.put(t, ticket_is=e.either("with a ticket", has, abandoned, s.ticket_is(t)), stops=s.stops(t) + If(has, 1, 0))


def rebase(e, s, whose, most):
    """Clocks count from the minimum; whose(w) are limited to most(w), and to one more where w is parked."""
    limits, apart = e.rule("clocks are limited", True, False), e.rule("the parked alone to one more", True, False)
    behind, waits = lambda w: s.clock(w) < s.m, lambda w: s.st(w) == parked
    lead = lambda w: If(behind(w), 0, s.clock(w) - s.m)
    top = lambda w: most(w) + If(And(apart, Not(waits(w))), 0, 1)
    beyond = lambda w: lead(w) > top(w)
    e.somewhere("behind the minimum", "W", behind)
    e.somewhere("limited", "W", beyond, of=whose)
    e.somewhere("one of those who are limited", "W", whose, of=beyond)
    e.somewhere("parked gets one more", "W", waits, of=lambda w: And(whose(w), lead(w) > most(w)))
    e.each(clock=lambda w: If(And(limits, whose(w), beyond(w)), top(w), lead(w)))
    e.put(m=0)


def end_round(e, s, r, when, how, own=None, fate=None):
    """Where `when`, all that waits in round r ends; gradient `own`, if any, has a fate of its own."""
    kept = lambda g: And(s.fate(g) == waiting, s.round(g) == r)
    e.either("gradients wait", s.world.any("G", kept), of=when)
    def after(g):
        swept = If(And(when, kept(g)), how, s.fate(g))
        return swept if own is None else If(g == own, fate, swept)
    e.each(fate=after, ends=lambda g: s.ends(g) + If(And(after(g) != s.fate(g), after(g) != waiting), 1, 0))
