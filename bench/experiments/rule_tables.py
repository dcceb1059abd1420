"""Markdown tables of what all_rules.sh, knee_cells.sh, learned_cells.sh and learned_ablations.sh measured.
Standard library only.

usage: rule_tables.py rules|knee|learned|ablations DIR

Times are interquartile means over seeds. In `rules` and `knee` a ratio is the time of the best of bsp, asp and ssp, each
with the parameter and the learning rate that tuning gave it, over the time of the rule: above 1 the rule is quicker. The
heads of the other tables say whose time is over whose. Intervals: 95 %, seeds drawn with replacement, the same for both.
What is missing in DIR is named on standard error; means are of the rest, and say of how many. Tested in
tests/bench/rule_tables_test.py.
"""

import csv
import functools
import math
import pathlib
import random
import sys

SCENARIOS = ["shared4", "table1", "paper", "link", "ideal", "table1-ideal", "paper-literal"]
CLASSICAL = ("bsp", "bsp:sum", "asp", "ssp")
EAGER = "knee:0.3:eager+decay"  # knee that does not heed scatter
RESAMPLES = 2000


def interquartile_mean(values):
    """As rubato-lab's: without the lowest and the highest quarter."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    middle = ordered[cut : len(ordered) - cut]
    return sum(middle) / len(middle)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


@functools.cache
def runs_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read(path, seeds=None, share=0.0):
    """{policy: (used, learning rate, [time of each seed])}, policies in the order of the file; of these seeds alone,
    and of policies of whose runs at least that share reach the end."""
    rows, reached = {}, {}
    for run in runs_of(path):
        if seeds is not None and run["seed"] not in seeds:
            continue
        policy = run["policy"]
        rows.setdefault(policy, (run["used"], float(run["learning_rate"]), []))[2].append(float(run["time"]))
        reached[policy] = reached.get(policy, 0) + (run["reached"] == "1")
    return {policy: entry for policy, entry in rows.items() if reached[policy] >= share * len(entry[2])}


def read_all(directory, names):
    """{name: rows of NAME.csv} of those that are there."""
    files = {name: directory / f"{name}.csv" for name in names}
    found = {name: rows for name, path in files.items() if path.is_file() and (rows := read(path))}
    if not found:
        sys.exit(f"rule_tables.py: {directory}: found no measurements, expected {names[0]}.csv to {names[-1]}.csv")
    missing = [name for name in names if name not in found]
    if missing:
        print(f"rule_tables.py: {directory}: missing: {', '.join(missing)}", file=sys.stderr)
    return found


def ratio(pairs):
    """"MEAN [LOW, HIGH]": of the ratios of interquartile means, top / bottom, over these pairs; seeds in common."""

    def mean(chosen):
        return geometric_mean(
            [interquartile_mean([t[i] for i in chosen]) / interquartile_mean([b[i] for i in chosen]) for t, b in pairs]
        )

    seeds = range(len(pairs[0][0]))
    draw = random.Random(1)
    drawn = sorted(mean(draw.choices(seeds, k=len(seeds))) for _ in range(RESAMPLES))
    edge = RESAMPLES // 40
    return f"{mean(seeds):.2f} [{drawn[edge]:.2f}, {drawn[-edge - 1]:.2f}]"


def quickest(rows, policies):
    return min((p for p in policies if p in rows), key=lambda p: interquartile_mean(rows[p][2]))


def line(cells):
    print("| " + " | ".join(cells) + " |")


def head(cells):
    line(cells)
    line(["---"] * len(cells))


def table_of_ratios(measured, policies, classical):
    """A row for each policy, a column for each scenario; the best of a column in bold."""
    found = {}
    for policy in policies:
        found[policy] = [
            interquartile_mean(rows[quickest(rows, classical)][2]) / interquartile_mean(rows[policy][2])
            for rows in measured.values()
        ]
    best = [max(found[p][i] for p in policies if p != "clairvoyant") for i in range(len(measured))]
    head(["rule", *(f"`{s}`" for s in measured), f"geometric mean of {len(measured)}"])
    for policy in sorted(policies, key=lambda p: -geometric_mean(found[p])):
        cells = [f"**{r:.2f}**" if r == b else f"{r:.2f}" for r, b in zip(found[policy], best)]
        line([f"`{policy}`", *cells, f"{geometric_mean(found[policy]):.2f}"])
    print()


def rules(directory):
    measured = read_all(directory, SCENARIOS)
    policies = list(next(iter(measured.values())))
    table_of_ratios(measured, [p for p in policies if not p.endswith("+decay")], CLASSICAL)
    decayed = [p for p in policies if p.endswith("+decay")]
    if decayed:
        table_of_ratios(measured, decayed, CLASSICAL)
        table_of_ratios(measured, decayed, [f"{p}+decay" for p in CLASSICAL])
    head(["scenario", "best of `bsp`, `asp`, `ssp`", "best rule", "its ratio", "`knee`", "clairvoyant"])
    for scenario, rows in measured.items():
        base = quickest(rows, CLASSICAL)
        plain = quickest(rows, [p for p in policies if p != "clairvoyant" and not p.endswith("+decay")])
        cells = [f"`{scenario}`", f"`{rows[base][0]}`, {interquartile_mean(rows[base][2]):.4g}", f"`{rows[plain][0]}`"]
        for policy in (plain, "knee", "clairvoyant"):
            if policy in rows:
                cells.append(ratio([(rows[base][2], rows[policy][2])]))
            else:
                cells.append("-")
        line(cells)


def knee(directory):
    shown = ("aimd", "knee", "knee+decay")
    pairs = {p: [] for p in ("cap", *shown)}  # times of the best classical rule, and of this one
    measured = read_all(directory, [f"{scenario}-{layers}" for scenario in SCENARIOS for layers in (0, 1, 3)])
    head(["scenario", "layers", "best of `bsp`, `asp`, `ssp`", "best cap", *(f"`{p}`: ratio to both" for p in shown)])
    for name, rows in measured.items():
        scenario, layers = name.rsplit("-", 1)
        base = quickest(rows, CLASSICAL)
        for policy in pairs:
            pairs[policy].append((rows[base][2], rows[policy][2]))
        cells = [f"`{scenario}`", layers]
        cells += [f"`{rows[p][0]}` at {rows[p][1]:.3g}: {interquartile_mean(rows[p][2]):.4g}" for p in (base, "cap")]
        to_cap = interquartile_mean(rows["cap"][2])
        for policy in shown:
            of_cap = to_cap / interquartile_mean(rows[policy][2])
            cells.append(f"at {rows[policy][1]:.3g}: {ratio(pairs[policy][-1:])}, {of_cap:.2f}")
        line(cells)

    def values(policy):
        return [interquartile_mean(top) / interquartile_mean(bottom) for top, bottom in pairs[policy]]

    def values_to_cap(policy):
        return [a / b for a, b in zip(values(policy), values("cap"))]

    cells = [f"geometric mean of {len(measured)}", "", "", ratio(pairs["cap"])]
    line(cells + [f"{ratio(pairs[p])}, {geometric_mean(values_to_cap(p)):.2f}" for p in shown])
    cells = [f"least of {len(measured)}", "", "", f"{min(values('cap')):.2f}"]
    line(cells + [f"{min(values(p)):.2f}, {min(values_to_cap(p)):.2f}" for p in shown])


def read_arriving(path, seeds=None):
    """read(), those of which 90 % of the runs reach the end. Nothing if there is no file."""
    return read(path, seeds, 0.9) if path.is_file() else {}


def seeds_of(path):
    """Of the runs in a file, in its order, each once."""
    return list(dict.fromkeys(run["seed"] for run in runs_of(path)))


def expect_seeds_of(first, path):
    if seeds_of(path) != seeds_of(first):
        sys.exit(f"rule_tables.py: {path}: found other seeds than in {first.name}, expected the same")


def best_of(rows, policies):
    there = [p for p in policies if p in rows]
    return rows[quickest(rows, there)] if there else None


def learned(directory):
    """`learned` against its rivals, beside the clairvoyant plan, as a policy of three actions, and against `asp` in many
    clusters; of what is there."""
    lab = [f"{scenario}-{layers}" for scenario in SCENARIOS[:-1] for layers in (0, 1, 3)]
    further = {
        "held out, 1 to 20": [f"random-{number}" for number in range(1, 21)],
        "held out, 21 to 40": [f"random-{number}" for number in range(21, 41)],
        "transfer": [*(f"workers-{k}" for k in (2, 5, 8, 32, 64)), "layers-6", "cifar10", "digits"],
    }
    cells = sum(further.values(), lab)
    others = [path for of in ("*.room", "actions-*", "hindsight-*") for path in directory.glob(f"{of}.csv")]
    if not others or any((directory / f"{cell}.csv").is_file() for cell in cells):
        measured = list(read_all(directory, cells))
        for ours in ("learned", "distilled"):
            rivals_of(ours, directory, measured, lab, further)
    room(directory, lab)
    actions(directory)
    hindsight(directory)


def rivals_of(ours, directory, measured, lab, further):
    """Ours against rules at the same rate, the tuned rules, and those that are given rates and batches as well; for
    `learned` cell by cell as well."""
    other = "distilled" if ours == "learned" else "learned"
    rivals = {
        "best of `bsp`, `asp`, `ssp`": (".rules", lambda p: p in CLASSICAL),
        "best tuned rule": (".rules", lambda p: True),
        "`knee`": ("", lambda p: p == "knee"),
        "`knee+decay`": ("", lambda p: p == "knee+decay"),
        f"`{other}`": ("", lambda p: p == other),
        "best with decay and batch": (".freedom", lambda p: True),
    }
    pairs, names = {}, {}  # times and name of the quickest rival in each cell
    for cell in measured:
        paths = {kind: directory / f"{cell}{kind}.csv" for kind in ("", ".rules", ".freedom")}
        for path in paths.values():
            if path.is_file():
                expect_seeds_of(paths[""], path)
        files = {kind: read_arriving(path) for kind, path in paths.items()}
        if ours not in files[""]:
            print(f"rule_tables.py: {directory}: `{ours}` does not arrive: {cell}", file=sys.stderr)
            names.update({(cell, rival): f"`{ours}` does not arrive" for rival in rivals})
            continue
        for rival, (kind, belongs) in rivals.items():
            best = best_of(files[kind], filter(belongs, files[kind]))
            if best:
                used, _, times = best
                names[cell, rival] = f"`{used}`"
                pairs[cell, rival] = (times, files[""][ours][2])

    def table(title, groups, least=False):
        head([f"{title}: time over that of `{ours}`", *rivals])
        for label, cells in groups:
            found = {r: [pairs[c, r] for c in cells if (c, r) in pairs] for r in rivals}
            if any(found.values()):
                of = lambda r: "" if len(found[r]) == len(cells) else f" of {len(found[r])}"
                line([label, *(mean_ratio(found[r]) + of(r) if found[r] else "-" for r in rivals)])
                if least:
                    worst = {r: [min(found[r], key=lambda pair: mean_of([pair]))] for r in rivals if found[r]}
                    line([f"least of {label}", *(mean_ratio(worst[r]) if r in worst else "-" for r in rivals)])
        print()

    table("scenario", [(f"`{s}`", [f"{s}-{h}" for h in (0, 1, 3)]) for s in SCENARIOS[:-1]] + [("all", lab)])
    table("cells", further.items(), least=True)
    if ours != "learned":
        return
    table("cell", [(f"`{cell}`", [cell]) for cell in measured])
    chosen = [r for r, (kind, _) in rivals.items() if kind]
    head(["quickest in", *chosen])
    for cell in measured:
        line([f"`{cell}`", *(names.get((cell, r), "-") for r in chosen)])
    print()


def line_over(label, tops, bottoms):
    """A cell for each pair of entries, and one for their mean."""
    cells = [mean_over([top], [bottom], ratio) for top, bottom in zip(tops, bottoms)]
    line([label, *cells, mean_over(tops, bottoms, ratio)])


def mean_over(tops, bottoms, mean):
    """A cell: mean ratio of the times of these entries over those, "-" if there are none, and of how many if some."""
    pairs = [(top[2], bottom[2]) for top, bottom in zip(tops, bottoms) if top and bottom]
    return (mean(pairs) if pairs else "-") + ("" if len(pairs) in (0, len(tops)) else f" of {len(pairs)}")


def room(directory, cells):
    """Times over that of the clairvoyant plan, on the plan's seeds."""
    paths = [path for cell in cells if (path := directory / f"{cell}.room.csv").is_file()]
    if not paths:
        return
    policies = ("knee", "knee+decay", "distilled", "learned")
    head(["time over the plan's", "best of `bsp`, `asp`, `ssp`", *(f"`{p}`" for p in policies)])
    for path in paths:
        rows, cell = read_arriving(path), path.name.removesuffix(".room.csv")
        tuned = read_arriving(directory / f"{cell}.rules.csv", seeds_of(path))
        entries = [best_of(tuned, CLASSICAL), *map(rows.get, policies)]
        line([f"`{cell}`", *(mean_over([entry], [rows.get("clairvoyant")], ratio) for entry in entries)])
    print()


def actions(directory):
    """The policy of three actions against rules at the same rate; means over hidden layers."""
    columns, measured = three_actions(directory)
    if not measured:
        return
    head(["time over that of three actions", *columns, "mean"])
    ours = [best_of(rows, [p for p in rows if p.startswith("file:")]) for rows in measured]
    groups = {"`bsp:sum`": ["bsp:sum"], "`asp`": ["asp"], "best `ssp`": bounds_of(measured), "`cap:2`": ["cap:2"]}
    for label, policies in groups.items():
        line_over(label, [best_of(rows, policies) for rows in measured], ours)
    print()


def three_actions(directory):
    """A column's name and what was measured, for each number of hidden layers."""
    measured = {layers: read_arriving(directory / f"actions-{layers}.csv") for layers in range(4)}
    measured = {layers: rows for layers, rows in measured.items() if rows}
    return [f"{n} layer{'' if n == 1 else 's'}" for n in measured], list(measured.values())


def bounds_of(measured):
    return sorted({p for rows in measured for p in rows if p.startswith("ssp")})


def hindsight(directory):
    """Rules at the host's rate against `asp` at its own; the last row is the quickest of them in each cluster. Then what
    knee's `most_scatter` is worth. A run that does not arrive counts as the scenario's limit."""
    pairs, eager = {}, {}
    tuned = sorted(directory.glob("hindsight-*.rules.csv"))
    for path in tuned:
        one = path.with_name(path.name.replace(".rules", ""))
        expect_seeds_of(one, path)
        rows, asp = read(one), read(path)["asp"]
        for name, row in [*((f"`{p}`", rows[p]) for p in rows), ("the quickest of these", best_of(rows, rows))]:
            pairs.setdefault(name, []).append((asp[2], row[2]))
        if {EAGER, "knee+decay"} <= rows.keys():
            eager.setdefault("`knee+decay`", []).append((rows[EAGER][2], rows["knee+decay"][2]))
    for whose, against in (("`asp` at its tuned rate", pairs), (f"`{EAGER}`", eager)):
        if against:
            head([f"time of {whose} over that of", f"mean of {max(map(len, against.values()))}", "below 0.93"])
        for name, found in against.items():
            line([name, mean_ratio(found), f"{sum(mean_of([pair]) < 0.93 for pair in found)}"])
        print()


def name_of(policy):
    return f"`{pathlib.Path(policy[5:]).stem if policy.startswith('file:') else policy}`"


def ablations(directory):
    """Each policy against knee+decay: a mean over cells, and one over those with that many layers. Then each policy of
    three actions against the best ssp."""
    names = [f"{scenario}-{layers}" for scenario in SCENARIOS[:-1] for layers in (0, 1)]
    policies = list(next(iter(read_all(directory, names).values())))
    measured = {name: rows for name in names if (rows := read_arriving(directory / f"{name}.csv"))}
    head(["time of `knee+decay` over that of", "no hidden layer", "one", "all"])
    for policy in policies:
        if policy == "knee+decay":
            continue
        cells = []
        for end in ("-0", "-1", ""):
            group = [rows for name, rows in measured.items() if name.endswith(end)]
            cells.append(mean_over([r.get("knee+decay") for r in group], [r.get(policy) for r in group], mean_ratio))
        line([name_of(policy), *cells])
    columns, measured = three_actions(directory)
    if not measured:
        return
    print()
    head(["time of the best `ssp` over that of", *columns, "mean"])
    best = [best_of(rows, bounds_of(measured)) for rows in measured]
    for policy in dict.fromkeys(p for rows in measured for p in rows if p.startswith("file:")):
        line_over(name_of(policy), best, [rows.get(policy) for rows in measured])


def mean_of(pairs):
    return geometric_mean([interquartile_mean(top) / interquartile_mean(bottom) for top, bottom in pairs])


def mean_ratio(pairs):
    """As ratio(), where cells have seeds of their own: each draws its own."""
    draw = random.Random(1)
    means = []
    for _ in range(RESAMPLES // 4):
        drawn = []
        for top, bottom in pairs:
            chosen = draw.choices(range(len(top)), k=len(top))
            drawn.append(([top[i] for i in chosen], [bottom[i] for i in chosen]))
        means.append(mean_of(drawn))
    means.sort()
    edge = len(means) // 40
    return f"{mean_of(pairs):.2f} [{means[edge]:.2f}, {means[-edge - 1]:.2f}]"


def main():
    tables = {"rules": rules, "knee": knee, "learned": learned, "ablations": ablations}
    if len(sys.argv) != 3 or sys.argv[1] not in tables:
        sys.exit(__doc__)
    tables[sys.argv[1]](pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
