#ifndef RUBATO_TESTS_ADAPT_GROWTH_NETWORKS_IN_DOUBLE_HPP
#define RUBATO_TESTS_ADAPT_GROWTH_NETWORKS_IN_DOUBLE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/lstm.hpp>
#include <span>
#include <vector>

namespace rubato::test {

using matrix = std::vector<std::vector<double>>;

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The hidden states of an LSTM, step by step.
template <class T>
matrix states_of(const matrix& sequence, const nn::basic_lstm<T>& of) {
  const std::size_t in = of.inputs(), n = of.units();
  const std::span<const T> p = of.parameters();
  std::vector<double> hidden(n, 0), cells(n, 0);
  matrix all;
  for (const auto& step : sequence) {
    std::vector<double> gates(4 * n);
    for (std::size_t g = 0; g < 4 * n; ++g) {
      gates[g] = static_cast<double>(p[(in + n) * 4 * n + g]);
      for (std::size_t i = 0; i < in; ++i) gates[g] += step[i] * static_cast<double>(p[i * 4 * n + g]);
      for (std::size_t u = 0; u < n; ++u) gates[g] += hidden[u] * static_cast<double>(p[(in + u) * 4 * n + g]);
    }
    for (std::size_t u = 0; u < n; ++u) {
      cells[u] = sigmoid(gates[n + u]) * cells[u] + sigmoid(gates[u]) * std::tanh(gates[2 * n + u]);
      hidden[u] = sigmoid(gates[3 * n + u]) * std::tanh(cells[u]);
    }
    all.push_back(hidden);
  }
  return all;
}

/// What both directions of a network make of a model, layer by layer, and the state that stands for it.
struct model_in_double {
  matrix ahead, back;
  std::vector<double> state;
};
template <class Network>
model_in_double encoded_in_double(Network& net, const std::vector<std::uint32_t>& layers) {
  const std::size_t width = net.shape().embedding;
  matrix read;
  for (const std::uint32_t row : layers) {
    read.emplace_back();
    for (std::size_t i = 0; i < width; ++i)
      read.back().push_back(static_cast<double>(net.embeddings()[row * width + i]));
  }
  model_in_double made{
      states_of(read, net.encoder_forwards()), states_of({read.rbegin(), read.rend()}, net.encoder_backwards()), {}};
  std::ranges::reverse(made.back);
  matrix joined = made.ahead;
  for (std::size_t i = 0; i < layers.size(); ++i)
    joined[i].insert(joined[i].end(), made.back[i].begin(), made.back[i].end());
  made.state = states_of(joined, net.decider()).back();
  return made;
}

/// What a head with two hidden layers of ReLU makes of its inputs.
template <class T>
std::vector<double> outputs_of(nn::basic_dynamic_mlp<T>& head, std::vector<double> values) {
  for (std::size_t l = 0; l < 3; ++l) {
    std::vector<double> next;
    for (std::size_t o = 0; o < head.bias(l).size(); ++o) {
      double sum = static_cast<double>(head.bias(l)[o]);
      for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * static_cast<double>(head.weight(l)(i, o));
      next.push_back(l < 2 && sum < 0 ? 0 : sum);
    }
    values = next;
  }
  return values;
}

}  // namespace rubato::test

#endif
