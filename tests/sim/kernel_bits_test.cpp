// Two sets of kernels with the arithmetic of the same name give the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/sim/aligned_buffer.hpp>
#include <rubato/sim/dataset.hpp>
#include <rubato/sim/kernels/kernels.hpp>
#include <rubato/sim/mlp.hpp>

#include "reference_mlp.hpp"

namespace {

using namespace rubato::sim;
using namespace rubato::sim::kernels;

using matrix = std::vector<float>;

bool same_bits(const matrix& left, const matrix& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

class kernel_bits : public testing::Test {
 protected:
  rubato::random_sequence random{17};
  const kernel_set* narrow = avx2::available();
  const kernel_set* wide = avx512::available();

  void SetUp() override {
    if (wide == nullptr) GTEST_SKIP() << "this processor has no AVX-512";
  }

  // Numbers in (-1, 1), some of them 0 and -0; one more than asked for, so that there is always an address.
  matrix numbers(std::size_t count) {
    matrix out(count + 1);
    for (float& x : out) {
      const std::uint64_t bits = random();
      x = static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 0x1p-31F;
      if (bits % 16 < 2) x = bits % 16 == 0 ? 0.0F : -0.0F;
    }
    return out;
  }

  struct sparse {
    std::vector<std::uint32_t> begin{0};
    std::vector<std::uint16_t> index;
    matrix value;
    [[nodiscard]] sparse_view view() const { return {begin.data(), index.data(), value.data()}; }
  };
  // Rows of any length, every fourth without an entry.
  sparse sparse_matrix(std::size_t rows, std::size_t columns, double most) {
    sparse out;
    for (std::size_t row = 0; row < rows; ++row) {
      const double share = random.below(4) == 0 ? 0 : most * random.uniform();
      for (std::size_t column = 0; column < columns; ++column)
        if (random.uniform() < share) out.index.push_back(static_cast<std::uint16_t>(column));
      out.begin.push_back(static_cast<std::uint32_t>(out.index.size()));
    }
    out.value = numbers(out.index.size());
    return out;
  }

  // What both sets make of c.
  template <class Call>
  void expect_same(const matrix& c, Call call) {
    matrix left = c;
    matrix right = c;
    call(*narrow, left.data());
    call(*wide, right.data());
    EXPECT_TRUE(same_bits(left, right));
  }
};

TEST_F(kernel_bits, NameOneArithmetic) {
  EXPECT_EQ(std::string_view{narrow->arithmetic}, wide->arithmetic);
  EXPECT_NE(std::string_view{narrow->arithmetic}, portable::set.arithmetic);
  EXPECT_NE(std::string_view{narrow->name}, wide->name);
  EXPECT_EQ(&native(), wide);
}

TEST_F(kernel_bits, Products) {
  for (std::size_t rows = 0; rows <= 50; ++rows)
    for (int trial = 0; trial < 2; ++trial) {
      const std::size_t columns = 16 * (1 + random.below(17)), stride = columns + random.below(20);
      const std::size_t depth = trial == 0 ? 0 : 1 + random.below(70);
      SCOPED_TRACE(testing::Message{} << rows << " x " << columns << ", depth " << depth);
      const matrix x = numbers((rows + 1) * (depth + 1)), y = numbers(depth * stride), c = numbers(rows * stride);
      for (const strided_view& view : {strided_view{x.data(), depth, 1}, strided_view{x.data(), 1, rows}})
        expect_same(c, [&](const kernel_set& set, float* to) {
          set.multiply(to, stride, rows, columns, view, depth, y.data(), stride, -0.3F);
        });
    }
}

TEST_F(kernel_bits, TransposedProducts) {
  for (std::size_t rows = 0; rows <= 50; ++rows)
    for (int trial = 0; trial < 2; ++trial) {
      const std::size_t columns = 4 * (1 + random.below(68)), depth = 16 * random.below(10);
      const std::size_t stride = depth + random.below(20), c_stride = columns + random.below(20);
      SCOPED_TRACE(testing::Message{} << rows << " x " << columns << ", depth " << depth);
      const matrix x = numbers(rows * stride), y = numbers(columns * stride), c = numbers(rows * c_stride);
      expect_same(c, [&](const kernel_set& set, float* to) {
        set.multiply_transposed(to, c_stride, rows, columns, x.data(), stride, depth, y.data(), stride);
      });
    }
}

TEST_F(kernel_bits, SparseProducts) {
  for (std::size_t rows = 0; rows <= 100; ++rows)
    for (const double most : {0.1, 1.0}) {  // rows that are short, and long
      const std::size_t columns = 16 * (1 + random.below(25)), stride = columns + random.below(20);
      const std::size_t inner = rows % 2 == 0 ? 60 : 300;
      SCOPED_TRACE(testing::Message{} << rows << " x " << columns << ", at most " << most);
      const sparse x = sparse_matrix(rows, inner, most);
      const matrix y = numbers(inner * stride), c = numbers(rows * stride);
      expect_same(c, [&](const kernel_set& set, float* to) {
        set.sparse_multiply({to, stride}, rows, columns, x.view(), {y.data(), stride}, 0.7F);
      });
      expect_same(y, [&](const kernel_set& set, float* to) {
        set.sparse_outer(to, stride, rows, columns, x.view(), c.data(), stride, 0.7F);
      });
    }
}

TEST_F(kernel_bits, SparseProductsInPanels) {
  for (const std::size_t rows : {1U, 16U, 48U, 70U})
    for (const double most : {0.1, 1.0})
      for (const std::size_t columns : {64U, 80U, 192U, 256U, 464U}) {
        SCOPED_TRACE(testing::Message{} << rows << " x " << columns << ", at most " << most);
        const std::size_t inner = 250, count = (columns + 63) / 64;
        const sparse x = sparse_matrix(rows, inner, most);
        const matrix flat = numbers((std::max)(rows, inner) * columns);
        const matrix c = numbers(rows * 64 * count), y = numbers(inner * 64 * count);
        expect_same(c, [&](const kernel_set& set, float* to) {
          set.sparse_multiply({to, 64, rows * 64}, rows, columns, x.view(), {flat.data(), columns}, 0.7F);
        });
        expect_same(flat, [&](const kernel_set& set, float* to) {
          set.sparse_multiply({to, columns}, rows, columns, x.view(), {y.data(), 64, inner * 64}, 0.7F);
        });
      }
}

TEST_F(kernel_bits, NumbersThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    matrix y = numbers(20 * 48);
    for (std::size_t i = 0; i < y.size(); i += 7) y[i] = bad;
    const matrix x = numbers(9 * 20);
    matrix left(9 * 48), right(9 * 48);
    narrow->multiply(left.data(), 48, 9, 48, {x.data(), 20, 1}, 20, y.data(), 48, 1);
    wide->multiply(right.data(), 48, 9, 48, {x.data(), 20, 1}, 20, y.data(), 48, 1);
    for (std::size_t i = 0; i < left.size(); ++i)
      EXPECT_TRUE(left[i] == right[i] || (left[i] != left[i] && right[i] != right[i])) << i;
  }
}

TEST_F(kernel_bits, Elements) {
  const matrix x = numbers(320);
  for (std::size_t count = 0; count <= 320; count += 16) {
    expect_same(x, [&](const kernel_set& set, float* to) { set.relu(to, count); });
    expect_same(x, [&](const kernel_set& set, float* to) { set.relu_gradient(to, x.data() + 320 - count, count); });
    expect_same(x, [&](const kernel_set& set, float* to) { set.scale(to, count, 0.9F); });
    expect_same(x, [&](const kernel_set& set, float* to) { set.add(to, x.data() + 320 - count, count, 0.9F); });
  }
  const std::vector<std::uint8_t> bytes{0, 1, 255, 7, 128, 3, 99, 200, 31, 5, 77};
  for (std::size_t count = 0; count <= bytes.size(); ++count)
    expect_same(x, [&](const kernel_set& set, float* to) { set.widen(bytes.data(), count, 1.0F / 255, to); });
  for (std::size_t classes = 1; classes <= 40; ++classes)
    expect_same(x, [&](const kernel_set& set, float* to) {
      const outcome found = set.softmax(to, classes, classes / 2, 0.25F);
      to[319] = found.loss;
      to[318] = found.correct ? 1 : 0;
    });
}

// Weights after some steps of SGD, and the logits and losses on the way.
matrix trained(const mlp_shape& shape, std::uint32_t batch, const sparse_images& images, const kernel_set& kernel) {
  const mlp net{shape, kernel};
  aligned_buffer parameters(net.size());
  net.initialise(parameters.data(), 5, 0);
  std::vector<aligned_buffer> storage;
  mlp_pass pass;
  for (std::uint32_t layer = 0; layer <= net.hidden(); ++layer) {
    for (float** to : {&pass.activation[layer], &pass.delta[layer]})
      *to = storage.emplace_back(mlp::fours(batch) * net.stride(layer)).data();
    if (layer == net.hidden()) pass.delta[layer] = pass.activation[layer];
  }
  matrix out;
  sparse_rows scratch;
  for (std::uint32_t step = 0; step < 8; ++step) {
    mlp_batch input;
    for (std::uint32_t row = 0; row < batch; ++row)
      input.append(images, (step * batch + row) % images.samples(), {1.0F / 128, -1}, kernel);
    net.forward(parameters.data(), input, 0, batch, pass);
    float* logits = pass.activation[net.hidden()];
    const std::size_t stride = net.stride(net.hidden());
    out.insert(out.end(), logits, logits + batch * stride);
    for (std::uint32_t row = 0; row < batch; ++row)
      out.push_back(kernel.softmax(logits + row * stride, shape.classes, input.labels[row], 0.1F).loss);
    net.backward(parameters.data(), batch, pass);
    net.accumulate(parameters.data(), -0.05F, input, pass, scratch);
    if (step % 3 == 2) net.rebase(parameters.data());
  }
  out.insert(out.end(), parameters.data(), parameters.data() + net.size());
  return out;
}

TEST_F(kernel_bits, Trainings) {
  const rubato_test::synthetic_images source{200};
  const sparse_images images{source.view()};
  struct training {
    std::uint32_t hidden, units, batch;
  };
  for (const training& one :
       std::array<training, 5>{{{0, 1, 16}, {1, 20, 1}, {1, 256, 16}, {2, 100, 45}, {3, 256, 6}}}) {
    const mlp_shape shape{source.inputs, one.hidden, one.units, source.classes};
    EXPECT_TRUE(same_bits(trained(shape, one.batch, images, *narrow), trained(shape, one.batch, images, *wide)))
        << one.hidden << " layers of " << one.units << ", batch " << one.batch;
  }
}

}  // namespace
