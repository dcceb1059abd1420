#!/usr/bin/python3
"""Mutation testing: breaks the headers on purpose, one change at a time, and looks whether a test fails.

All mutants are compiled into the tests at once, each behind a switch (schemata.py); then the tests that reach a mutant
are run with it on, the quickest first, until one fails, crashes, or takes ten times as long as it should. A mutant
whose tests all pass has survived: a promise is untested, or the mutant is the same program. Those of the sample that
are known to survive stand in survivors.txt, each with a reason.

usage: run.py [--bugs] [--sample N --seed S] [--only FOLDER...] [--jobs N] [--report] [--build DIRECTORY]
  --bugs         the hand-listed bugs of bugs.py
  --sample N     N mutants of one operator each in core/, sync/ and nn/, drawn with the seed (1), as many from each
                 folder as its share of the places
  --only         none but the mutants in these folders of include/rubato
  --jobs         how many at a time (as many as there are processors)
  --report       what is known so far; mutants that not all programs have been asked about are open
  --build        where headers, programs and results are written (build/mutation): a run that was stopped goes on there
Exit status 1: a hand-listed bug survived, or more than a tenth of the sample, or one without a reason; or the list has
an entry that no mutant matches, or whose mutant was killed. Needs clang, and python3-clang-14 of Debian 12.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import sys
import time

import bugs
import places
import schemata
import survivors
from programs import ROOT, Build, Results, Suite, say

SAMPLED = ("core", "sync", "nn")
# folder of include/rubato -> test programs that may notice a mutant in it, the nearest first
NOTICED_BY = {
    "core": ("core", "sync", "extras", "nn", "properties"),
    "sync": ("sync", "extras", "core", "properties"),
    "nn": ("nn", "core"),
    "encode": ("encode", "learned", "properties"),
    "io": ("io", "learned"),
    "learned": ("learned", "properties"),
    "rl": ("rl",),
    "sim": ("sim",),
    "": ("core", "sync", "nn"),
}
# Properties last: they take minutes for a mutant that the others have let pass.
PROGRAMS = ("core", "sync", "extras", "nn", "encode", "io", "learned", "rl", "sim", "properties")


class Trial:
    """One mutant: number, where it is, what it changes, who suffers, and what became of it."""

    def __init__(self, number, file, line, what, key, suffers=""):
        self.number, self.file, self.line, self.what, self.key = number, file, line, what, key
        self.suffers, self.verdict, self.by = suffers, "", ""

    @property
    def folder(self):
        parts = self.file.split("/")
        return parts[1] if len(parts) > 2 else ""

    def __str__(self):
        by = f"   by {self.by}" if self.by else ""
        return f"{self.verdict or 'killed':11} {self.file}:{self.line}: {self.what}{by}"


def sample_of(mutants, keys, count, seed):
    """`count` mutants in the order in which they are drawn, those that stand in where one does not compile, and the
    number of places in each folder.

    A hash of what a place says draws it, so that another line elsewhere leaves it in the sample, or out.
    """
    def drawn_at(key):
        return hashlib.sha256(f"{seed} {key}".encode()).hexdigest()

    by_place = collections.defaultdict(list)
    for mutant, key in zip(mutants, keys):
        by_place[(mutant.file, mutant.begin, mutant.end)].append((drawn_at(key), key, mutant))
    by_folder = collections.defaultdict(list)
    for (file, _, _), here in by_place.items():
        by_folder[file.split("/")[1]].append((drawn_at(min(key for _, key, _ in here)), min(here)))
    total = sum(len(p) for p in by_folder.values())
    drawn, spare = [], []
    for folder in SAMPLED:
        there = sorted(by_folder[folder])
        share = round(count * len(there) / total)
        drawn += there[:share]
        spare += there[share:share + share // 4 + 4]
    chosen = [(key, mutant) for _, (_, key, mutant) in sorted(drawn) + sorted(spare)]
    return chosen, {f: len(p) for f, p in by_folder.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="FOLDER")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if not options.bugs and options.sample == 0:
        parser.error("nothing to do: --bugs, --sample, or both")
    options.build.mkdir(parents=True, exist_ok=True)
    folder = options.build.resolve()

    trials, edits = [], collections.defaultdict(list)
    if options.bugs:
        for entry in bugs.BUGS:
            begin, end, line = bugs.place_of(ROOT, entry)
            what = f"{places.flat(entry.old)} -> {places.flat(entry.new)}"
            trials.append(Trial(len(trials) + 1, entry.file, line, what, entry, entry.suffers))
            edits[entry.file].append(
                schemata.Edit(len(trials), begin, end, bugs.text_of(entry), bugs.is_block(entry)))
    listed, shares, keys = len(trials), {}, []
    if options.sample > 0:
        mutants = places.places(ROOT, SAMPLED)
        keys = survivors.keys_of(ROOT, mutants)
        drawn, shares = sample_of(mutants, keys, options.sample, options.seed)
        say(f"{len(mutants)} mutants at {sum(shares.values())} places: " +
            ", ".join(f"{f}/ {n}" for f, n in shares.items()))
        for key, m in drawn:
            trials.append(Trial(len(trials) + 1, m.file, m.line, f"{m.what}   in   {places.flat(m.text)}", key))
            edits[m.file].append(schemata.Edit(len(trials), m.begin, m.end, m.text, False))

    folders = {t.folder for t in trials if options.only is None or t.folder in options.only}
    programs = [p for p in PROGRAMS if any(p in NOTICED_BY[f] for f in folders)]
    crossing = schemata.write(ROOT, folder, edits, len(trials))
    build, results, suites = Build(folder, edits, options.jobs), Results(folder / "results"), {}
    states = {p: build.state(p) for p in programs}

    def wanted():
        """The trials of this run, as far as it is known what compiles."""
        sample = []
        for name in shares:
            mine = [t for t in trials[listed:] if t.folder == name and t.number not in build.broken | crossing]
            sample += mine[:round(options.sample * shares[name] / sum(shares.values()))]
        found = trials[:listed] + sorted(sample, key=lambda t: t.number)[:options.sample]
        return sorted((t for t in found if t.folder in folders), key=lambda t: t.number)

    def judge(trial, suite):
        if not trial.by and trial.number in suite.tests:
            results.judge(repr(trial.key), trial.number, suite)
            trial.by = results.killer(repr(trial.key), states)
            if trial.by:
                say(f"{trial.number:4} {trial}")

    begin = time.time()
    for t in trials:
        t.by = results.killer(repr(t.key), states)
    # Twice: a mutant that stands in for one that does not compile may be known only when all programs are there.
    for program in 2 * programs:
        if options.report:
            suites.update({program: Suite(folder, program, states[program], 0)} if Suite.is_known(
                folder, program, states[program]) else {})
            continue
        if program not in suites:
            build.compile(program)
            suites[program] = Suite(folder, program, states[program], options.jobs)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda t: judge(t, suites[program]),
                          [t for t in wanted() if program in NOTICED_BY[t.folder]]))
    for t in trials:
        reaching = [p for p in NOTICED_BY[t.folder] if p in suites and t.number in suites[p].tests]
        if t.number in build.broken | crossing:
            t.verdict = "does not compile"
            say(str(t))
        elif t.by:
            t.verdict = "killed"
        elif options.report and not all(p in suites and results.has(repr(t.key), suites[p], t.number)
                                        for p in NOTICED_BY[t.folder]):
            t.verdict = "open"
        else:
            t.verdict = "survived" if reaching else "not reached"
    chosen = wanted()
    say(f"{len(chosen)} mutants in {time.time() - begin:.0f} s")

    known = survivors.read()
    ok = said([t for t in chosen if t.number <= listed], "hand-listed bugs", 1.0, {})
    ok = said([t for t in chosen if t.number > listed], "sampled mutants", 0.9, known) and ok
    for key in known.keys() - keys if keys else ():
        say(f"survivors.txt: no mutant is like this any more: {key.file}: {key.line}: {key.what}")
        ok = False
    for trial in chosen:
        if trial.key in known and trial.verdict == "killed":
            say(f"survivors.txt: {trial.file}:{trial.line}: {trial.what}: was killed, by {trial.by}")
            ok = False
    return 0 if ok else 1


def said(part, title, least, known):
    """Prints how many were killed, and whether they are enough, and those that were not are known."""
    if not part:
        return True
    ok = True
    for name in sorted({t.folder for t in part}):
        here = [t for t in part if t.folder == name]
        say(f"{title}, {name or 'top'}: {sum(t.verdict == 'killed' for t in here)} of {len(here)} killed")
    killed = sum(t.verdict == "killed" for t in part)
    say(f"{title}: {killed} of {len(part)} killed, {100 * killed / len(part):.1f} %")
    for t in part:
        if t.verdict != "killed":
            reason = t.suffers or known.get(t.key, "")
            say(f"  {t}   ({reason or 'why is not known'})")
            ok = ok and bool(reason)
    return ok and killed >= least * len(part)


if __name__ == "__main__":
    sys.exit(main())
