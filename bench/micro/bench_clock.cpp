// What clocks and the waiting workers cost per push, under stale synchronous parallel on random arrivals, without the
// controller around them: tick, park or go on, and free those that wait when the slowest advances. Ours keeps park
// order and any spread of the clocks. The floor does not: a ring of counters for spreads below 64 and a bit per waiting
// worker, which is what the question needs and no more. The peers are what parameter servers do.
//
// All replay the same recorded pushes in turns, a piece at a time; each piece counts with its least time. A peer that
// scans is slow with many workers: it replays fewer pieces.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <rubato/core/parking.hpp>
#include <rubato/core/vector_clock.hpp>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrivals.hpp"
#include "paired.hpp"

namespace {

using rubato::clock_type;
using rubato::bench::arrivals;

constexpr clock_type staleness = 4;

// Who waits is staleness + 1 ahead, so that one step of the slowest frees them all.
struct ours {
  rubato::vector_clock clock;
  rubato::parking idle;

  explicit ours(std::uint32_t workers) : clock{workers}, idle{workers} {
    for (std::uint32_t w = 0; w < workers; ++w) clock.insert(w);
  }

  template <class Release>
  void push(std::uint32_t worker, Release&& release) {
    const clock_type before = clock.minimum();
    clock.tick(worker);
    if (clock.minimum() != before)
      idle.take_front(rubato::no_worker, [&](std::uint32_t freed) { return release(freed), true; });
    if (clock.clock(worker) - clock.minimum() <= staleness)
      release(worker);
    else
      idle.park(worker, 0);
  }
};

struct ring_and_bits {
  std::vector<std::uint32_t> clocks;
  std::array<std::uint32_t, 64> at{};  // workers by clock, modulo 64
  std::vector<std::uint64_t> idle, idle_words;
  std::uint32_t minimum = 0;

  explicit ring_and_bits(std::uint32_t workers)
      : clocks(workers), idle(workers / 64 + 1), idle_words(workers / 4096 + 1) {
    at[0] = workers;
  }

  template <class Release>
  void push(std::uint32_t worker, Release&& release) {
    const std::uint32_t before = clocks[worker]++;
    ++at[(before + 1) % 64];
    if (--at[before % 64] == 0 && before == minimum) {
      ++minimum;
      for (std::size_t i = 0; i < idle_words.size(); ++i)
        for (; idle_words[i] != 0; idle_words[i] &= idle_words[i] - 1) {
          const std::size_t word = i * 64 + static_cast<std::size_t>(std::countr_zero(idle_words[i]));
          for (; idle[word] != 0; idle[word] &= idle[word] - 1)
            release(static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(idle[word]))));
        }
    }
    if (before + 1 - minimum <= staleness) return release(worker);
    idle[worker / 64] |= std::uint64_t{1} << worker % 64;
    idle_words[worker / 4096] |= std::uint64_t{1} << worker / 64 % 64;
  }
};

// The peers differ in how they learn of a new minimum; they all keep the waiting workers in a std::set.
template <class Clocks>
struct with_set {
  Clocks clocks;
  std::set<std::uint32_t> idle;

  explicit with_set(std::uint32_t workers) : clocks{workers} {}

  template <class Release>
  void push(std::uint32_t worker, Release&& release) {
    const clock_type before = clocks.minimum;
    const clock_type now = clocks.tick(worker);
    if (clocks.minimum != before) {
      for (const std::uint32_t freed : idle) release(freed);
      idle.clear();
    }
    if (now - clocks.minimum <= staleness)
      release(worker);
    else
      idle.insert(worker);
  }
};

// The minimum of all clocks at every push.
struct scanned {
  std::vector<clock_type> clock;
  clock_type minimum = 0;
  explicit scanned(std::uint32_t workers) : clock(workers) {}
  clock_type tick(std::uint32_t worker) {
    const clock_type now = ++clock[worker];
    minimum = *std::min_element(clock.begin(), clock.end());
    return now;
  }
};

// A hash map of clocks; who leaves the minimum looks for a second worker there.
struct hashed {
  std::unordered_map<std::uint32_t, clock_type> clock;
  clock_type minimum = 0;
  explicit hashed(std::uint32_t workers) {
    for (std::uint32_t w = 0; w < workers; ++w) clock[w] = 0;
  }
  clock_type tick(std::uint32_t worker) {
    clock_type& own = clock[worker];
    if (own++ == minimum) {
      const auto there = [this](const auto& entry) { return entry.second == minimum; };
      if (std::none_of(clock.begin(), clock.end(), there)) ++minimum;
    }
    return own;
  }
};

// A map from clock to the number of workers there.
struct counted {
  std::vector<clock_type> clock;
  std::map<clock_type, std::uint32_t> at;
  clock_type minimum = 0;
  explicit counted(std::uint32_t workers) : clock(workers), at{{0, workers}} {}
  clock_type tick(std::uint32_t worker) {
    const clock_type now = ++clock[worker];
    ++at[now];
    if (const auto left = at.find(now - 1); --left->second == 0) at.erase(left);
    minimum = at.begin()->first;
    return now;
  }
};

constexpr std::size_t pieces = 40;
constexpr std::size_t piece = 25'000;  // pushes

// One structure that replays the recorded pushes, again and again from the start.
template <class Sync>
struct replay {
  Sync start, now;
  std::vector<double> least;  // of each piece
  std::uint64_t released = 0;

  replay(Sync&& from, std::size_t so_many)
      : start{std::move(from)}, now{start}, least(so_many, std::numeric_limits<double>::infinity()) {}

  void run(const std::vector<std::uint32_t>& pushes, std::size_t which) {
    if (which >= least.size()) return;
    if (which == 0) now = start, released = 0;
    std::size_t next = which * piece;
    const auto one = [&] { now.push(pushes[next++], [this](std::uint32_t) { ++released; }); };
    least[which] = std::min(least[which], rubato::bench::nanoseconds(one, static_cast<int>(piece)));
  }
  // Nanoseconds a push, over the first pieces.
  [[nodiscard]] double mean(std::size_t over) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < over; ++i) sum += least[i];
    return sum / static_cast<double>(over);
  }
};

// A structure that has come to its steady state, as it is after `warm` of the recorded pushes.
template <class Sync>
replay<Sync> after(std::uint32_t workers, const std::vector<std::uint32_t>& warm, std::size_t so_many) {
  Sync sync{workers};
  for (const std::uint32_t worker : warm) sync.push(worker, [](std::uint32_t) {});
  return {std::move(sync), so_many};
}

void clock_and_idle(benchmark::State& state) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  arrivals running{workers};
  for (std::uint32_t w = 0; w < workers; ++w) running.starts(w);
  ours recorder{workers};
  std::vector<std::uint32_t> warm(rubato::bench::warm_up(workers)), pushes(pieces * piece);
  const auto record = [&](std::vector<std::uint32_t>& into) {
    for (std::uint32_t& worker : into)
      recorder.push(worker = running.next(), [&](std::uint32_t freed) { running.starts(freed); });
  };
  record(warm);
  const ours start = recorder;
  record(pushes);

  replay<ours> our{ours{start}, pieces};
  auto floor = after<ring_and_bits>(workers, warm, pieces);
  // The scanning peer takes its clocks from ours: it would be minutes in the warm-up.
  with_set<scanned> scan{workers};
  for (std::uint32_t w = 0; w < workers; ++w) scan.clocks.clock[w] = start.clock.clock(w);
  for (std::uint32_t w = start.idle.front(); w != rubato::no_worker; w = start.idle.after(w)) scan.idle.insert(w);
  scan.clocks.minimum = start.clock.minimum();
  with_set<hashed> hash{workers};
  for (std::uint32_t w = 0; w < workers; ++w) hash.clocks.clock[w] = start.clock.clock(w);
  hash.idle = scan.idle;
  hash.clocks.minimum = scan.clocks.minimum;
  const std::size_t few = workers > 1'000 ? 2 : pieces;
  replay<with_set<scanned>> scan_peer{std::move(scan), workers > 1'000 ? 1 : few};  // seconds for a piece
  replay<with_set<hashed>> hash_peer{std::move(hash), few};
  auto map_peer = after<with_set<counted>>(workers, warm, few);

  bool first = true;
  for (auto _ : state) {
    double time = 0.0;
    for (std::size_t i = 0; i < pieces; ++i) {
      our.run(pushes, i);
      floor.run(pushes, i);
      if (first || workers <= 1'000) {  // the peers are not to take the time of all
        hash_peer.run(pushes, i);
        map_peer.run(pushes, i);
        scan_peer.run(pushes, i);
      }
      time += our.least[i];
    }
    first = false;
    state.SetIterationTime(time * 1e-9 * piece);
  }
  if (our.released != floor.released) state.SkipWithError("the floor released others");
  state.counters["min"] = our.mean(pieces);
  state.counters["floor"] = floor.mean(pieces);
  state.counters["ratio"] = our.mean(pieces) / floor.mean(pieces);
  state.counters["over_hash"] = hash_peer.mean(few) / our.mean(few);
  state.counters["over_map"] = map_peer.mean(few) / our.mean(few);
  state.counters["over_scan"] = scan_peer.mean(scan_peer.least.size()) / our.mean(scan_peer.least.size());
}

BENCHMARK(clock_and_idle)->Arg(10)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->UseManualTime()->Iterations(8);

}  // namespace

BENCHMARK_MAIN();
