#!/usr/bin/env bash
# Builds the benchmarks as users build (-O2, nothing else), runs all on one core, and prints the table: what was measured,
# floors and peers of the same run, and the bars. JSON of each program, and the table, go to a directory.
# usage: run.sh [--filter REGEX] [--repetitions N] [--out DIR] [--peers DIR] [--cpu N] [--page FILE] [--print-only]
#   --filter       only rows in which this is found; no bars of others
#   --repetitions  of each row, 5 if not given; the least of all counts
#   --out          build/bench/results if not given
#   --peers        where sources of RTNeural and rl-tools are, to compare with
#   --cpu          the core, the last if not given
#   --page         puts the table into this file, too, between its marks
#   --print-only   exit status 0 whatever falls short; else 1 where a bar is missed or not measured
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  sed -nE '/^# usage/,/^set /{s/^# ?//p}' "${BASH_SOURCE[0]}" >&2
  exit 2
}
filter='' repetitions=5 out=build/bench/results peers='' cpu=$(($(nproc) - 1)) report=()
while (($# > 0)); do
  case $1 in
    --print-only) report+=(--print-only); shift; continue ;;
    --filter | --repetitions | --out | --peers | --cpu | --page) (($# > 1)) || usage ;;
    *) usage ;;
  esac
  case $1 in
    --filter) filter=$2 ;;
    --repetitions) repetitions=$2 ;;
    --out) out=$2 ;;
    --peers) peers=$(realpath "$2") ;;
    --cpu) cpu=$2 ;;
    --page) report+=(--page "$(realpath "$2")") ;;
  esac
  shift 2
done

export CXX=${CXX:-g++} PYTHONDONTWRITEBYTECODE=1
bash cmake/need.sh cmake ninja-build g++ python3 libbenchmark-dev
mkdir -p "$out" build/logs
out=$(realpath "$out")

# RelWithDebInfo is -O2 -g -DNDEBUG.
{
  cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRUBATO_BUILD_BENCHMARKS=ON \
    -DRUBATO_BENCH_PEERS="$peers"
  cmake --build build/bench -j "$(nproc)" --target benchmarks
} >build/logs/bench.log 2>&1 || { tail -n 40 build/logs/bench.log; exit 1; }

# What libraries do with threads, and with a processor that they do not know, is not what is compared: OpenBLAS then takes
# kernels of 2004.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
if [[ -z ${OPENBLAS_CORETYPE:-} ]]; then
  if grep -qm1 avx512vl /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=SkylakeX
  elif grep -qm1 avx2 /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=Haswell
  fi
fi

rm -f "$out"/*.json
for program in build/bench/bin/bench_*; do
  name=${program##*/}
  printf '%s\n' "$name" >&2
  # Rows begin with the program's name, which the program does not know.
  own=${filter#"$name/"}
  if [[ $name =~ $filter ]]; then own=.; fi
  taskset -c "$cpu" "$program" --benchmark_filter="${own:-.}" --benchmark_repetitions="$repetitions" \
    --benchmark_min_time=0.1 --benchmark_out="$out/$name.json" --benchmark_out_format=json \
    >"$out/$name.log" 2>&1 || { tail -n 20 "$out/$name.log" >&2; exit 1; }
done
if [[ compile_time =~ $filter || $filter == compile_time* ]]; then
  printf 'compile_time\n' >&2
  taskset -c "$cpu" python3 bench/compile_time.py --repetitions "$repetitions" --out "$out/compile_time.json"
fi

heading="$(date -u +%F), $(sed -nE 's/^model name\s*: //p' /proc/cpuinfo | head -n 1), $("$CXX" --version | head -n 1), -O2:"
status=0
python3 bench/table.py "$out"/*.json --filter "$filter" --heading "$heading" "${report[@]}" >"$out/table.md" || status=$?
cat "$out/table.md"
exit "$status"
