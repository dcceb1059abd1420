#include <rubato/nn/batch_workspace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/mlp.hpp>
#include <stdexcept>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

using test::random_values;

TEST(BatchWorkspace, OneForTwoNetworks) {
  mlp<5, 8, 2> online, target;
  std::ranges::copy(random_values<float>(online.parameters().size(), 1), online.parameters().begin());
  std::ranges::copy(random_values<float>(target.parameters().size(), 2), target.parameters().begin());
  const auto in = random_values<float>(15, 3);
  batch_workspace<float> shared{online, 3}, own{target, 3};
  static_cast<void>(online.forward(in, shared));
  EXPECT_TRUE(std::ranges::equal(target.forward(in, shared), target.forward(in, own)));
}

TEST(BatchWorkspace, SmallerBatchesFit) {
  mlp<5, 8, 2> net;
  batch_workspace<float> work{net, 4};
  EXPECT_EQ(work.max_rows(), 4u);
  EXPECT_EQ(work.rows(), 0u);
  const auto in = random_values<float>(20, 3);
  EXPECT_EQ(net.forward(std::span{in}.first(15), work).size(), 6u);
  EXPECT_EQ(work.rows(), 3u);
  EXPECT_EQ(net.forward(in, work).size(), 8u);
}

TEST(BatchWorkspace, KnowsItsShape) {
  mlp<5, 8, 2> net;
  const batch_workspace<float> work{net, 4};
  EXPECT_TRUE(work.fits(dynamic_mlp::make({5, 8, 2})->layers()));
  EXPECT_FALSE(work.fits(dynamic_mlp::make({5, 9, 2})->layers()));
  EXPECT_FALSE(work.fits(dynamic_mlp::make({5, 8})->layers()));
  const batch_workspace<float> other{*dynamic_mlp::make({1, 67, 1}), 4};
  EXPECT_FALSE(other.fits(dynamic_mlp::make({1, 1, 100})->layers())) << "as many inputs, layers and parameters: 202";
}

#if defined(__cpp_exceptions)
TEST(BatchWorkspace, RefusesMoreThanMemory) {
  const mlp<4, 8, 2> net;  // 26 numbers a row
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t rows : {most / 26 + 1, most / 10, most / 8, most})
    EXPECT_THROW((batch_workspace<float>{net, rows}), std::length_error) << rows;
}
#endif

}  // namespace
}  // namespace rubato::nn
