#!/usr/bin/env bash
# What takes too long for run.sh: the property tests with many more random schedules, optimised and under the sanitizers,
# the lab under the sanitizers, and the robust DQN on CartPole, ten seeds. Results to standard output.
# usage: long.sh [SCALE]      SCALE: how many times the usual number of schedules (20, which is over a million events
#                             for each policy); a tenth of that under the sanitizers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scale=${1:-20}
export CXX=${CXX:-g++}
bash cmake/need.sh cmake ninja-build g++ clang libclang-rt-dev python3 libgtest-dev libbenchmark-dev libcli11-dev \
  nlohmann-json3-dev zlib1g-dev

printf 'commit %s, %s, RUBATO_TEST_SCALE=%s\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)" \
  "$("$CXX" --version | head -n 1)" "$scale"
# run PRESET PROGRAM SCALE
run() {
  mkdir -p build/logs
  { cmake --preset "$1" && cmake --build --preset "$1" -j "$(nproc)" --target "$2"; } \
    >build/logs/long.log 2>&1 || { tail -n 80 build/logs/long.log; exit 1; }
  printf '== %s %s\n' "$1" "$2"
  RUBATO_TEST_SCALE=$3 "build/$1/bin/$2" --gtest_brief=0 | grep -vE '^\[ +RUN +\]|^$'
}
tenth=$(awk "BEGIN { print $scale / 10 }")
run release test_properties "$scale"
run asan test_properties "$tenth"
run asan test_sim "$tenth"
run asan test_examples 1
cmake --build --preset release --target classic_control >build/logs/long.log 2>&1 || { tail -n 80 build/logs/long.log; exit 1; }
printf '== release classic_control\n'
build/release/bin/classic_control cartpole 1 10 build/logs/cartpole.csv
