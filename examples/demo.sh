#!/usr/bin/env bash
# Builds the lab and compares the classical policies on real images; tables to the terminal, files to out/demo/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/need.sh cmake ninja-build g++ libcli11-dev nlohmann-json3-dev zlib1g-dev

printf 'building rubato-lab\n'
mkdir -p build/logs out/demo
{
  cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release -DRUBATO_BUILD_TESTING=OFF &&
    cmake --build build/demo --target rubato-lab
} >build/logs/demo.log 2>&1 || { tail -n 40 build/logs/demo.log >&2; exit 1; }

compare() {
  local scenario=$1
  shift
  printf '\n== %s\n' "$scenario"
  build/demo/bin/rubato-lab compare --scenario "$scenario" \
    --policies bsp:mean,bsp:sum,asp,ssp:1,ssp:2,ssp:3,ssp:5,ssp:8 --seeds 10 --threads "$(nproc)" \
    --json "out/demo/$scenario.json" --csv "out/demo/$scenario.csv" "$@"
}
compare paper
compare shared4 --trace out/demo/trace.json

printf '\nwritten: %s\nopen out/demo/trace.json in Perfetto to see who waits for whom\n' "$(echo out/demo/*)"
