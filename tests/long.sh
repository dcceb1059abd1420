#!/usr/bin/env bash
# The property tests with many more random schedules, optimised and under the sanitizers; results to standard output.
# usage: long.sh [SCALE]      SCALE: how many times the usual number of schedules (20)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export RUBATO_TEST_SCALE=${1:-20} CXX=${CXX:-g++}
bash cmake/need.sh cmake ninja-build g++ clang libclang-rt-dev python3 libgtest-dev libbenchmark-dev libcli11-dev \
  nlohmann-json3-dev zlib1g-dev

printf 'commit %s, %s, RUBATO_TEST_SCALE=%s\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)" \
  "$("$CXX" --version | head -n 1)" "$RUBATO_TEST_SCALE"
for preset in release asan; do
  mkdir -p build/logs
  { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$(nproc)" --target test_properties; } \
    >build/logs/long.log 2>&1 || { tail -n 80 build/logs/long.log; exit 1; }
  printf '== %s\n' "$preset"
  "build/$preset/bin/test_properties" --gtest_brief=0 | grep -vE '^\[ +RUN +\]|^$'
done
