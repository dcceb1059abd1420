// A naive multi-layer perceptron in double, with dense inputs and dense gradients: what sgd_objective must agree with.
#ifndef RUBATO_TESTS_SIM_REFERENCE_MLP_HPP
#define RUBATO_TESTS_SIM_REFERENCE_MLP_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/sim/sgd.hpp>

namespace rubato_test {

/// Images of `classes` noisy prototypes, about a fifth of the pixels set.
struct synthetic_images {
  std::uint32_t inputs = 64;
  std::uint32_t classes = 5;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;

  explicit synthetic_images(std::size_t samples, std::uint64_t seed = 1) : labels(samples) {
    rubato::random_sequence random{seed};
    std::vector<double> prototype(classes * inputs);
    for (double& share : prototype) share = random.uniform() < 0.25 ? 0.7 : 0.05;
    for (std::uint8_t& label : labels) {
      label = static_cast<std::uint8_t>(random.below(classes));
      for (std::uint32_t i = 0; i < inputs; ++i) {
        const bool set = random.uniform() < prototype[label * inputs + i];
        pixels.push_back(set ? static_cast<std::uint8_t>(1 + random.below(255)) : std::uint8_t{0});
      }
    }
  }

  [[nodiscard]] rubato::sim::dataset view() const { return {pixels, labels, inputs, classes}; }
};

/// Weights [layer][from * width + to] and biases [layer][to]; also used for gradients and velocities.
struct dense_parameters {
  std::vector<std::vector<double>> weights;
  std::vector<std::vector<double>> biases;

  /// Calls f with every pair of corresponding numbers.
  template <class F>
  void zip(const dense_parameters& other, F f) {
    for (std::size_t layer = 0; layer < weights.size(); ++layer) {
      for (std::size_t i = 0; i < weights[layer].size(); ++i) f(weights[layer][i], other.weights[layer][i]);
      for (std::size_t i = 0; i < biases[layer].size(); ++i) f(biases[layer][i], other.biases[layer][i]);
    }
  }
};

class reference_mlp {
 public:
  dense_parameters at;

  reference_mlp(const rubato::sim::sgd_objective& net, const rubato::sim::data_split& data)
      : data_{data}, standardised_{net.options().input == rubato::sim::input_scale::standardised} {
    const auto& options = net.options();
    sizes_.push_back(data.training.inputs);
    sizes_.insert(sizes_.end(), options.hidden_layers, options.hidden_units);
    sizes_.push_back(data.training.classes);
    at = read(net);
    double sum = 0;
    double squares = 0;
    for (const std::uint8_t pixel : data.training.pixels) {
      sum += pixel;
      squares += double{static_cast<double>(pixel)} * pixel;
    }
    const auto count = static_cast<double>(data.training.pixels.size());
    mean_ = sum / count;
    deviation_ = std::sqrt(squares / count - mean_ * mean_);
  }

  /// The present parameters of the objective.
  [[nodiscard]] dense_parameters read(const rubato::sim::sgd_objective& net) const {
    dense_parameters out;
    for (std::size_t layer = 0; layer + 1 < sizes_.size(); ++layer) {
      auto& weights = out.weights.emplace_back();
      auto& biases = out.biases.emplace_back();
      const auto number = static_cast<std::uint32_t>(layer);
      for (std::size_t from = 0; from < sizes_[layer]; ++from)
        for (std::size_t to = 0; to < sizes_[layer + 1]; ++to) weights.push_back(net.weight(number, from, to));
      for (std::size_t to = 0; to < sizes_[layer + 1]; ++to) biases.push_back(net.bias(number, to));
    }
    return out;
  }

  /// Mean loss of training samples.
  [[nodiscard]] double loss(std::span<const std::uint32_t> samples) const {
    double sum = 0;
    for (const std::uint32_t sample : samples) sum += one(data_.training, sample, nullptr, nullptr);
    return sum / static_cast<double>(samples.size());
  }

  /// Loss and accuracy on the first `count` validation samples.
  [[nodiscard]] rubato::sim::evaluation evaluate(std::size_t count) const {
    double sum = 0;
    double correct = 0;
    for (std::size_t sample = 0; sample < count; ++sample) {
      bool hit = false;
      sum += one(data_.validation, sample, nullptr, &hit);
      correct += hit ? 1 : 0;
    }
    return {sum / static_cast<double>(count), correct / static_cast<double>(count)};
  }

  /// Mean gradient by back-propagation.
  [[nodiscard]] dense_parameters gradient(std::span<const std::uint32_t> samples) const {
    dense_parameters out = at;
    out.zip(at, [](double& x, double) { x = 0; });
    for (const std::uint32_t sample : samples) one(data_.training, sample, &out, nullptr);
    out.zip(at, [&](double& x, double) { x /= static_cast<double>(samples.size()); });
    return out;
  }

 private:
  double one(const rubato::sim::dataset& data, std::size_t sample, dense_parameters* sum, bool* hit) const {
    std::vector<std::vector<double>> out(1);
    for (const std::uint8_t pixel : data.image(sample))
      out[0].push_back(standardised_ ? (pixel - mean_) / deviation_ : pixel / 255.0);

    const std::size_t layers = sizes_.size() - 1;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      std::vector<double> next = at.biases[layer];
      for (std::size_t from = 0; from < sizes_[layer]; ++from)
        for (std::size_t to = 0; to < next.size(); ++to)
          next[to] += out[layer][from] * at.weights[layer][from * next.size() + to];
      if (layer + 1 < layers)
        for (double& x : next) x = x > 0 ? x : 0;
      out.push_back(next);
    }

    const std::size_t label = data.labels[sample];
    std::vector<double> delta = out.back();
    double most = delta[0];
    for (const double x : delta) most = x > most ? x : most;
    if (hit != nullptr) *hit = delta[label] == most;
    double total = 0;
    for (double& x : delta) total += x = std::exp(x - most);
    const double loss = std::log(total) + most - out.back()[label];
    if (sum == nullptr) return loss;

    for (double& x : delta) x /= total;
    delta[label] -= 1;
    for (std::size_t layer = layers; layer-- > 0;) {
      std::vector<double> before(sizes_[layer]);
      for (std::size_t to = 0; to < delta.size(); ++to) sum->biases[layer][to] += delta[to];
      for (std::size_t from = 0; from < sizes_[layer]; ++from) {
        for (std::size_t to = 0; to < delta.size(); ++to) {
          sum->weights[layer][from * delta.size() + to] += out[layer][from] * delta[to];
          before[from] += at.weights[layer][from * delta.size() + to] * delta[to];
        }
        if (out[layer][from] <= 0) before[from] = 0;
      }
      delta = before;
    }
    return loss;
  }

  rubato::sim::data_split data_;
  bool standardised_;
  std::vector<std::size_t> sizes_;
  double mean_ = 0;
  double deviation_ = 1;
};

}  // namespace rubato_test

#endif
