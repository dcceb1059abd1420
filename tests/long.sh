#!/usr/bin/env bash
# What takes too long for run.sh. Results to standard output, a part after another:
#   schedules    the property tests with many more random schedules, optimised and under the sanitizers; simulator and lab
#                under the sanitizers; the robust DQN on CartPole, ten seeds
#   sanitizers   the modules that run.sh does not take there
#   compilers    all modules, optimised by g++ and by clang, which has the lab and the examples, too; the controller
#                without exceptions; more sets of flags; all experiments; CUDA code for every architecture
#   proof        planted bugs against the proved statement of the controller; two workers to the end
#   model        27 seeded bugs against the explorer of every interleaving
#   fuzz         the corpora in the release build; the fuzzers, half an hour in all
#   mutants, coverage, soak (ten minutes), valgrind
#   msan         soak and conformance under MemorySanitizer
#   hosts        those of integrations/ that are processes, under the sanitizers
#   kills        workers of gloo_ps are killed at 200 instants
#   scale        up to 1,000 workers of gloo_ps, 100,000 of a controller
#   logs         statistics and a replay of a decision log of ten million lines, in bounded memory
#   real         simulated ratios of policies and real ones on threads
#   portability  other processors; other compilers and standard libraries, where they are installed
#   browser      the page of `rubato-lab report`, as chromium shows it
#   docs         the commands of README and docs, those of docs/install.md from nothing; the tables of docs/learned.md anew
# usage: long.sh [SCALE [PART]...]
#   SCALE: how many times the usual number of schedules (20, which is over a million events for each policy); a fortieth
#   of that under the sanitizers. PART: without one, all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scale=${1:-20}
parts=("${@:2}")
all_parts=(schedules sanitizers compilers proof model fuzz mutants coverage soak valgrind msan hosts kills scale logs real
           portability browser docs)
for part in "${parts[@]}"; do
  if [[ " ${all_parts[*]} " != *" $part "* ]]; then
    printf 'usage: tests/long.sh [SCALE [PART]...]   parts: %s\n' "${all_parts[*]}" >&2
    exit 2
  fi
done
export CXX=${CXX:-g++}
bash cmake/need.sh cmake ninja-build g++ clang libclang-rt-dev python3 libgtest-dev libbenchmark-dev libcli11-dev \
  nlohmann-json3-dev libcpp-httplib-dev zlib1g-dev libgloo-dev libtorch-dev python3-torch libopenmpi-dev openmpi-bin \
  iproute2 python3-z3 python3-clang-14 gcovr valgrind

printf 'commit %s, %s, RUBATO_TEST_SCALE=%s\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)" \
  "$("$CXX" --version | head -n 1)" "$scale"
# build PRESET PROGRAM...
build() {
  mkdir -p build/logs
  { cmake --preset "$1" -D RUBATO_TEST_ALL=ON && cmake --build --preset "$1" -j "$(nproc)" --target "${@:2}"; } \
    >build/logs/long.log 2>&1 || { tail -n 80 build/logs/long.log; exit 1; }
}
# run PRESET PROGRAM SCALE
run() {
  printf '== %s %s, scale %s\n' "$1" "$2" "$3"
  RUBATO_TEST_SCALE=$3 "build/$1/bin/$2" --gtest_brief=0 | grep --line-buffered -vE '^\[ +RUN +\]|^$'
}
# One test is about numbers alone: it compares policies on images, twelve minutes and more under the sanitizers.
checked() {
  run asan test_properties "$fortieth" && run asan test_sim "$fortieth" &&
    GTEST_FILTER=-LearnedPolicy.IsAsGoodAsRecorded run asan test_examples 1
}
optimised() {
  run release test_properties "$scale" &&
    printf '== release classic_control\n' &&
    ctest --preset release -L '^bench$' &&
    build/release/bin/classic_control cartpole 1 10 build/logs/cartpole.csv
}
part_schedules() {
  build release test_properties classic_control benchmarks
  build asan test_properties test_sim test_examples gloo_server gloo_worker
  fortieth=$(awk "BEGIN { print $scale / 40 }")
  # Two at a time, since none of these has more than one thread that works.
  optimised >build/logs/long_optimised.log 2>&1 &
  local first=$! status=0
  checked || status=1
  wait "$first" || status=1
  cat build/logs/long_optimised.log
  return "$status"
}
part_sanitizers() {
  local status=0 modules=(extras io threads_ps nn encode learned rl adapt cuda cuda_ps ps_lite fuzz flags model stigmergy)
  build asan "${modules[@]/#/test_}"
  for module in "${modules[@]}"; do
    GTEST_FILTER='-KnownTasks.*:*FiniteDifferences*:Ppo.Learns*' run asan "test_$module" 1 || status=1
  done
  modules=(core sync cuda cuda_ps ps_lite)
  build tsan "${modules[@]/#/test_}"
  for module in "${modules[@]}"; do
    GTEST_FILTER='-Reference*:ExpectedTime.*:LegalWait.OfA*' run tsan "test_$module" 1 || status=1
  done
  return "$status"
}
part_compilers() {
  local status=0 modules=(core sync extras io nn encode learned rl sim adapt stigmergy) programs=()
  for program in examples/[0-9][0-9]_*.cpp; do programs+=("$(basename "$program" .cpp)"); done
  build clang rubato-lab test_odr "${programs[@]}" "${modules[@]/#/test_}"
  build release "${modules[@]/#/test_}"
  for preset in clang release; do
    for module in "${modules[@]}"; do run "$preset" "test_$module" 1 || status=1; done
  done
  ctest --preset clang -L '^(odr|compile_fail|example)$' || status=1
  build noexcept test_sync
  run noexcept test_sync 1 || status=1
  cmake --preset release -D "CMAKE_CUDA_ARCHITECTURES=75-real;80-real;90" >/dev/null
  build release test_flags order_plain_first order_plain_last counts experiments
  ctest --preset release -L '^flags$' || status=1
  build release test_cuda_device test_cuda_ps_device cuda_headers cuda_train bench_cuda
  return "$status"
}
part_proof() {
  build release conformance
  ctest --preset release -L '^proof_bugs$' && build/release/bin/conformance 2
}
part_model() { python3 tests/model/seeded.py --compiler "$CXX" --jobs "$(nproc)"; }
part_fuzz() {
  build release test_fuzz
  run release test_fuzz 1 && python3 tests/fuzz/run.py --long --seconds 140
}
part_mutants() { /usr/bin/python3 tests/mutation/run.py --bugs --sample 300 --seed 1; }
part_coverage() { /usr/bin/python3 tests/coverage/run.py; }
part_soak() {
  build release soak
  build/release/bin/soak --seconds 600
}
# The release build, whose vector code valgrind knows, but for what is about numbers alone.
part_valgrind() {
  local status=0
  build release test_core test_sync test_io
  for module in core sync io; do
    GTEST_FILTER='-Reference*:ExpectedTime.*:LegalWait.OfA*' valgrind -q --error-exitcode=1 --leak-check=full \
      "build/release/bin/test_$module" --gtest_brief=1 || status=1
  done
  return "$status"
}
# The programs that need neither GoogleTest nor iostreams. By pieces, soak comes to both kinds of hosts.
part_msan() {
  local status=0
  build msan soak conformance
  printf '== msan\n'
  build/msan/bin/soak --workers 1000 --pieces 32 || status=1
  build/msan/bin/conformance 0.1 || status=1
  return "$status"
}
# The rest is alone on the machine: these are about time, or have many processes.
#
# Without file descriptors the sanitizers' own look at an object fails, which needs a pipe. What MPI and Python leave
# behind when they end is not ours.
part_hosts() {
  local programs=(gloo_server gloo_worker) status=0
  build asan test_gloo_ps test_libtorch test_mpi_ps torch_train torch_server torch_worker torch_local_sgd \
    torch_mpi mpi_train "${programs[@]}"
  build tsan test_gloo_ps "${programs[@]}"
  for preset in asan tsan; do
    GTEST_FILTER=-ManyWorkers.TooManyOpenFilesAreTold run "$preset" test_gloo_ps 1 || status=1
  done
  for program in test_libtorch test_mpi_ps; do
    ASAN_OPTIONS=detect_leaks=0 run asan "$program" 1 || status=1
  done
  return "$status"
}
part_kills() {
  build release test_gloo_ps gloo_server gloo_worker
  printf '== gloo_ps, 200 kills\n'
  RUBATO_GLOO_KILLS=200 build/release/bin/test_gloo_ps --gtest_filter='Processes.Killed*Sums*'
}
part_scale() {
  local status=0
  build release scale gloo_scale
  printf '== scale\n'
  build/release/bin/scale controller || status=1
  build/release/bin/scale simulator || status=1
  build/release/bin/gloo_scale || status=1
  return "$status"
}
part_logs() {
  build release rubato-lab
  printf '== logs\n'
  python3 tests/examples/huge_log.py build/release/bin/rubato-lab 10000000
}
part_real() {
  build release rubato-lab
  printf '== simulated and real\n'
  rm -rf build/logs/sim_to_real
  python3 bench/experiments/sim_to_real.py build/release/bin/rubato-lab --out build/logs/sim_to_real
}
part_portability() {
  bash cmake/need.sh g++-i686-linux-gnu g++-s390x-linux-gnu g++-aarch64-linux-gnu qemu-user
  bash tests/portability.sh
}
part_browser() {
  bash cmake/need.sh chromium fonts-dejavu-core
  build release rubato-lab
  printf '== the page of rubato-lab report\n'
  PYTHONDONTWRITEBYTECODE=1 python3 tests/browser/report_page.py build/release/bin/rubato-lab
}
part_docs() {
  build release rubato-lab
  printf '== the commands of README and docs\n'
  PYTHONDONTWRITEBYTECODE=1 python3 tests/docs/commands.py . build/release && ctest --preset release -L '^seldom$'
}

status=0
for part in "${parts[@]:-${all_parts[@]}}"; do
  ("part_$part") || status=1
done
exit "$status"
