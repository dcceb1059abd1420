// max_legal_wait against schedules: no wait is longer than so many times the longest step of all, where nobody comes,
// goes or fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/rivals.hpp>
#include <rubato/rubato.hpp>
#include <vector>

#include "../../support/all_policies.hpp"

namespace {

using namespace rubato;

constexpr double never = std::numeric_limits<double>::infinity();

// Workers whose steps take at most 1, in a way that `style` says.
struct schedule {
  std::uint32_t style;
  random_sequence random;
  std::vector<double> parked, ends;
  double now = 0.0;
  double longest_wait = 0.0;

  void release(std::uint32_t, worker_id who, const grant&) {
    longest_wait = std::max(longest_wait, now - parked[who.index]);
    ends[who.index] = now + step_of(who.index);
  }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}

  double step_of(std::uint32_t worker) {
    const double u = random.uniform();
    switch (style) {
      case 0:
        return 1.0;
      case 1:
        return 0.001 + 0.999 * u;
      case 2:
        return u < 0.3 ? 1.0 : 0.01 + 0.05 * u;
      default:
        return worker % 2 == 1 ? 1.0 : 0.1;
    }
  }
};

double longest_wait(const any_policy& policy, std::uint32_t size, std::uint32_t style, std::uint64_t seed) {
  schedule host{style, random_sequence{seed}, std::vector<double>(size), std::vector<double>(size, never)};
  controller<any_policy, std::uint32_t> sync{{.capacity = size}, policy};
  for (std::uint32_t w = 0; w < size; ++w) EXPECT_EQ(sync.join({w, 0}, 0.0, w, host), errc::ok);
  host.longest_wait = 0.0;
  for (int n = 0; n < 1000; ++n) {
    const auto next = std::min_element(host.ends.begin(), host.ends.end());
    if (sync.next_deadline() < *next) {
      host.now = std::max(host.now, sync.next_deadline());
      sync.poll(host.now, host);
      continue;
    }
    const auto w = static_cast<std::uint32_t>(next - host.ends.begin());
    host.now = host.parked[w] = *next;
    host.ends[w] = never;
    EXPECT_EQ(sync.push({.worker = {w, 0}, .now = host.now, .loss = 1.0F}, w, host), errc::ok);
  }
  return host.longest_wait;
}

// The longest of many schedules.
double longest_wait(const any_policy& policy, std::uint32_t size) {
  double longest = 0.0;
  for (std::uint32_t style = 0; style < 4; ++style)
    for (std::uint64_t seed = 0; seed < 8; ++seed) longest = std::max(longest, longest_wait(policy, size, style, seed));
  return longest;
}

double stated(any_policy policy, std::uint32_t size) {
  policy.resize(size);
  return policy.max_legal_wait(0);
}

TEST(LegalWait, NobodyWaitsLonger) {
  for (const std::uint32_t size : {4u, 10u})
    for (const test::named_policy& each : test::all_policies())
      if (each.policy.problem(size).empty() && stated(each.policy, size) < never) {
        EXPECT_LE(longest_wait(each.policy, size), stated(each.policy, size) + 1e-9) << each.name;
      }
}

TEST(LegalWait, OfACapIsThatOfItsQueue) {
  for (const std::uint32_t running : {1u, 2u, 3u, 4u, 5u, 9u, 10u}) {
    const capped rule{.running = running};
    EXPECT_NEAR(longest_wait(rule, 10), stated(rule, 10), 1e-9) << running;
  }
  EXPECT_EQ(stated(capped{.running = 1}, 10), 9.0);
  EXPECT_EQ(stated(capped{.running = 3}, 10), 3.0);
  EXPECT_EQ(stated(capped{.running = 3, .order = release_order::random}, 10), never);
}

TEST(LegalWait, OfABufferIsThatOfItsQueue) {
  for (std::uint32_t active = 1; active <= 10; ++active)
    for (std::uint32_t open = 1; open <= active; ++open) {
      const buffered rule{.active = active, .buffer = 3, .open = open};
      const double longest = longest_wait(rule, 10);
      EXPECT_LE(longest, stated(rule, 10) + 1e-9) << active << ", " << open;
      EXPECT_GE(longest, stated(rule, 10) - 1.1) << active << ", " << open;
    }
}

}  // namespace
