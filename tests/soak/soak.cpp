// The controller at full speed, with 10,000 workers and random faults: memory stays flat, nothing is allocated between
// switches and loads, what must hold holds after every call, and counters add up. What it survived stands at its end.
//
//     soak [--seconds 60 | --pieces N] [--workers 10000] [--seed 1] [--twice]
//
// Policies are in charge in turn; the controller is saved, and goes on in a fresh one. After each piece everybody is
// looked at, and the memory. `--pieces` runs so many instead of a time; `--twice` runs them again, and compares.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define RUBATO_TEST_COUNTS_NOTHING    // it has the operators for itself
#define RUBATO_SOAK_WITHOUT_MALLINFO  // which writes what it does not see
#endif
#endif
#if defined(__GLIBC__) && !defined(RUBATO_SOAK_WITHOUT_MALLINFO)
#include <malloc.h>
#endif

#include "../support/all_policies.hpp"
#include "../support/sanitizers.hpp"
#include "soak_host.hpp"

namespace {

using rubato::any_policy;
using rubato::park_on;
using rubato::test::soak_host;

constexpr std::uint64_t acts_of_a_piece = 400'000;
constexpr int pieces_of_a_host = 24;  // then a fresh one begins, that parks on the other message
constexpr std::uint64_t slack = std::uint64_t{4} << 20;

struct settings {
  double seconds = 60;
  std::uint64_t pieces = 0;  // 0: by time
  std::uint32_t workers = 10'000;
  std::uint64_t seed = 1;
  bool twice = false;
};

template <class Number>
bool read(std::string_view text, Number& to) {
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), to);
  return bad == std::errc{} && end == text.data() + text.size();
}

std::optional<settings> settings_of(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    std::uint64_t seconds = 0;
    if (option == "--twice") {
      s.twice = true;
      continue;
    }
    if (option == "--seconds" && read(value, seconds))
      s.seconds = static_cast<double>(seconds);
    else if (!(option == "--pieces" && read(value, s.pieces)) && !(option == "--workers" && read(value, s.workers)) &&
             !(option == "--seed" && read(value, s.seed)))
      return std::nullopt;
    ++i;
  }
  if (s.workers < 2 || s.workers > 1'000'000 || (s.twice && s.pieces == 0)) return std::nullopt;
  return s;
}

// Those whose cost does not grow with the number of workers, and two whose does.
std::vector<any_policy> policies_for(std::uint32_t workers) {
  using namespace rubato;
  const std::uint32_t some = workers / 16 + 1;
  std::vector<any_policy> fitting;
  for (const any_policy& each : {any_policy{asp{}},
                                 any_policy{bsp{}},
                                 any_policy{ssp{.staleness = 0}},
                                 any_policy{ssp{.staleness = 3}},
                                 any_policy{knee{}},
                                 any_policy{loss_decayed{knee{}}},
                                 any_policy{aimd{}},
                                 any_policy{k_sync{.k = some}},
                                 any_policy{k_async{.k = some}},
                                 any_policy{k_batch_sync{.k = some}},
                                 any_policy{k_batch_async{.k = some}},
                                 any_policy{buffered{.active = 4 * some, .buffer = some, .open = 2}},
                                 any_policy{backup_workers{.backups = some}},
                                 any_policy{rennala{.batch = some}},
                                 any_policy{ringmaster{.delay = some, .stops = true}},
                                 any_policy{capped{.running = some, .order = release_order::fifo}},
                                 any_policy{capped{.running = some, .order = release_order::random}},
                                 any_policy{dssp{.lower = 0, .upper = 4}},
                                 any_policy{scaled{k_async{.k = some}}},
                                 any_policy{test::pairs{}},
                                 any_policy{test::excluding{}},
                                 any_policy{test::timed_rounds{.period = 0.1}},
                                 any_policy{test::breathing_ssp{}},
                                 any_policy{test::weighing{}},
                                 any_policy{test::chaos{}},
                                 any_policy{test::chaos{.seed = 2, .bound = 2}},
                                 any_policy{learned_policy{}},
                                 any_policy{distilled_policy{}}})
    if (each.problem(workers).empty()) fitting.push_back(each);
  return fitting;
}

// Bytes that the heap has given out, where the C library says so and nobody has put another one in its place.
std::uint64_t on_heap() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33) && !defined(RUBATO_SOAK_WITHOUT_MALLINFO)
  malloc_trim(0);  // so that what is resident is what is used
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#else
  return 0;
#endif
}
std::uint64_t resident() {  // 0 where the system does not say
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long long pages = 0;
  if (file == nullptr || std::fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages * static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
}

struct memory {
  std::uint64_t heap = 0, resident = 0;
};

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
unsigned long long whole(std::uint64_t n) { return n; }

// One run; its fingerprint, or nothing if something was wrong.
std::optional<std::uint64_t> run(const settings& s) {
  using clock = std::chrono::steady_clock;
  const clock::time_point start = clock::now();
  const auto seconds = [start] { return std::chrono::duration<double>(clock::now() - start).count(); };
  const std::vector<any_policy> policies = policies_for(s.workers);
#ifdef RUBATO_SOAK_WITHOUT_MALLINFO
  const bool measures = false;
#else
  const bool measures = !rubato::test::address_sanitized && !rubato::test::thread_sanitized;
#endif
  std::optional<memory> warm;
  memory most;
  std::uint64_t calls = 0, pieces = 0, hash = 0;
  rubato::test::faults survived;
  const auto more = [&] { return s.pieces > 0 ? pieces < s.pieces : seconds() < s.seconds; };
  for (std::uint64_t life = 0; more(); ++life) {
    const park_on park = life % 2 == 0 ? park_on::push : park_on::pull;
    soak_host host{s.workers, park, s.seed + life, policies};
    for (int piece = 0; piece < pieces_of_a_host && more() && host.problem.empty(); ++piece, ++pieces) {
      host.run(acts_of_a_piece);
      host.look_round();
      const memory now{on_heap(), resident()};
      if (piece == 1 && !warm) warm = now;
      most = {std::max(most.heap, now.heap), std::max(most.resident, now.resident)};
    }
    calls += host.calls();
    hash = hash * 31 + host.hash();
    survived += host.survived;
    std::printf("%-4s %9.1f s, %llu calls, heap %.2f MiB, resident %.1f MiB: %s\n",
                park == park_on::push ? "push" : "pull", seconds(), whole(calls), megabytes(on_heap()),
                megabytes(resident()), host.accounts.words().c_str());
    std::fflush(stdout);
    if (!host.problem.empty()) return std::printf("wrong: %s\n", host.problem.c_str()), std::nullopt;
  }
  std::printf("%llu calls, %.2f million in a second, %zu policies; ", whole(calls),
              static_cast<double>(calls) / seconds() / 1e6, policies.size());
  if (rubato::test::allocations_are_counted)
    std::printf("%zu allocations within calls\n", rubato::test::allocations);
  else
    std::printf("allocations were not counted\n");
  std::printf("survived: %s\n", survived.words().c_str());
  if (rubato::test::allocations > 0) return std::printf("wrong: a call allocated\n"), std::nullopt;
  if (!warm || !measures) return hash;
  std::printf("heap %.2f MiB after two pieces, %.2f at most; resident %.1f and %.1f MiB\n", megabytes(warm->heap),
              megabytes(most.heap), megabytes(warm->resident), megabytes(most.resident));
  if (most.heap > warm->heap + slack || most.resident > warm->resident + 2 * slack)
    return std::printf("wrong: memory grows\n"), std::nullopt;
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<settings> s = settings_of(argc, argv);
  if (!s) {
    std::fprintf(stderr, "usage: soak [--seconds N | --pieces N] [--workers 2..1000000] [--seed N] [--twice]\n");
    return 2;
  }
  const std::optional<std::uint64_t> first = run(*s);
  if (!first) return 1;
  if (s->twice) {
    const std::optional<std::uint64_t> again = run(*s);
    if (again != first) return std::printf("wrong: the same seed did something else\n"), 1;
  }
  return 0;
}
