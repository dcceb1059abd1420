"""Decision logs of any length take bounded memory: rubato-lab stats and replay on a small log and on a huge one.

usage: huge_log.py RUBATO_LAB [LINES]

The logs are what a controller under asp writes whose workers take turns, so that their policy must repeat them exactly.
Fails if a count is not what was written, or if the huge log takes clearly more memory than the small one.
"""

import gzip
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

WORKERS = 16
HEADER = ('{"format":"rubato.decisions","version":1,"policy":"asp: every worker goes on at once",'
          '"describe":{"kind":"asp"}}\n')
MORE = 8 << 10  # KiB that the huge log may take beyond the small one: buffers, and what the allocator makes of them


def write(file, pushes):
    """A log of so many pushes; the number of its lines."""
    with gzip.open(file, "wt", compresslevel=1) as to:
        to.write(HEADER)
        for w in range(WORKERS):
            to.write(f'{{"now":0,"what":"join","worker":{w},"incarnation":0,"version":0,"parked":0}}\n')
        for w in range(WORKERS):
            parked = WORKERS - 1 - w
            to.write(f'{{"now":0,"what":"release","worker":{w},"incarnation":0,"clock":0,"batch":0,"lr_scale":1,'
                     f'"version":0,"parked":{parked}}}\n')
        piece = []
        for push in range(pushes):
            w, step, now = push % WORKERS, push // WORKERS + 1, push + 1
            head = f'{{"now":{now},"what":"'
            who = f'","worker":{w},"incarnation":0,'
            tail = f'"version":{push + 1},"parked":'
            piece.append(f'{head}admit{who}"step":{step},"clock":{step - 1},"verdict":"apply","weight":1,'
                         f'"staleness":{min(push, WORKERS - 1)},"loss":0.5,"version":{push},"parked":0}}\n'
                         f'{head}commit{who}"step":{step},"clock":{step},"verdict":"apply",{tail}1}}\n'
                         f'{head}release{who}"clock":{step},"batch":0,"lr_scale":1,{tail}0}}\n')
            if len(piece) == 10000:
                to.write("".join(piece))
                piece.clear()
        to.write("".join(piece))
    return 1 + 2 * WORKERS + 3 * pushes


def run(program, command, file):
    """What it printed as JSON, and the most memory that it took, in KiB."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([program, command, str(file), "--json", "-"], stdout=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{command} of {file}: exit status {process.returncode}, expected 0")
        said.seek(0)
        return json.load(said), usage.ru_maxrss


def require(is_so, what):
    if not is_so:
        sys.exit(f"huge_log: {what}")


def measure(program, folder, pushes):
    """Peak memory of both commands on such a log."""
    file = folder / f"{pushes}.jsonl.gz"
    # In a process of its own: what this one has taken counts for those that it starts.
    with multiprocessing.get_context("fork").Pool(1) as writer:
        lines = writer.apply(write, (file, pushes))
    stats, of_stats = run(program, "stats", file)
    require(stats["lines"] == lines and stats["unread"] == 0, f"found {stats['lines']} lines, expected {lines}")
    gradients = stats["gradients"]
    require(gradients["pushed"] == gradients["applied"] == pushes, f"found {gradients}, expected {pushes} applied")
    each = [worker["gradients"]["pushed"] for worker in stats["workers"]]
    require(len(each) == WORKERS and sum(each) == pushes, f"found {each} pushes of workers, expected {pushes}")
    replay, of_replay = run(program, "replay", file)
    require(replay["same_policy"] and replay["pushes"] == pushes, f"found {replay}, expected all pushes")
    require(replay["events"] == replay["same_events"] > 2 * pushes, f"found {replay}, expected the same decisions")
    file.unlink()
    print(f"{lines} lines: stats {of_stats} KiB, replay {of_replay} KiB", flush=True)
    return of_stats, of_replay


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    lines = int(sys.argv[2]) if len(sys.argv) == 3 else 300_000
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        small = measure(program, pathlib.Path(name), 1000)
        huge = measure(program, pathlib.Path(name), lines // 3)
    for command, before, after in zip(("stats", "replay"), small, huge):
        require(after < before + MORE, f"{command} took {after} KiB, expected at most {MORE} more than {before}")


if __name__ == "__main__":
    main()
