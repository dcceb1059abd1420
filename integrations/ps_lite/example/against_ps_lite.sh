#!/usr/bin/env bash
# Builds both servers of the README against a ps-lite that is built, runs a job with each, and prints how far a worker
# that started a step was ahead of the slowest.
#
#     against_ps_lite.sh PS_LITE [SERVERS]      PS_LITE: a folder with include/ and build/libps.a
#
# CXX, CXXFLAGS, LDFLAGS: the compiler, and where libzmq and libprotobuf are. Each process ends within 60 seconds.
set -euo pipefail
ps_lite=${1:?usage: against_ps_lite.sh PS_LITE [SERVERS]}
servers=${2:-1}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT

port=18500
for server in before after; do
  counted=$([ $server = after ] && echo -DWORKERS_ARE_COUNTED || true)
  # shellcheck disable=SC2086
  ${CXX:-c++} -std=c++20 -O1 -w ${CXXFLAGS:-} $counted "-DSERVER_HEADER=\"$here/$server.hpp\"" "-I$here/../include" \
    "-I$here/../../../include" "-I$ps_lite/include" "$here/job.cpp" "$ps_lite/build/libps.a" ${LDFLAGS:-} -lprotobuf \
    -lzmq -pthread -o "$folder/$server"
  port=$((port + 1))
  export DMLC_NUM_SERVER=$servers DMLC_NUM_WORKER=3 DMLC_PS_ROOT_URI=127.0.0.1 DMLC_PS_ROOT_PORT=$port
  export DMLC_NODE_HOST=127.0.0.1
  echo "$server.hpp, $servers server(s), 3 workers:"
  pids=()
  for role in scheduler $(yes server | head -n "$servers") worker worker worker; do
    DMLC_ROLE=$role timeout 60 "$folder/$server" "$folder" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  pids=()
  python3 - "$folder" <<'PYTHON'
import sys
events = {rank: [line.split() for line in open(f"{sys.argv[1]}/{rank}", encoding="utf-8")] for rank in range(3)}
pushes = {rank: [float(time) for what, _, time in mine if what == "push"] for rank, mine in events.items()}
# Who has sent a push may have finished that step: so this is the least that the lead can have been.
lead = max(int(step) - min(sum(push < float(time) for push in others) for others in pushes.values())
           for mine in events.values() for what, step, time in mine if what == "start")
print(f"largest lead at the start of a step: {lead}")
PYTHON
done
