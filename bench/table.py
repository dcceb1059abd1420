#!/usr/bin/env python3
"""Reads what the benchmarks wrote as JSON, one file for each program, and prints the Markdown table.

A row is one benchmark; of its repetitions each counter's best is taken, minimum against minimum: `ratio` is the least
time over the least floor, `over_PEER` the peer's least time over ours. Rows that miss a bar of bars.json say FALLS SHORT;
the exit status is then 1, also if a row with a bar was not measured, unless --print-only is given.

    table.py out/*.json [--heading TEXT] [--page FILE] [--bars bars.json] [--filter REGEX] [--print-only]
"""
import argparse
import fnmatch
import json
import pathlib
import re
import sys

NOT_COUNTERS = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
                "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label"}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
# Best is most for rates; of times and ratios, least.
RATE = re.compile(r".*(_per_second|_per_s)$|M_.*|pushes$")
# How far the floor of one row may move between its repetitions until they are noise.
NOISE = 0.05


def row_name(program, name):
    return program + "/" + re.sub(r"/(manual_time|real_time|process_time|(iterations|repeats|min_time):[^/]*)", "", name)


class Row:
    """One benchmark with the counters of its repetitions."""

    def __init__(self, name):
        self.name = name
        self.repetitions = []
        self.error = None

    def all(self, counter):
        return [r[counter] for r in self.repetitions if counter in r]

    def has(self, counter):
        return bool(self.all(counter))

    def peers(self):
        names = {c for r in self.repetitions for c in r if c.startswith("over_")}
        return sorted(c.removeprefix("over_") for c in names)

    def peer_time(self, peer):
        """In nanoseconds, also where only its ratio to ours was written."""
        return min(self.all(peer) or [r["over_" + peer] * r["min"] for r in self.repetitions if "over_" + peer in r])

    def best(self, counter):
        """None where the counter was not written."""
        if counter == "ratio" and self.has("min") and self.has("floor"):
            return min(self.all("min")) / min(self.all("floor"))
        if counter.startswith("over_") and self.has(counter) and self.has("min"):
            return self.peer_time(counter.removeprefix("over_")) / min(self.all("min"))
        values = self.all(counter)
        return (max if RATE.match(counter) else min)(values) if values else None

    def spread(self):
        """By how much the floor of the slowest repetition is above that of the quickest; None of one repetition."""
        floors = self.all("floor")
        return max(floors) / min(floors) - 1 if len(floors) > 1 else None

    def others(self):
        """Counters that are neither a time of ours, of the floor, nor of a peer."""
        known = {"min", "floor", "ratio", *self.peers(), *("over_" + p for p in self.peers())}
        return sorted({c for r in self.repetitions for c in r} - known)


def read(paths):
    """Rows by name, in order, and the contexts of all programs."""
    rows, contexts = {}, []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if not text.strip():
            continue  # a program of which the filter has left nothing
        data = json.loads(text)
        contexts.append(data.get("context", {}))
        for entry in data["benchmarks"]:
            if entry.get("run_type") == "aggregate":
                continue
            row = rows.setdefault(row_name(path.stem, entry["name"]), Row(row_name(path.stem, entry["name"])))
            if entry.get("error_occurred"):
                row.error = entry.get("error_message", "failed")
                continue
            counters = {k: v for k, v in entry.items() if k not in NOT_COUNTERS and isinstance(v, (int, float))
                        and not isinstance(v, bool)}
            if "min" not in counters and "items_per_second" not in counters and "real_time" in entry:
                counters["min"] = entry["real_time"] * UNITS[entry.get("time_unit", "ns")]
            row.repetitions.append(counters)
    return rows, contexts


def native(contexts):
    """The set of kernels that is in use, as the programs say."""
    return next((c["kernels"] for c in contexts if "kernels" in c), "NATIVE")


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def duration(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


class Bar:
    def __init__(self, entry, native_set):
        self.pattern = entry["row"].replace("NATIVE", native_set)
        self.counter = entry["counter"]
        self.most = entry.get("most")
        self.least = entry.get("least")
        self.spread = entry.get("spread")
        self.optional = entry.get("optional", False)
        if [self.most, self.least, self.spread].count(None) != 2:
            sys.exit(f"table.py: the bar of {entry['row']} needs one of most, least and spread")

    def rows(self, rows):
        return [r for r in rows.values() if fnmatch.fnmatchcase(r.name, self.pattern)]

    def met(self, value):
        return value >= self.least if self.least is not None else value <= (self.most or self.spread)

    def said(self, value):
        """Such as `ratio 1.21 ≤ 1.27`."""
        what = self.counter + (" over the least of its kind" if self.spread else "")
        limit = f"≥ {number(self.least)}" if self.least is not None else f"≤ {number(self.most or self.spread)}"
        return f"{what} {number(value)} {limit}" if self.met(value) else \
            f"**FALLS SHORT** {what} {number(value)}, not {limit}"


def judge(rows, bars):
    """Texts of the bars by row; and how many bars are missed, and what was not measured."""
    texts, missed, absent = {}, 0, []
    for bar in bars:
        found = bar.rows(rows)
        if bar.spread and found:
            values = {row.name: row.best(bar.counter) for row in found if row.has(bar.counter)}
            found = [row for row in found if row.name == max(values, key=values.get)] if values else found
        for row in found:
            value = row.best(bar.counter)
            if value is not None and bar.spread:
                value /= min(values.values())
            if value is None:
                if bar.optional:
                    texts.setdefault(row.name, []).append(f"{bar.counter}: not there")
                else:
                    absent.append(f"{row.name}: {row.error or 'no counter ' + bar.counter}")
                continue
            missed += not bar.met(value)
            texts.setdefault(row.name, []).append(bar.said(value))
        if not found and not bar.optional:
            absent.append(f"{bar.pattern}: no such row")
    return texts, missed, absent


def table(rows, texts):
    yield "| row | ours | floor | over it | peers | others | bar |"
    yield "| --- | ---: | ---: | ---: | --- | --- | --- |"
    for row in rows.values():
        if row.error:
            yield f"| {row.name} | {row.error} | | | | | {'; '.join(texts.get(row.name, []))} |"
            continue
        time, floor, ratio = row.best("min"), row.best("floor"), row.best("ratio")
        peers = ", ".join(f"{p} {duration(row.peer_time(p))} (×{number(row.best('over_' + p))})" for p in row.peers()
                          if row.has("min"))
        others = ", ".join(f"{c} {number(row.best(c))}" for c in row.others())
        yield (f"| {row.name} | {duration(time) if time is not None else ''} "
               f"| {duration(floor) if floor is not None else ''} | {f'×{ratio:.2f}' if ratio is not None else ''} "
               f"| {peers} | {others} | {'; '.join(texts.get(row.name, []))} |")


def noise(rows, contexts):
    """What there was of it: the floors of a quiet machine are the same in all repetitions."""
    spreads = {r.name: r.spread() for r in rows.values() if r.spread() is not None}
    loads = [c["load_avg"][0] for c in contexts if c.get("load_avg")]
    if loads:
        yield f"Load average at the start of the programs: {min(loads):.2f} to {max(loads):.2f}."
    if not spreads:
        yield "One repetition: whether the machine was quiet is not known."
        return
    noisy = {name: s for name, s in spreads.items() if s > NOISE}
    worst = max(spreads, key=spreads.get)
    if noisy:
        yield (f"NOISY: in {len(noisy)} of {len(spreads)} rows the floor took over {NOISE:.0%} longer in one repetition "
               f"than in another; the most, {spreads[worst]:.0%}, in {worst}.")
    else:
        yield f"Quiet: no floor moved by more than {spreads[worst]:.1%} between repetitions ({worst})."


def report(rows, contexts, bars, heading):
    """The lines of the report, and whether all is well."""
    texts, missed, absent = judge(rows, bars)
    lines = [heading, ""] if heading else []
    lines += [*table(rows, texts), ""]
    for peers in sorted({c["missing_peers"].strip() for c in contexts if c.get("missing_peers", "").strip()}):
        lines += [f"Peers that are not in this build: {peers}.", ""]
    lines += [" ".join(noise(rows, contexts)), ""]
    lines += [f"- NOT MEASURED: {line}" for line in absent] + ([""] if absent else [])
    lines.append(f"{sum(len(t) for t in texts.values())} bars, {missed} missed, {len(absent)} not measured.")
    return lines, missed == 0 and not absent


def write_into(page, lines):
    """Between the two marks of a page."""
    text = page.read_text(encoding="utf-8")
    begin, end = "<!-- bench/run.sh -->\n", "<!-- end of bench/run.sh -->\n"
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"table.py: {page} needs the marks {begin.strip()} and {end.strip()}")
    before, rest = text.split(begin)
    page.write_text(before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="The table of bench/run.sh.")
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--bars", type=pathlib.Path, default=pathlib.Path(__file__).with_name("bars.json"))
    parser.add_argument("--filter", default="", help="only rows, and bars of rows, in which this is found")
    parser.add_argument("--heading", default="", help="a line above the table")
    parser.add_argument("--page", type=pathlib.Path, help="a Markdown file that gets the table between its two marks")
    parser.add_argument("--print-only", action="store_true", help="exit status 0 whatever falls short")
    options = parser.parse_args()

    rows, contexts = read(options.results)
    wanted = re.compile(options.filter)
    rows = {name: row for name, row in rows.items() if wanted.search(name)}
    bars = [Bar(entry, native(contexts)) for entry in json.loads(options.bars.read_text(encoding="utf-8"))["bars"]]
    if options.filter:
        bars = [bar for bar in bars if bar.rows(rows)]
    lines, well = report(rows, contexts, bars, options.heading)
    print("\n".join(lines))
    if options.page:
        write_into(options.page, lines)
    return 0 if options.print_only or well else 1


if __name__ == "__main__":
    sys.exit(main())
