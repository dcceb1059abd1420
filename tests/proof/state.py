"""What a controller's state is to shield.py: the fields, at the start of everything, and what is said of them there."""
from z3 import And, BoolSort, EnumSort, If, IntSort, Not, Or

import logic

kind = lambda name, words: EnumSort(name, words.split())
STATE, (absent, joining, running, released, admitted, parked, gone) = kind(
    "state", "absent joining running released admitted parked gone")
FATE, (unborn, out, waiting, applied, flushed, dropped) = kind("fate", "unborn out waiting applied flushed dropped")
VERDICT, (apply, accumulate, drop) = kind("verdict", "apply accumulate drop")
ROUND, (unused, opened, flushing, discarding, over) = kind("round", "unused opened flushing discarding over")
TICKET, (fresh, held, answered, abandoned) = kind("ticket", "fresh held answered abandoned")
PHASE, (idle, asking, guarding) = kind("phase", "idle asking guarding")
INT, BOOL = IntSort(), BoolSort()
FIELDS = [  # see logic.State
    ("st", "W", STATE, absent), ("excluded", "W", BOOL, False), ("clock", "W", INT, 0),
    ("doomed", "W", BOOL, False), ("exempt", "W", BOOL, False),  # its step is in vain; released against the bound
    ("has", "W", BOOL, False), ("ticket", "W", "T", None),  # it waits with this ticket
    ("sent", "W", BOOL, False), ("token", "W", "G", None),  # this gradient of it is admitted and not yet committed
    ("fate", "G", FATE, unborn), ("owner", "G", "W", None), ("verdict", "G", VERDICT, None), ("round", "G", "R", None),
    ("vain", "G", BOOL, False), ("ends", "G", INT, 0),  # its step was doomed; how often it ended
    ("ticket_is", "T", TICKET, fresh), ("holder", "T", "W", None), ("parks", "T", INT, 0), ("stops", "T", INT, 0),
    ("round_is", "R", ROUND, lambda s, r: If(r == s.current, opened, unused)),
    ("current", None, "R", None), ("filled", None, BOOL, False),  # the open round; something was admitted to it
    ("m", None, INT, 0), ("policy_bound", None, INT, None), ("guard_bound", None, INT, None),  # m: 0 if nobody counts
    ("started", None, BOOL, False), ("phase", None, PHASE, idle),
    ("may_cancel", None, BOOL, True), ("cancels", None, BOOL, False), ("batches", None, INT, 0)]


class Shield(logic.State):
    fields = FIELDS
    bound = property(lambda s: If(s.guard_bound < s.policy_bound, s.guard_bound, s.policy_bound))

    def member(s, w):
        return Or([s.st(w) == x for x in (running, released, admitted, parked)])

    def counts(s, w):
        return And(s.member(w), Not(s.excluded(w)))

    def busy(s, w):
        return And(s.counts(w), s.st(w) != parked)

    def some(s, what):
        return s.world.any("W", what)

    def idles(s):
        """Whether somebody counts and nobody who does is busy."""
        return And(s.some(s.counts), Not(s.some(s.busy)))

    def awaited(s, r, but=None):
        """Whether the commit of a gradient of round r is still to come."""
        of = lambda g: And(s.fate(g) == out, s.verdict(g) == accumulate, s.round(g) == r)
        return s.world.any("G", of if but is None else lambda g: And(g != but, of(g)))
