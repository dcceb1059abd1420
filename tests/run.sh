#!/usr/bin/env bash
# Builds and runs the tests that every change has to pass; stops at the first stage that fails. What takes long and
# seldom finds what the rest does not is in long.sh (docs/testing.md, "What runs where"). Logs: build/logs/STAGE.log
# usage: run.sh [--only STAGE]...      Skipped tests, which need what the machine lacks, are named at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
export CXX=${CXX:-g++} PYTHONDONTWRITEBYTECODE=1

configure() { cmake --preset "$@"; }

# build PRESET [REGEX]: everything, or the targets that match.
build() {
  local targets=(all)
  if (($# > 1)); then
    mapfile -t targets < <(cmake --build "build/$1" --target help | sed -nE "s/^($2): phony$/\1/p")
  fi
  cmake --build --preset "$1" -j "$jobs" --target "${targets[@]}"
}

# run_tests PRESET ctest-option...
run_tests() { "${fixed_addresses[@]}" ctest --preset "$1" -j "$jobs" "${@:2}"; }

# Sanitizers reserve fixed addresses, which a kernel with much address randomisation may have given away already.
fixed_addresses=()
fix_addresses() {
  if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_addresses=(setarch "$(uname -m)" -R); fi
}

programs='[0-9][0-9]_[a-z_]+'
# What is about numbers, and goes through the same code again and again to find them, is not for the sanitizers.
code_only='-Reference*:ExpectedTime.*:LegalWait.OfA*:KnownTasks.*'
of_tsan='test_extras|test_threads_ps|threads_ps_switching|02_[a-z_]+|04_[a-z_]+'
of_asan='test_core|test_sync'

# The stages, the quickest to fail first. Label `tree`: checks of the source tree, the same in every preset.
stages=(layers headers tree noexcept hosts release fuzz tsan asan)

stage_layers() {
  python3 tests/layers/check.py
  python3 tests/layers/self_test.py
}
# Each header compiled alone, in the strictest mode.
stage_headers() {
  configure noexcept
  build noexcept all_verify_interface_header_sets
}
stage_tree() {
  configure release
  run_tests release -L '^tree$'
}
stage_noexcept() {
  configure noexcept
  build noexcept "test_core|$programs"
  run_tests noexcept -L '^(core|example)$'
}
# GPU code is for one architecture here, and only compiled where that takes seconds. What is not said to be optimised
# otherwise is not worth its time.
configure_release() {
  configure release -D CMAKE_CUDA_ARCHITECTURES=90-real -D RUBATO_TEST_ALL=OFF "-DCMAKE_CXX_FLAGS_RELEASE=-Og -DNDEBUG"
}
configure_sanitizer() { configure "$1" -D RUBATO_TEST_ALL=OFF; }
# Tests of processes wait more than they compute. What later stages need is built beside them, by cores that have
# nothing else to do; two builds at a time, since the last file of one may take a minute. If one fails, its stage says so.
build_ahead() {
  chrt --idle --pid 0 "$BASHPID" || renice -n 19 -p "$BASHPID"
  build release &
  {
    python3 tests/fuzz/run.py --build-only
    for preset in tsan asan; do configure_sanitizer "$preset"; done
    build tsan "$of_tsan"
    build asan "$of_asan"
  } || true
  wait
}
stage_hosts() {
  local ahead status=0
  configure_release
  build release 'test_(gloo_ps|mpi_ps|libtorch)'
  ((${#only[@]} > 0)) || (build_ahead) >build/logs/ahead.log 2>&1 &
  ahead=$!
  run_tests release -L '^(gloo_ps|mpi_ps|libtorch)$' || status=1
  wait "$ahead" || true
  return "$status"
}
stage_release() {
  configure_release
  build release
  run_tests release -LE '^(tree|proof_bugs|seldom|gloo_ps|mpi_ps|libtorch)$'
}
stage_fuzz() {
  python3 tests/fuzz/run.py --seconds 15
}
# What has threads.
stage_tsan() {
  fix_addresses
  configure_sanitizer tsan
  build tsan "$of_tsan"
  run_tests tsan -L '^(extras|threads_ps)$'
  run_tests tsan -R '^example\.(02|04)' --repeat until-fail:5
}
stage_asan() {
  fix_addresses
  configure_sanitizer asan
  build asan "$of_asan"
  GTEST_FILTER=$code_only run_tests asan -L '^(core|sync)$'
}

only=()
while (($# > 0)); do
  if [[ $1 != --only || $# -lt 2 || " ${stages[*]} " != *" $2 "* ]]; then
    printf 'usage: tests/run.sh [--only STAGE]...   stages: %s\n' "${stages[*]}" >&2
    exit 2
  fi
  only+=("$2")
  shift 2
done

bash cmake/need.sh cmake ninja-build g++ clang libclang-rt-dev pkg-config python3 libgtest-dev libbenchmark-dev \
  libcli11-dev nlohmann-json3-dev libcpp-httplib-dev zlib1g-dev libgloo-dev libtorch-dev libopenblas0-openmp python3-torch \
  libopenmpi-dev openmpi-bin iproute2 valgrind qemu-user doxygen python3-z3 python3-clang-14

passed=0
failed=0
skipped=()
mkdir -p build/logs
for stage in "${only[@]:-${stages[@]}}"; do
  log=build/logs/$stage.log
  begin=$SECONDS
  # A shell of its own: inside `if` errexit would not stop the stage at its first failing command.
  set +e
  (set -e; "stage_$stage") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  while read -r bad all; do
    passed=$((passed + all - bad))
    failed=$((failed + bad))
  done < <(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log")
  # ctest counts those as passed.
  mapfile -t -O "${#skipped[@]}" skipped < <(sed -nE 's/^\t *[0-9]+ - (.+) \(Skipped\)$/\1/p' "$log")
  if ((status != 0)); then
    tail -n 80 "$log"
    printf '%-9s FAILED %4d s   (whole log: %s)\n' "$stage" $((SECONDS - begin)) "$log"
    ((failed > 0)) || failed=1
    break
  fi
  printf '%-9s passed %4d s\n' "$stage" $((SECONDS - begin))
done
printf '%-9s        %4d s\n' total "$SECONDS"
if ((${#skipped[@]} > 0)); then printf 'skipped: %s\n' "${skipped[@]}"; fi
printf '%d passed, %d failed, %d skipped\n' $((passed - ${#skipped[@]})) "$failed" "${#skipped[@]}"
((failed == 0))
