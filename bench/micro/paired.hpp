// Two pieces of work in turns, a fraction of a millisecond each: what disturbs one disturbs the other, and short pieces
// are often not disturbed at all. The least time of each is what counts.
#ifndef RUBATO_BENCH_MICRO_PAIRED_HPP
#define RUBATO_BENCH_MICRO_PAIRED_HPP

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace rubato::bench {

/// Nanoseconds that one call of work() takes, by a clock that is read around all of them.
template <class Work>
double nanoseconds(Work&& work, int calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls;
}

/// Runs `ours` and `anchor` in turns, so many calls at a time. Counters, in nanoseconds a call:
///   min, anchor   the least of each
///   ratio         ours over the anchor: 1.2 takes a fifth longer
template <class Ours, class Anchor>
void in_turns(benchmark::State& state, Ours&& ours, int our_calls, Anchor&& anchor, int anchor_calls) {
  double least = std::numeric_limits<double>::infinity(), anchor_least = least;
  for (auto _ : state) {
    anchor_least = (std::min)(anchor_least, nanoseconds(anchor, anchor_calls));
    const double now = nanoseconds(ours, our_calls);
    least = (std::min)(least, now);
    state.SetIterationTime(now * 1e-9 * our_calls);
  }
  state.counters["min"] = least;
  state.counters["anchor"] = anchor_least;
  state.counters["ratio"] = least / anchor_least;
}

}  // namespace rubato::bench

#endif
