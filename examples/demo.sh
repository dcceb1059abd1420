#!/usr/bin/env bash
# Builds the lab and compares the classical policies, knee and learned ones on real images; tables to the terminal, files
# to out/demo/. Takes about five minutes on two cores. As root on Debian it installs the packages that are missing, else
# it names them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/need.sh cmake ninja-build g++ libcli11-dev nlohmann-json3-dev zlib1g-dev

printf 'building rubato-lab (log: build/logs/demo.log)\n'
mkdir -p build/logs out/demo
build() {
  cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DRUBATO_BUILD_EXAMPLES=ON &&
    cmake --build build/demo --target rubato-lab
}
# Everything to the log, one short line for each file to the terminal.
build 2>&1 | tee build/logs/demo.log | sed -unE 's,^(\[[0-9]+/[0-9]+\]) (Build|Link)ing .*[ /]([^ /]+)$,  \1 \3,p' ||
  { tail -n 40 build/logs/demo.log >&2; exit 1; }

lab=build/demo/bin/rubato-lab
compare() {
  local scenario=$1
  printf '\n== %s: 12 policies, 10 seeds each\n' "$scenario"
  "$lab" compare --scenario "$scenario" --seeds 10 --threads "$(nproc)" \
    --policies bsp:mean,bsp:sum,asp,ssp:1,ssp:2,ssp:3,ssp:5,ssp:8,knee,distilled,learned,rlp \
    --json "out/demo/$scenario.json" --csv "out/demo/$scenario.csv"
}
compare paper
compare shared4
"$lab" compare --scenario shared4 --policies ssp:3 --seeds 1 --quiet --trace out/demo/trace.json \
  --log out/demo/run.jsonl >/dev/null
"$lab" report out/demo/paper.json out/demo/shared4.json --log out/demo/run.jsonl -o out/demo/report.html >/dev/null

printf '\nwritten: %s\n' "$(echo out/demo/*)"
printf 'open out/demo/report.html in a browser: all of this as one page, with drawings\n'
printf 'open out/demo/trace.json in https://ui.perfetto.dev to see who waits for whom: ssp:3 on shared4, seed 1\n'
