"""Worlds, states and events, in terms of which shield.py makes its statement, and how that is proved by induction."""
import collections
import copy
import time

from z3 import (And, BoolVal, Const, DeclareSort, EnumSort, Exists, ForAll, FreshConst, Function, If, Not, Or, Solver,
                sat, unsat)


class World:
    """Sorts and quantifiers over them: uninterpreted, or of `size` elements each, where quantifiers are spelt out."""

    def __init__(self, names, size=None):
        self.elements, self.sorts = {}, {}
        for name in names:
            if size:
                elements = [f"{name.lower()}{i}" for i in range(size)]
                self.sorts[name], self.elements[name] = EnumSort(f"{name}{size}", elements)
            else:
                self.sorts[name] = DeclareSort(name)

    def sort(self, name):
        return self.sorts.get(name, name) if isinstance(name, str) else name

    def _over(self, sort, body, spelt_out, quantifier):
        if self.elements:
            return spelt_out([body(x) for x in self.elements[sort]])
        x = FreshConst(self.sort(sort), sort.lower())
        return quantifier([x], body(x))

    def all(self, sort, body):
        return self._over(sort, body, And, ForAll)

    def any(self, sort, body):
        return self._over(sort, body, Or, Exists)


class State:
    """Values of the class's fields, each (name, over which sort, of which sort, at the start): a function, or one value
    where the second is None. At the start: a value, a function of the state and the place, or None for any."""

    fields = []

    def __init__(self, world):
        self.world = world
        for name, over, of, _ in self.fields:
            of = world.sort(of)
            setattr(self, name, Function(name, world.sort(over), of) if over else Const(name, of))

    def initial(self):
        for name, over, _, value in self.fields:
            if value is not None:
                field = getattr(self, name)
                at = value if callable(value) else lambda s, x, value=value: value
                yield self.world.all(over, lambda x: field(x) == at(self, x)) if over else field == value


class Event:
    """What an event needs of a state, what it changes there, and where it can be weakened (weakened: a rule's name).
    define(event, state, parameter: sort ...) says so."""

    def __init__(self, define, state, weakened=None):
        self.name, self.before, self.weakened = define.__name__, state, weakened
        self.args = {key: Const(key, state.world.sort(sort)) for key, sort in define.__annotations__.items()}
        self.ends = (None, None)  # the worker and the gradient whose push it ends
        self.guards, self.claims, self.branches, self.rules, self.changes = [], [], [], [], []
        define(self, state, **self.args)

    def need(self, *guards):
        self.guards += guards

    def claim(self, group, formula):
        """To be proved of every state in which the event may come."""
        self.claims.append((group, formula))

    def put(self, at=None, **values):
        """New values, at this place of fields that have places. What is put later goes over it."""
        self.changes += [(field, at, value) for field, value in values.items()]

    def each(self, **values):
        """New values, value(x) at every place x. Precedes every put to these fields."""
        self.changes += [(field, None, value) for field, value in values.items()]

    def rule(self, name, strict, weak=True):
        """strict; or weak, where this rule is the one that is weakened."""
        self.rules.append(name)
        return weak if self.weakened == name else strict

    def note(self, branch, condition):
        self.branches.append((branch, condition))

    def either(self, name, condition, yes=True, no=False, of=BoolVal(True)):
        """yes or no, noted as two branches: those of the cases in which it matters."""
        self.note(name, And(of, condition))
        self.note(f"not: {name}", And(of, Not(condition)))
        return condition if yes is True and no is False else If(condition, yes, no)

    def somewhere(self, name, sort, condition, of=lambda x: True):
        """Notes as two branches that it is so at one of these places at least, and that it is not."""
        self.note(name, self.before.world.any(sort, lambda x: And(of(x), condition(x))))
        self.note(f"not: {name}", self.before.world.any(sort, lambda x: And(of(x), Not(condition(x)))))

    def one_of(self, value, *choices):
        """Whether the value is one of these, each noted as a branch."""
        self.branches += [(str(choice), value == choice) for choice in choices]
        return Or([value == choice for choice in choices])

    def after(self):
        """The state after it, in terms of the one before."""
        new = copy.copy(self.before)
        for field, at, value in self.changes:
            old, before = getattr(new, field), getattr(self.before, field)
            if at is not None:
                to = before.range().cast(value)
                value = lambda x, old=old, at=at, to=to: If(x == at, to, old(x))
            elif not callable(value):
                value = before.sort().cast(value)
            setattr(new, field, value)
        return new


class Tally:
    """What was asked of z3, by groups."""

    def __init__(self, what, expected):
        self.what, self.expected, self.wrong = what, expected, 0
        self.counts, self.times = collections.Counter(), collections.Counter()

    def check(self, solver, group, name, formula):
        begin = time.process_time()
        solver.push()
        solver.add(formula)
        found = solver.check()
        solver.pop()
        self.times[group] += time.process_time() - begin
        self.counts[group] += 1
        if found != self.expected:
            self.wrong += 1
            print(f"FAILED  {name}: {group}: {found}, expected {self.expected}")

    def print(self):
        for group, count in self.counts.items():
            print(f"{count:4} {self.expected} {self.times[group]:6.2f} s   {group}")
        return f"{sum(self.counts.values())} {self.what}"


def events_of(definitions):
    return {name: define for name, define in vars(definitions).items() if not name.startswith("_")}


def solver_of(*formulas):
    solver = Solver()
    solver.set("timeout", 20000)
    solver.add(*formulas)
    return solver


def main(state, definitions, invariants, promises, consequences):
    """Proves, shows and weakens; prints what it found. 0, or 1 if anything is not as it should be."""
    begin, events = time.process_time(), events_of(definitions)

    def assumed(s):
        return [formula for _, formula in invariants(s)]

    def obligations(e):
        n = e.after()
        return invariants(n) + promises(e, e.before, n) + e.claims

    proof = Tally("obligations proved", unsat)
    s = state(World("WGTR"))
    start = solver_of(*s.initial(), s.policy_bound >= 0, s.guard_bound >= 0)
    for group, formula in invariants(s):
        proof.check(start, group, "at the start", Not(formula))
    for name, define in events.items():
        e = Event(define, s)
        solver = solver_of(*assumed(s), *e.guards)
        for group, formula in obligations(e):
            proof.check(solver, group, name, Not(formula))
    for group, formula, always in consequences(s):
        if always:
            proof.check(solver_of(*assumed(s)), group, "invariants", Not(formula))
    proved = proof.print()

    shown, caught, weakenings = Tally("witnesses", sat), 0, 0
    s = state(World("WGTR", 3))
    shown.check(solver_of(*s.initial(), s.policy_bound >= 0, s.guard_bound >= 0), "the start", "at the start", True)
    for name, define in events.items():
        e = Event(define, s)
        solver = solver_of(*assumed(s), *e.guards)
        shown.check(solver, "events", name, True)
        for branch, formula in e.branches:
            shown.check(solver, "branches of events", f"{name}, {branch}", formula)
    for group, formula, always in consequences(s):
        if not always:
            shown.check(solver_of(*assumed(s)), group, "invariants", formula)
    witnessed = shown.print()

    for name, define in events.items():
        for rule in dict.fromkeys(Event(define, s).rules):
            e = Event(define, s, weakened=rule)
            solver = solver_of(*assumed(s), *e.guards)
            broken = next((group for group, formula in obligations(e) if solver.check(Not(formula)) == sat), None)
            weakenings, caught = weakenings + 1, caught + bool(broken)
            print(f"{'caught' if broken else 'FAILED'}   {name} without \"{rule}\": {broken or 'nothing is broken'}")
    print(f"{proved}, {witnessed}, {caught} of {weakenings} weakenings caught, {time.process_time() - begin:.1f} s")
    return 1 if proof.wrong or shown.wrong or caught < weakenings else 0
