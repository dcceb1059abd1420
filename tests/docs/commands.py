#!/usr/bin/env python3
"""Runs the commands of README.md, CONTRIBUTING.md and docs/: those in blocks marked `sh`, in a copy of the tree for each
page, one after another as a reader would type them.

- A .cpp file that a command names, and that the tree has not, is the page's program above the command, or the one below.
- What takes minutes is cut short by options (LEAST); words in capitals stand for something (STANDS_FOR).
- Where a block without language follows, it is what the last command prints, unless a command was changed as above, or
  reads what one that was changed wrote; a line `...` in it stands for any lines.
- What is not run (NOT_RUN) says why, and its files and targets must exist.
- docs/install.md has a test of its own, install.py.

usage: commands.py ROOT BUILD [PAGE]...     BUILD: where the lab and the benchmarks are built; PAGE: only these.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

from check import COMPILER, pages
from install import repository_of

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROGRAM = re.compile(r"^ {4}(?:\$ )?(?:g\+\+|clang\+\+|nvcc|rubato-lab|python3?|bash|cmake|git|(?:build|bench|tests)/\S+) ")
SECONDS = 900

STANDS_FOR = {
    "FILE": "examples/lab/policies/learned.safetensors", "LOG": "run.jsonl", "NAME": "ideal", "SCENARIO": "ideal",
    "AGENT": "dqn-paper-scaled", "SEED": "1", "H": "1", "N": "2", "A": "0.1", "MNIST_DIR": "examples/data",
}
LEAST = {
    "compare": {"--seeds": "1"},
    "room": {"--seeds": "1", "--tuning-seeds": "1", "--policies": "asp,ssp"},
    "train": {"--episodes": "1", "--expert-runs": "1", "--test-seeds": "1"},
    "train by dqn": {"--episodes": "1", "--expert-runs": "1", "--test-seeds": "1", "--evaluation-episodes": "1"},
    "train by search": {"--generations": "1", "--population": "4", "--clusters": "2", "--selection-clusters": "2",
                        "--select-every": "1"},
    "batch compare": {"--seeds": "1", "--tuning-seeds": "1", "--policies": "static:64,dynamix:64",
                      "--set": "objective.max_time=50"},
    "batch explain": {"--seeds": "1", "--set": "objective.max_time=50"},
    "batch train": {"--updates": "1", "--generations": "1", "--selection-tasks": "2"},
    "growth train": {"--updates": "1", "--seeds": "1"},
    "growth tables": {"--samples": "50", "--hidden": "2,2", "--repeats": "1"},
    "search-switch": {"--bsp-runs": "1", "--runs": "1", "--pushes": "200", "--candidates": "2"},
    "experiment sync-switch": {"--seeds": "1", "--set": "objective.workload=3200"},
    "experiment fig2": {"--seeds": "1"},
    "experiment fig3": {"--seeds": "1", "--part": "3a-2"},
    "explain": {"--seeds": "1"},
    "advise": {"--members": "4", "--policies": "asp,knee"},
}
NOT_RUN = {
    r"\./examples/demo\.sh|\./tests/(run|long)\.sh|\./bench/run\.sh": "takes from minutes to a day, and is a check itself",
    r"cmake (-S \. )?-B|cmake --build": "what is built so runs here",
    r"build/release/(bin/test_cuda_device|cuda/bench_cuda)|for tool in memcheck": "needs a GPU",
    r"bench/experiments/\w+\.sh|bench/experiments/hosts\.py": "takes hours",
    r"python3 bench/experiments/(fit_coverage|advise|advise_on_threads)\.py (build/|run |advise )": "takes hours",
    r"python3 bench/experiments/rule_tables\.py": "takes minutes; tests/bench/learned_results_test.py does it",
    r"torch_train |python3 bench/experiments/switch_pause\.py": "is timed, on hosts that a build may not have",
    r"(for scenario in .* do )?build/release/bin/(stigmergy|online_jobs)": "takes minutes to hours",
    r"build/release/bin/classic_control|python bench/peers/|python3 bench/experiments/learning_curves\.py": "takes hours",
    r"python3 bench/experiments/digits_as_idx\.py|python3 -m venv|\S+/pip install|\S+/python tests/": "needs PyPI",
    r"for i in .*bench/bin/scale|bench/experiments/scale_best|build/bench/bin/(scale|gloo_scale) ": "takes minutes, is timed",
    r"(for workload in .* )?rubato-lab search-switch --logs DIR": "needs logs; tests/examples/search_switch_test.cpp has some",
    r"rubato-lab growth train .*--reinforce": "takes minutes",
    r"/usr/bin/python3 tests/(mutation|coverage)/run\.py": "takes half an hour, and is a check itself",
    r"/usr/bin/python3 tests/proof/shield\.py|build/release/bin/conformance": "is a test, and needs python3-z3",
    r"cmp ": "compares the results of a training that is cut short here",
    r"python3 tests/fuzz/run\.py": "builds for minutes; a stage of its own",
}


class Refused(Exception):
    pass


def commands_of(block):
    """The commands of a block, one a string."""
    found, pending = [], ""
    for line in block.splitlines(keepends=True):
        pending += line
        if line.endswith("\\\n") or not pending.strip():
            continue
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # a quotation that goes on
            continue
        if words[:1] == ["for"] and words[-1] != "done":
            continue
        found.append(pending.strip())
        pending = ""
    if pending.strip():
        raise Refused(f"ends within a command: {pending.strip()}")
    return found


def why_not_run(command, used):
    for pattern, reason in NOT_RUN.items():
        if re.match(pattern, command):
            used.add(pattern)
            return reason
    return None


def shortened(command):
    """As it is run: what words stand for, and least work."""
    command = re.sub(r"\[(--set [^\]]*|NAME)\]", r"\1", command)
    command = re.sub(r"(?<![\w-])([A-Z]+(?:_[A-Z]+)?)(?![\w*-])", lambda word: STANDS_FOR.get(word[1], word[1]), command)
    lab = re.match(r"(\S*rubato-lab) ((?:batch |growth |experiment )?[\w-]+)", command)
    if not lab or "--help" in command:
        return command
    kind = lab[2]
    if agent := re.search(r"--agent (es|cma-es|dqn|ppo)(?= |$)", command):
        kind += " by search" if agent[1] in ("es", "cma-es") else " by dqn"
    command = re.sub(r"\\\n", " ", command)
    for option, least in LEAST.get(kind, {}).items():
        command, times = re.subn(rf"{option} \S+", f"{option} {least}", command)
        if not times:
            command = re.sub(rf"(rubato-lab {lab[2]})\b", rf"\1 {option} {least}", command)
    return command


def names_that_exist(root, command, targets):
    """Of a command that is not run: its files and targets."""
    for word in re.findall(r"(?<![\w/])\.?/?((?:bench|tests|examples|docs)/[\w./-]+\.(?:sh|py|cpp|csv|svg|tar\.xz))", command):
        path = root / word
        if not path.is_file():
            raise Refused(f"names {word}, which does not exist")
        if path.suffix == ".sh":
            subprocess.run(["bash", "-n", path], check=True)
        elif path.suffix == ".py":
            compile(path.read_text(encoding="utf-8"), word, "exec")
    named = re.findall(r"cmake --build [^&]*--target ([\w -]+)", command)
    for target in (named[0].split() if named else []) + re.findall(r"build/\w+/(?:bin|cuda)/([\w-]+)", command):
        if target not in targets and "cuda" not in target:
            raise Refused(f"names the target {target}, which the build has not")


def program_for(text, name, position):
    """The page's program that a command calls by that name."""
    blocks = [block for block in BLOCK.finditer(text) if block[1] == "cpp" and "int main(" in block[2]]
    above = [block for block in blocks if block.end() < position]
    if not blocks:
        raise Refused(f"compiles {name}, and the page has no program")
    return (above[-1] if above else blocks[0])[2]


def expected_after(text, end):
    follows = re.match(r"\n\n```\n(.*?)^```$", text[end:], re.DOTALL | re.MULTILINE)
    return follows[1] if follows else None


def is_printed(expected, printed):
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in expected.splitlines())
    return re.fullmatch(pattern, printed) is not None


def script_of(root, page, targets, used, left_out):
    """A page's blocks as (line, bash, what it prints), and the programs that it needs as {file: text}."""
    text = page.read_text(encoding="utf-8")
    steps, programs, short = [], {}, set()
    for block in BLOCK.finditer(text):
        if block[1] != "sh":
            continue
        line = text.count("\n", 0, block.start()) + 1
        run, expected = [], expected_after(text, block.end())
        try:
            for command in commands_of(block[2]):
                if why := why_not_run(command, used):
                    names_that_exist(root, command, targets)
                    left_out.setdefault(why, []).append(f"{page.name}:{line}")
                    expected = None
                    continue
                run.append(shortened(command))
                if run[-1] != command:
                    short.update(re.findall(r"--(?:out|csv|log) (\S+)", command))
                if run[-1] != command or any(name in command for name in short):
                    expected = None
                for name in re.findall(r"(?<![\w/])(\w+\.cpp)\b", command):
                    programs[name] = program_for(text, name, block.start())
        except Refused as refused:
            raise Refused(f"{page.relative_to(root)}:{line}: {refused}") from None
        if run:
            steps.append((line, run, expected))
    for number, line in enumerate(re.sub(r"^```.*?^```$", lambda whole: "\n" * whole[0].count("\n"), text,
                                         flags=re.DOTALL | re.MULTILINE).splitlines(), 1):
        if PROGRAM.match(line):
            raise Refused(f"{page.relative_to(root)}:{number}: a command outside of a block marked sh: {line.strip()}")
    return steps, programs


def run_page(repository, build, page, steps, programs):
    """What went wrong, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        tree, logs = pathlib.Path(folder, "tree"), pathlib.Path(folder, "logs")
        subprocess.run(["git", "clone", "-q", repository, tree], check=True)
        logs.mkdir()
        for name in ("", "demo", "release", "bench"):
            (tree / "build" / name).mkdir(parents=True, exist_ok=True)
            (tree / "build" / name / "bin").symlink_to(build / "bin")
        for name, text in programs.items():
            (logs / name).write_text(text, encoding="utf-8")
        compiler = logs / "g++"
        compiler.symlink_to(COMPILER if os.path.isabs(COMPILER) else f"/usr/bin/{COMPILER}")
        environment = {**os.environ, "RUBATO": str(repository), "PATH": f"{logs}:{build / 'bin'}:{os.environ['PATH']}"}
        script = ["set -euo pipefail", MAKE_LOG]
        for line, (*first, last), _ in steps:
            every = "\n".join((*first, last))
            needed = [f"cp {logs}/{name} ." for name in programs if name in every]
            needed += [f"rm -f {file}" for file in re.findall(r"--out (\S+)", every)]  # of an earlier block
            script += [f"echo {line} >{logs}/at", "{", ":", *needed, *first, f"}} >{logs}/log 2>&1", "{", last,
                       f"}} >{logs}/{line}.out 2>>{logs}/log"]
        try:
            done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=tree, env=environment, text=True, timeout=SECONDS,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return f"{page}:{(logs / 'at').read_text().strip()}: not done after {SECONDS} s"
        if done.returncode != 0:
            at = (logs / "at").read_text().strip() if (logs / "at").exists() else "0"
            log = (logs / "log").read_text(encoding="utf-8") if (logs / "log").exists() else ""
            return f"{page}:{at}: ends with {done.returncode}:\n{log[-4000:]}{done.stderr[-2000:]}"
        for line, _, expected in steps:
            printed = (logs / f"{line}.out").read_text(encoding="utf-8")
            if expected is not None and not is_printed(expected, printed):
                return f"{page}:{line}: prints\n{printed}expected\n{expected}"
    return None


# A decision log, which pages take as that of the reader's own run.
MAKE_LOG = """rubato-lab compare --scenario shared4 --set stragglers.count=3 --policies ssp:3 --seeds 1 --seed 5 \\
  --log run.jsonl >../logs/log 2>&1"""


def main(arguments):
    root, build = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    chosen = [page for page in pages(root) if "integrations" not in page.parts and page.name != "install.md" and
              (len(arguments) < 3 or page.name in arguments[2:])]
    if not chosen:
        sys.exit(f"commands.py: {' '.join(arguments[2:])}: expected names of pages such as lab.md")
    listed = subprocess.run(["cmake", "--build", build, "--target", "help"], text=True, capture_output=True, check=True)
    targets = set(re.findall(r"^([\w-]+): phony$", listed.stdout, re.MULTILINE))
    status, used, left_out, ran = 0, set(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder, "rubato")
        repository_of(root, repository)
        for page in chosen:
            begin = time.monotonic()
            try:
                steps, programs = script_of(root, page, targets, used, left_out)
                wrong = run_page(repository, build, page.relative_to(root), steps, programs) if steps else None
            except Refused as refused:
                steps, wrong = [], str(refused)
            ran += sum(len(run) for _, run, _ in steps)
            if steps or wrong:
                print(f"{time.monotonic() - begin:6.1f} s  {page.relative_to(root)}: {wrong or 'as written'}", flush=True)
            status = status or (1 if wrong else 0)
    for why, places in left_out.items():
        print(f"not run, {why}: {', '.join(sorted(set(places)))}")
    if len(arguments) < 3 and (unused := set(NOT_RUN) - used):
        print(f"error: NOT_RUN has what no page says: {unused}")
        status = 1
    print(f"{ran} commands run")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
