#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/sim/kernels/kernels.hpp>

namespace {

using namespace rubato::sim::kernels;

// Random matrices, and what a plain loop in double makes of them.
class kernels : public testing::TestWithParam<const kernel_set*> {
 protected:
  rubato::random_sequence random{42};

  std::size_t size(std::size_t most) { return 1 + random.below(most); }

  std::vector<float> matrix(std::size_t count) {
    std::vector<float> out(count);
    for (float& x : out) x = static_cast<float>(random.normal());
    return out;
  }

  struct sparse {
    std::vector<std::uint32_t> begin{0};
    std::vector<std::uint16_t> index;
    std::vector<float> value;
    [[nodiscard]] sparse_view view() const { return {begin.data(), index.data(), value.data()}; }
  };
  sparse sparse_matrix(std::size_t rows, std::size_t columns) {
    sparse out;
    for (std::size_t row = 0; row < rows; ++row) {
      const double share = random.uniform();
      for (std::size_t column = 0; column < columns; ++column) {
        if (random.uniform() >= share) continue;
        out.index.push_back(static_cast<std::uint16_t>(column));
        out.value.push_back(static_cast<float>(random.normal()));
      }
      out.begin.push_back(static_cast<std::uint32_t>(out.index.size()));
    }
    return out;
  }

  static void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-4) << "at " << i;
  }
};

TEST_P(kernels, Widen) {
  for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 149U}) {
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
    std::vector<float> out(count);
    GetParam()->widen(bytes.data(), count, 0.5F, out.data());
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(out[i], 0.5F * static_cast<float>(bytes[i]));
  }
}

TEST_P(kernels, SparseMultiply) {
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t rows = size(20), inner = size(60), columns = 16 * size(9), stride = columns + 16;
    const sparse x = sparse_matrix(rows, inner);
    const auto y = matrix(inner * stride);
    auto c = matrix(rows * stride);
    std::vector<double> expected(c.begin(), c.end());
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = x.begin[r]; j < x.begin[r + 1]; ++j)
        for (std::size_t i = 0; i < columns; ++i)
          expected[r * stride + i] += 0.7 * double{x.value[j]} * double{y[x.index[j] * stride + i]};
    GetParam()->sparse_multiply({c.data(), stride}, rows, columns, x.view(), {y.data(), stride}, 0.7F);
    expect_near(c, expected);
  }
}

TEST_P(kernels, SparseMultiplyInPanels) {
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t rows = size(60), inner = size(300), columns = 16 * size(30), count = (columns + 63) / 64;
    const sparse x = sparse_matrix(rows, inner);
    const auto y = matrix(inner * 64 * count);
    auto c = matrix(rows * 64 * count);
    std::vector<double> expected(c.begin(), c.end());
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = x.begin[r]; j < x.begin[r + 1]; ++j)
        for (std::size_t i = 0; i < columns; ++i)
          expected[(i / 64 * rows + r) * 64 + i % 64] +=
              0.7 * double{x.value[j]} * double{y[(i / 64 * inner + x.index[j]) * 64 + i % 64]};
    GetParam()->sparse_multiply({c.data(), 64, rows * 64}, rows, columns, x.view(), {y.data(), 64, inner * 64}, 0.7F);
    expect_near(c, expected);
  }
}

TEST_P(kernels, SparseOuter) {
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t rows = size(20), inner = size(60), columns = 16 * size(4), stride = columns + 16;
    const sparse x = sparse_matrix(rows, inner);
    const auto y = matrix(rows * stride);
    auto c = matrix(inner * stride);
    std::vector<double> expected(c.begin(), c.end());
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = x.begin[r]; j < x.begin[r + 1]; ++j)
        for (std::size_t i = 0; i < columns; ++i)
          expected[x.index[j] * stride + i] += 0.7 * double{x.value[j]} * double{y[r * stride + i]};
    GetParam()->sparse_outer(c.data(), stride, rows, columns, x.view(), y.data(), stride, 0.7F);
    expect_near(c, expected);
  }
}

TEST_P(kernels, Multiply) {
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t rows = size(20), depth = size(60), columns = 16 * size(6), stride = columns + 16;
    const bool turned = random.below(2) == 0;
    const std::size_t row_step = turned ? 1 : depth + 3, column_step = turned ? rows + 3 : 1;
    const auto x = matrix((rows + 3) * (depth + 3));
    const auto y = matrix(depth * stride);
    auto c = matrix(rows * stride);
    std::vector<double> expected(c.begin(), c.end());
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t k = 0; k < depth; ++k)
        for (std::size_t i = 0; i < columns; ++i)
          expected[r * stride + i] += 0.7 * double{x[r * row_step + k * column_step]} * double{y[k * stride + i]};
    GetParam()->multiply(c.data(), stride, rows, columns, {x.data(), row_step, column_step}, depth, y.data(), stride,
                         0.7F);
    expect_near(c, expected);
  }
}

TEST_P(kernels, MultiplyTransposed) {
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t rows = size(20), columns = 4 * size(10), depth = 16 * size(5), stride = depth + 16;
    const std::size_t c_stride = columns + 4;
    const auto x = matrix(rows * stride);
    const auto y = matrix(columns * stride);
    auto c = matrix(rows * c_stride);
    std::vector<double> expected(c.begin(), c.end());
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t k = 0; k < depth; ++k)
          expected[r * c_stride + i] += double{x[r * stride + k]} * double{y[i * stride + k]};
    GetParam()->multiply_transposed(c.data(), c_stride, rows, columns, x.data(), stride, depth, y.data(), stride);
    expect_near(c, expected);
  }
}

TEST_P(kernels, ReluKeepsNaN) {
  std::vector<float> x = matrix(48);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> out = x;
  GetParam()->relu(out.data(), out.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i == 5) {
      EXPECT_TRUE(std::isnan(out[i]));
    } else {
      EXPECT_EQ(out[i], x[i] > 0 ? x[i] : 0);
    }
  }
  std::vector<float> delta = matrix(48);
  const std::vector<float> before = delta;
  GetParam()->relu_gradient(delta.data(), out.data(), delta.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(delta[i], out[i] > 0 ? before[i] : 0);
}

TEST_P(kernels, Softmax) {
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t classes = 1 + size(40), padded = (classes + 15) / 16 * 16, label = random.below(classes);
    std::vector<float> row = matrix(padded);  // with rubbish in the padding
    for (float& x : row) x *= trial % 3 == 0 ? 50.0F : 3.0F;
    double most = row[0];
    std::size_t best = 0;
    for (std::size_t i = 0; i < classes; ++i)
      if (double{row[i]} > most) most = row[best = i];
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += std::exp(double{row[i]} - most);
    const double loss = std::log(sum) + most - double{row[label]};
    std::vector<double> expected(padded);
    for (std::size_t i = 0; i < classes; ++i)
      expected[i] = 0.25 * (std::exp(double{row[i]} - most) / sum - (i == label ? 1 : 0));

    const outcome found = GetParam()->softmax(row.data(), classes, label, 0.25F);
    EXPECT_NEAR(found.loss, loss, 1e-5 * (1 + loss));
    EXPECT_EQ(found.correct, best == label);
    for (std::size_t i = 0; i < padded; ++i) ASSERT_NEAR(row[i], expected[i], 2e-7);
  }
}

TEST_P(kernels, SoftmaxOfTiesPrefersTheFirst) {
  for (const std::size_t label : {0U, 3U, 9U}) {
    std::vector<float> row(16, 1.0F);
    EXPECT_EQ(GetParam()->softmax(row.data(), 10, label, 1).correct, label == 0);
  }
}

TEST_P(kernels, SoftmaxReportsWhatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (std::size_t where = 0; where < 10; ++where) {
      std::vector<float> row(16, 1.0F);
      row[where] = bad;
      EXPECT_FALSE(std::isfinite(GetParam()->softmax(row.data(), 10, 4, 1).loss)) << bad << " at " << where;
    }
}

TEST_P(kernels, SoftmaxMakesNoSubnormalNumbers) {
  std::vector<float> row(16);
  for (std::size_t i = 0; i < 10; ++i) row[i] = -12.5F * static_cast<float>(i);
  static_cast<void>(GetParam()->softmax(row.data(), 10, 0, 1.0F / 16));
  for (const float x : row) EXPECT_NE(std::fpclassify(x), FP_SUBNORMAL);
}

TEST_P(kernels, ScaleAndAdd) {
  std::vector<float> y = matrix(64);
  const std::vector<float> x = matrix(64);
  std::vector<double> expected(y.begin(), y.end());
  for (std::size_t i = 0; i < 64; ++i) expected[i] = 0.5 * (expected[i] - 0.3 * double{x[i]});
  GetParam()->add(y.data(), x.data(), 64, -0.3F);
  GetParam()->scale(y.data(), 64, 0.5F);
  expect_near(y, expected);
}

std::vector<const kernel_set*> all_sets() {
  std::vector<const kernel_set*> out{&portable::set};
  for (const kernel_set* set : {avx2::available(), avx512::available()})
    if (set != nullptr) out.push_back(set);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Sets, kernels, testing::ValuesIn(all_sets()), [](const auto& one) {
  const std::string name = one.param->name;
  return name.substr(0, name.find('+'));
});

}  // namespace
