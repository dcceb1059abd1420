// Pieces of work in turns, a fraction of a millisecond each: what disturbs one disturbs the others, and short pieces
// are often not disturbed at all. The least time of each is what counts.
#ifndef RUBATO_BENCH_MICRO_PAIRED_HPP
#define RUBATO_BENCH_MICRO_PAIRED_HPP

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace rubato::bench {

/// Nanoseconds that one call of work() takes, by a clock that is read around all of them.
template <class Work>
double nanoseconds(Work&& work, int calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls;
}

/// One of those that take turns: work() does `operations` of what is counted, and is called so many times in each turn.
struct contender {
  template <class Work>
  contender(std::string called, int calls, Work work, double operations = 1)
      : name{std::move(called)},
        turn{[=]() mutable { return nanoseconds(work, calls) / operations; }},
        count{calls * operations} {}

  std::string name;
  std::function<double()> turn;  // nanoseconds an operation
  double count;                  // of operations
  double least = std::numeric_limits<double>::infinity();
};

/// Runs all in turns: the first is ours, one called `floor` is the least that this machine could take, the others are
/// peers. Counters, in nanoseconds an operation: `min`, `floor` and `PEER` are the least of each; `ratio` is ours over
/// the floor (1.2: a fifth longer), `over_PEER` is the peer over ours (3: ours is three times as fast).
inline void in_turns(benchmark::State& state, std::vector<contender> all) {
  for (auto _ : state) {
    for (std::size_t i = all.size(); i-- > 0;) {
      const double now = all[i].turn();
      all[i].least = (std::min)(all[i].least, now);
      if (i == 0) state.SetIterationTime(now * 1e-9 * all[i].count);
    }
  }
  const double ours = all.front().least;
  state.counters["min"] = ours;
  for (std::size_t i = 1; i < all.size(); ++i) {
    state.counters[all[i].name] = all[i].least;
    if (all[i].name == "floor") state.counters["ratio"] = ours / all[i].least;
    else state.counters["over_" + all[i].name] = all[i].least / ours;
  }
}

/// Ours and a floor in turns, so many calls at a time.
template <class Ours, class Floor>
void in_turns(benchmark::State& state, Ours ours, int our_calls, Floor floor, int floor_calls) {
  std::vector<contender> all;
  all.emplace_back("ours", our_calls, std::move(ours));
  all.emplace_back("floor", floor_calls, std::move(floor));
  in_turns(state, std::move(all));
}

}  // namespace rubato::bench

#endif
