#!/usr/bin/env bash
# Tries other compilers, standard libraries and processors, and flags that few use: compiles the umbrellas with all
# warnings, builds the tests of modules together with GoogleTest's sources, and runs them; those for aarch64 and s390x,
# whose bytes come in the other order, under qemu. i686 has words of 32 bits; without SSE2 it would round otherwise.
# usage: portability.sh [ROW]...     ROW: a name below, whose compiler has to be there; without one, all whose compilers
#                                    are. g++-NN that are installed are rows, too. Modules of a row: RUBATO_MODULES
#                                    instead, if it is set.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# name | compiler and options | what runs the programs | modules
rows=(
  "g++|g++ -std=c++23||core sync encode nn"
  "clang-19|clang++-19 -std=c++20||core sync encode nn"
  "clang-19-libc++|clang++-19 -std=c++23 -stdlib=libc++||core sync encode nn io"
  "clang-22|clang++-22 -std=c++23||core sync encode nn"
  "aarch64|aarch64-linux-gnu-g++ -std=c++20|qemu-aarch64 -L /usr/aarch64-linux-gnu|core sync encode nn"
  "i686|i686-linux-gnu-g++ -std=c++20 -msse2 -mfpmath=sse -D_FILE_OFFSET_BITS=64|/usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib|core sync encode nn io learned"
  "s390x|s390x-linux-gnu-g++ -std=c++20|qemu-s390x -L /usr/s390x-linux-gnu|core sync encode nn io learned"
  "debug-library|g++ -std=c++20 -D_GLIBCXX_DEBUG -D_GLIBCXX_ASSERTIONS||core sync encode io"
  "hardened|g++ -std=gnu++20 -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fno-strict-aliasing -fwrapv -fPIE -pie||core sync io"
  "odd|g++ -std=c++20 -funsigned-char -fshort-enums -fno-threadsafe-statics -fno-inline -fvisibility=hidden -ftrapv||core sync io"
  "odd-clang|clang++ -std=c++20 -funsigned-char -fshort-enums -fno-threadsafe-statics -fno-inline -fvisibility=hidden -ftrapv||core sync io"
  "lto|g++ -std=c++20 -flto=auto||core sync nn"
)
for newer in $(compgen -c g++- | grep -xE 'g\+\+-[0-9]+' | sort -uV); do rows+=("$newer|$newer -std=c++23||core sync encode nn"); done
for wanted in "$@"; do
  if ! printf '%s\n' "${rows[@]%%|*}" | grep -qxF -- "$wanted"; then
    printf 'portability.sh: no row %s; there are %s\n' "$wanted" "$(printf '%s\n' "${rows[@]%%|*}" | paste -sd ' ')" >&2
    exit 2
  fi
done
umbrellas=(rubato rivals io rl sim adapt)
# The last: GCC 12's library calls what it has deprecated, which newer versions of clang see.
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Wno-deprecated-declarations)
googletest=/usr/src/googletest/googletest
[[ -d $googletest ]] || { echo "portability.sh: no sources of GoogleTest in $googletest (Debian: libgtest-dev)" >&2; exit 1; }
work=build/portability

# A list of commands, as many at a time as there are processors; each prints nothing if it goes well.
at_once() { xargs -d '\n' -P "$(nproc)" -n 1 bash -c; }

try() {
  local name=$1 runner=$3 folder=$work/$1 compiler modules module umbrella source
  read -ra compiler <<<"$2"
  read -ra modules <<<"${RUBATO_MODULES:-$4}"
  rm -rf "$folder"
  mkdir -p "$folder"
  for umbrella in "${umbrellas[@]}"; do
    printf '#include <rubato/%s.hpp>\n' "$umbrella" >"$folder/$umbrella.cpp"
    printf '%s -fsyntax-only -Iinclude %s/%s.cpp\n' "${compiler[*]} ${warnings[*]}" "$folder" "$umbrella"
  done | at_once
  printf '%s -O1 -I%s -isystem %s/include -c %s/src/gtest-all.cc -o %s/gtest.o\n%s -O1 -isystem %s/include -c %s/src/gtest_main.cc -o %s/main.o\n' \
    "${compiler[*]}" "$googletest" "$googletest" "$googletest" "$folder" "${compiler[*]}" "$googletest" "$googletest" "$folder" | at_once
  for module in "${modules[@]}"; do
    mkdir -p "$folder/$module"
    find tests/"$module" -name '*_test.cpp' | while read -r source; do
      printf '%s -O1 -Iinclude -Itests -isystem %s/include -DRUBATO_SOURCE_DIR=\\"%s\\" -c %s -o %s/%s/%s.o\n' "${compiler[*]}" \
        "$googletest" "$PWD" "$source" "$folder" "$module" "$(tr / . <<<"$source")"
    done | at_once
    "${compiler[@]}" "$folder/$module"/*.o "$folder/gtest.o" "$folder/main.o" -pthread -o "$folder/test_$module"
    printf '%s %s: ' "$name" "$module"
    $runner "$folder/test_$module" --gtest_brief=1 >"$folder/$module.log" 2>&1 || { cat "$folder/$module.log"; return 1; }
    tail -n 1 "$folder/$module.log"
  done
}

status=0
passed=0
left_out=0
for row in "${rows[@]}"; do
  IFS='|' read -r name compiler runner modules <<<"$row"
  if (($# > 0)) && [[ " $* " != *" $name "* ]]; then continue; fi
  if ! command -v "${compiler%% *}" >/dev/null; then
    printf '%s: left out, no %s\n' "$name" "${compiler%% *}"
    left_out=$((left_out + 1))
    (($# == 0)) || status=1
    continue
  fi
  # Not in a condition: errexit would be off inside.
  set +e
  (set -e; try "$name" "$compiler" "$runner" "$modules")
  if (($? == 0)); then passed=$((passed + 1)); else status=1; printf '%s: FAILED\n' "$name"; fi
  set -e
done
# The versions of clang that the headers refuse under -ffast-math, with what makes it right; 77: there is none here.
if (($# == 0)); then
  python3 tests/flags/infinities.py --refusals "$googletest" . g++ || [[ $? == 77 ]] || status=1
fi
printf '%d rows passed, %d left out\n' "$passed" "$left_out"
exit "$status"
