#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/encode/rlp_state.hpp>
#include <vector>

#include "shown.hpp"

namespace {

using namespace rubato;
using test::encoded;
using test::shown_cluster;
using test::step_of;

using numbers = std::vector<float>;

template <class Encoder>
numbers of_push(Encoder& encoder, shown_cluster& cluster, std::size_t back) {
  const auto all = encoded(encoder, cluster.view(0.0, 0));
  return {all.begin() + static_cast<std::ptrdiff_t>(4 * back), all.begin() + static_cast<std::ptrdiff_t>(4 * back + 4)};
}

TEST(RlpState, NumbersByHand) {
  shown_cluster cluster{4};
  rlp_state encoder;
  encoder.resize(4);
  for (const float number : encoded(encoder, cluster.view(0.0, 0))) EXPECT_EQ(number, 0.0F) << "before the first push";
  const std::vector<float> losses{2.5F, 2.0F, 2.25F, 1.0F, 1.0F, 0.5F, 0.75F, 0.5F, 0.25F, 0.125F, 4.0F, 3.0F};
  for (std::uint32_t n = 0; n < losses.size(); ++n) encoder.observe(step_of(0, n, losses[n], 3 * n));
  for (std::size_t back = 0; back < 10; ++back) {
    const std::size_t n = losses.size() - 1 - back;
    EXPECT_EQ(of_push(encoder, cluster, back), (numbers{static_cast<float>(n + 1), losses[n - 1],
                                                        losses[n] - losses[n - 1], static_cast<float>(3 * n)}));
  }
}

template <class Encoder>
void expect_foretold() {
  constexpr std::size_t newest = Encoder::newest;
  shown_cluster cluster{4};
  Encoder encoder;
  encoder.resize(4);
  static_cast<void>(encoded(encoder, cluster.view(0.0, 0)));
  std::array<float, newest> first{};
  EXPECT_FALSE(encoder.encode_newest(cluster.view(0.0, 0), {}, first)) << "nothing was foretold";
  for (std::uint32_t n = 0; n < 99; ++n) {
    std::array<float, Encoder::dim - newest> foretold{};
    encoder.foretell(foretold);
    encoder.observe(step_of(n % 4, n, 3.0F / static_cast<float>(n + 1), n % 7));
    const auto now = encoded(encoder, cluster.view(n, 0));
    EXPECT_TRUE(std::equal(foretold.begin(), foretold.end(), now.begin() + newest)) << n;
    EXPECT_TRUE(encoder.encode_newest(cluster.view(n, 0), {}, first)) << n;
    EXPECT_TRUE(std::equal(first.begin(), first.end(), now.begin())) << n;
  }
  std::array<float, Encoder::dim - newest> foretold{};
  encoder.foretell(foretold);
  for (std::uint32_t n = 0; n < 2; ++n) encoder.observe(step_of(n, 100 + n, 1.0F, n));
  EXPECT_FALSE(encoder.encode_newest(cluster.view(102, 0), {}, first)) << "two came";
}

TEST(RlpState, ForetellsAllButTheNewest) {
  expect_foretold<rlp_state>();
  expect_foretold<rlp_normalised_state>();
}

TEST(RlpState, FirstPushHasNoChange) {
  shown_cluster cluster{4};
  rlp_state encoder;
  encoder.observe(step_of(0, 1.0, 2.5F, 7));
  EXPECT_EQ(of_push(encoder, cluster, 0), (numbers{1, 2.5F, 0, 7}));
  EXPECT_EQ(of_push(encoder, cluster, 1), (numbers{0, 0, 0, 0}));
}

TEST(RlpState, FreezesAtANonFiniteLoss) {
  shown_cluster cluster{4};
  rlp_state encoder;
  encoder.observe(step_of(0, 1.0, 0.0F, 1));  // the host has none
  EXPECT_EQ(of_push(encoder, cluster, 0), (numbers{1, 0, 0, 1}));
  encoder.observe(step_of(0, 2.0, 2.0F, 1));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0.0F}) {
    encoder.observe(step_of(0, 3.0, bad, 2));
    EXPECT_EQ(of_push(encoder, cluster, 0)[1], 2.0F);
    EXPECT_EQ(of_push(encoder, cluster, 0)[2], 0.0F);
  }
  encoder.observe(step_of(0, 6.0, 1.5F, 0));
  EXPECT_EQ(of_push(encoder, cluster, 0), (numbers{6, 2.0F, -0.5F, 0}));
}

TEST(RlpState, NormalisedByHand) {
  shown_cluster cluster{4};
  rlp_normalised_state encoder;
  const std::vector<float> losses{2.0F, 1.0F, 1.5F};
  for (std::uint32_t n = 0; n < 3; ++n) encoder.observe(step_of(0, n, losses[n], 2 * n));
  const double rms = std::sqrt((1.0 + 0.25) / 2);
  const numbers newest = of_push(encoder, cluster, 0);
  EXPECT_FLOAT_EQ(newest[0], static_cast<float>(std::log(4.0) / 10));
  EXPECT_FLOAT_EQ(newest[1], 0.5F);
  EXPECT_FLOAT_EQ(newest[2], static_cast<float>(std::asinh(0.5 / rms)));
  EXPECT_FLOAT_EQ(newest[3], 4.0F / 4);
  EXPECT_EQ(of_push(encoder, cluster, 2), (numbers{static_cast<float>(std::log(2.0) / 10), 1.0F, 0.0F, 0.0F}));
  cluster.leave(3);
  cluster.leave(2);
  EXPECT_FLOAT_EQ(of_push(encoder, cluster, 0)[3], 4.0F / 2) << "of the workers that are there now";
}

template <class Encoder>
void expect_finite(Encoder encoder) {
  shown_cluster cluster{2};
  const float most = std::numeric_limits<float>::max();
  std::uint32_t n = 0;
  for (const float loss : {1e-45F, most, -most, most, -1.0F, 1e-30F})
    encoder.observe(step_of(0, ++n, loss, std::numeric_limits<std::uint64_t>::max()));
  for (const float number : encoded(encoder, cluster.view(1.0, 0))) EXPECT_TRUE(std::isfinite(number));
}

TEST(RlpState, StaysFinite) {
  expect_finite(rlp_state{});
  expect_finite(rlp_normalised_state{});
}

TEST(RlpState, FeaturesInOrder) {
  const auto raw = rlp_state{}.features();
  ASSERT_EQ(raw.size(), 40U);
  EXPECT_EQ(raw[0], (feature{"iteration@0", "pushes"}));
  EXPECT_EQ(raw[1], (feature{"loss@0", "nats"}));
  EXPECT_EQ(raw[2], (feature{"loss_change@0", "nats"}));
  EXPECT_EQ(raw[39], (feature{"staleness@9", "pushes"}));
  const auto normalised = rlp_normalised_state{}.features();
  ASSERT_EQ(normalised.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(normalised[i].name, raw[i].name);
    EXPECT_NE(normalised[i].unit, raw[i].unit);
  }
}

}  // namespace
