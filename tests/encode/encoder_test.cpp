// What every shipped encoder promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/progress_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <set>
#include <string>
#include <vector>

#include "../support/counted_allocations.hpp"
#include "shown.hpp"

namespace {

using namespace rubato;
using test::encoded;
using test::shown_cluster;
using test::step_of;

template <class Encoder>
class AnyEncoder : public testing::Test {};
static_assert(HistoryEncoder<rlp_state> && HistoryEncoder<rlp_normalised_state> && rlp_state::dim == 40);
static_assert(StepFollowingEncoder<cluster_state> && StateEncoder<progress_state>);
using encoders = testing::Types<rlp_state, rlp_normalised_state, cluster_state, progress_state>;
TYPED_TEST_SUITE(AnyEncoder, encoders);

// A run of pushes at random. Workers hold, start, leave and come back. Calls check(encoder, view) after each push.
template <class Encoder, class Check>
void drive(Encoder& encoder, shown_cluster& cluster, std::uint32_t workers, int first, int last, Check&& check) {
  for (int n = 0; n < last; ++n) {
    random_sequence random{11, static_cast<std::uint64_t>(n)};
    const auto w = static_cast<std::uint32_t>(random.below(workers));
    const double now = n + random.uniform();
    const double step_time = 0.5 + random.uniform() * static_cast<double>(1 + w);
    const auto loss = static_cast<float>(1 + random.uniform());
    const bool goes_on = random.below(4) != 0;
    const std::uint64_t staleness = random.below(workers);
    if (n < first) continue;
    cluster.take(w, step_time);
    cluster.park(w);
    encoder.observe(step_of(w, now, loss, staleness, step_time));
    check(encoder, cluster.view(now, w));
    if (goes_on) {
      cluster.start(w);
      detail::tell_started(encoder, cluster.view(now, w), w);
    }
    for (std::uint32_t other = 0; other < workers && !goes_on; ++other)
      if (n % 3 == 0) {
        cluster.start(other);
        detail::tell_started(encoder, cluster.view(now, w), other);
      }
  }
}

TEST(Encoder, WhatIsAnEncoder) {
  struct throws : rlp_state {
    void observe(const feedback&) {}
  };
  struct nameless : rlp_state {
    void features() const {}
  };
  static_assert(StateEncoder<rlp_state> && !StateEncoder<throws> && !StateEncoder<nameless> && !StateEncoder<int>);
}

TYPED_TEST(AnyEncoder, NamesEachFeatureOnce) {
  const auto features = TypeParam{}.features();
  std::set<std::string> names;
  for (const feature& f : features) names.insert(f.name);
  EXPECT_EQ(features.size(), TypeParam::dim);
  EXPECT_EQ(names.size(), TypeParam::dim);
  EXPECT_EQ(names.count(""), 0U);
}

TYPED_TEST(AnyEncoder, ForgetsOnResize) {
  TypeParam encoder, fresh;
  encoder.resize(5);
  fresh.resize(5);
  shown_cluster cluster{5}, other{5}, third{5};
  drive(encoder, cluster, 5, 0, 50, [](auto&, const auto&) {});
  encoder.resize(5);
  std::vector<float> expected;
  drive(fresh, other, 5, 0, 50, [&](auto& e, const cluster_view& view) {
    const auto out = encoded(e, view);
    expected.insert(expected.end(), out.begin(), out.end());
  });
  std::vector<float> found;
  drive(encoder, third, 5, 0, 50, [&](auto& e, const cluster_view& view) {
    const auto out = encoded(e, view);
    found.insert(found.end(), out.begin(), out.end());
  });
  EXPECT_EQ(found, expected);
}

TYPED_TEST(AnyEncoder, AskingTwiceChangesNothing) {
  TypeParam encoder;
  encoder.resize(5);
  shown_cluster cluster{5};
  drive(encoder, cluster, 5, 0, 100, [&](auto& e, const cluster_view& view) {
    const auto once = encoded(e, view);
    ASSERT_EQ(encoded(e, view), once);
    for (const float number : once) ASSERT_TRUE(std::isfinite(number));
  });
}

TYPED_TEST(AnyEncoder, StateRoundTrip) {
  TypeParam encoder;
  encoder.resize(5);
  shown_cluster cluster{5};
  drive(encoder, cluster, 5, 0, 60, [](auto& e, const cluster_view& view) { static_cast<void>(encoded(e, view)); });
  archive out;
  encoder.state(out);
  TypeParam other;
  other.resize(5);
  archive in{out.bytes()};
  other.state(in);
  ASSERT_TRUE(in.finished());
  shown_cluster same = cluster;
  std::vector<float> expected, found;
  drive(encoder, cluster, 5, 60, 90, [&](auto& e, const cluster_view& view) {
    const auto numbers = encoded(e, view);
    expected.insert(expected.end(), numbers.begin(), numbers.end());
  });
  drive(other, same, 5, 60, 90, [&](auto& e, const cluster_view& view) {
    const auto numbers = encoded(e, view);
    found.insert(found.end(), numbers.begin(), numbers.end());
  });
  EXPECT_EQ(found, expected);
}

TYPED_TEST(AnyEncoder, BadStateChangesNothing) {
  TypeParam encoder, other;
  shown_cluster cluster{5}, another{5};
  encoder.resize(5);
  other.resize(5);
  drive(encoder, cluster, 5, 0, 60, [](auto& e, const cluster_view& view) { static_cast<void>(encoded(e, view)); });
  drive(other, another, 5, 0, 30, [](auto& e, const cluster_view& view) { static_cast<void>(encoded(e, view)); });
  archive good, before;
  encoder.state(good);
  other.state(before);
  for (std::size_t size = 0; size < good.bytes().size(); ++size) {
    archive cut{good.bytes().first(size)};
    other.state(cut);
    ASSERT_FALSE(cut.ok());
    archive after;
    other.state(after);
    ASSERT_TRUE(std::ranges::equal(after.bytes(), before.bytes())) << size;
  }
}

TYPED_TEST(AnyEncoder, NeverAllocates) {
  TypeParam encoder;
  encoder.resize(7);
  shown_cluster cluster{7};
  test::allocations = 0;
  test::counting = true;
  drive(encoder, cluster, 7, 0, 300, [](auto& e, const cluster_view& view) { static_cast<void>(encoded(e, view)); });
  test::counting = false;
  EXPECT_EQ(test::allocations, 0u);
}

}  // namespace
