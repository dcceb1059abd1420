// The arithmetic of nn/kernels as it would be written on a blackboard. Every operation is rounded on its own: a
// volatile product cannot become part of a fused multiply-add, whatever the flags of this test.
#ifndef RUBATO_TESTS_NN_PLAIN_LOOPS_HPP
#define RUBATO_TESTS_NN_PLAIN_LOOPS_HPP

#include <cmath>
#include <cstddef>
#include <rubato/core/rng.hpp>
#include <rubato/nn/activation.hpp>
#include <vector>

namespace rubato::nn::test {

template <class T>
T product(T a, T b) {
  volatile T rounded = a * b;
  return rounded;
}

// f(bias + in * weight), inputs from the last to the first.
template <class T>
std::vector<T> layer(const activation& f, const std::vector<T>& weight, const std::vector<T>& bias,
                     const std::vector<T>& in) {
  std::vector<T> out = bias;
  for (std::size_t o = 0; o < out.size(); ++o) {
    for (std::size_t i = in.size(); i-- > 0;) out[o] += product(in[i], weight[i * out.size() + o]);
    out[o] = activate(f, out[o]);
  }
  return out;
}

template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t stream) {
  random_sequence random{99, stream};
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(2 * random.uniform() - 1);
  return values;
}

}  // namespace rubato::nn::test

#endif
