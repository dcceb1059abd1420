// A controller with an observer, and the shortest calls that make it do things.
#ifndef RUBATO_TESTS_IO_HOST_HPP
#define RUBATO_TESTS_IO_HOST_HPP

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/rubato.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato::test {

/// Appends to a text that lives elsewhere.
struct text_sink {
  std::string* text;
  void operator()(std::string_view written) noexcept { *text += written; }
};

/// Ignores every effect.
struct deaf {
  void release(int, worker_id, const grant&) {}
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

template <class Watcher>
struct host {
  controller<any_policy, int, Watcher> sync;

  host(any_policy policy, std::uint32_t workers, Watcher watcher, controller_options o = {})
      : sync{sized(o, workers), std::move(policy), std::move(watcher)} {}
  static controller_options sized(controller_options o, std::uint32_t workers) {
    o.capacity = workers;
    return o;
  }

  errc join(std::uint32_t w, double now, std::uint32_t incarnation = 0) {
    return sync.join({w, incarnation}, now, 0, deaf{});
  }
  errc depart(std::uint32_t w, double now, cause why) { return sync.depart(sync.workers().id(w), now, why, deaf{}); }
  admitted admit(std::uint32_t w, double now, float loss = 1.0F) {
    return sync.admit({.worker = sync.workers().id(w), .now = now, .loss = loss});
  }
  errc commit(const admitted& a, double now, rubato::outcome how = rubato::outcome::done) {
    return sync.commit(a.work, now, how, 0, deaf{});
  }
  void step(std::uint32_t w, double pushed, double in, float loss = 1.0F) {
    EXPECT_EQ(commit(admit(w, pushed, loss), in), errc::ok);
  }
};

/// Every kind of event in a random order: pushes, joins, departures, returns, switches, nonsense. Times only grow.
template <class Host>
void random_run(Host& h, std::uint64_t seed, int events) {
  random_sequence random{seed};
  const std::uint32_t workers = h.sync.workers().capacity();
  std::vector<admitted> out;
  double now = 0.0;
  for (std::uint32_t w = 0; w < workers; ++w) EXPECT_EQ(h.join(w, now), errc::ok);
  for (int i = 0; i < events; ++i) {
    now += random.below(4) == 0 ? 0.0 : random.uniform();
    const auto w = static_cast<std::uint32_t>(random.below(workers));
    const std::uint64_t dice = random.below(100);
    if (dice < 60) {
      if (h.sync.workers()[w].state == worker_state::running)
        out.push_back(h.admit(w, now, dice < 3 ? std::numeric_limits<float>::quiet_NaN() : 1.0F));
    } else if (dice < 88) {
      if (out.empty()) continue;
      const std::size_t which = random.below(out.size());
      static_cast<void>(
          h.commit(out[which], now, random.below(20) == 0 ? rubato::outcome::failed : rubato::outcome::done));
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (dice < 92) {
      static_cast<void>(h.depart(w, now, std::array{cause::leave, cause::death, cause::death, cause::done}[dice - 88]));
    } else if (dice < 96) {
      static_cast<void>(h.join(w, now, h.sync.workers()[w].incarnation + 1));
    } else if (dice < 97) {
      static_cast<void>(h.join(workers + 7, now));
    } else {
      const std::array<any_policy, 4> policies{asp{}, bsp{}, ssp{.staleness = 1}, bsp{.aggregate = bsp::sum}};
      static_cast<void>(h.sync.switch_to(policies[random.below(4)], now,
                                         dice == 97 ? pending_gradients::discard : pending_gradients::flush, deaf{}));
    }
  }
}

}  // namespace rubato::test

#endif
