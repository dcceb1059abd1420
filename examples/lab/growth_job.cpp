#include "growth_job.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <rubato/core/rng.hpp>
#include <rubato/nn/batch_workspace.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/loss.hpp>
#include <span>
#include <utility>

namespace rubato::lab {
namespace {

constexpr std::uint64_t stream_of_weights = 0, stream_of_order = 1, stream_of_widening = 2;

[[nodiscard]] std::vector<std::size_t> widths_of(const sim::dataset& images, const std::vector<std::size_t>& hidden) {
  std::vector<std::size_t> widths{images.inputs};
  widths.insert(widths.end(), hidden.begin(), hidden.end());
  widths.push_back(images.classes);
  return widths;
}
[[nodiscard]] nn::dynamic_mlp network_of(const std::vector<std::size_t>& widths) {
  return *nn::dynamic_mlp::make(widths, {.hidden = {nn::activation_kind::relu}});
}
[[nodiscard]] double weights_in(const nn::dynamic_mlp& network) {
  double weights = 0;
  for (const nn::layer_shape& layer : network.layers())
    weights += static_cast<double>(layer.inputs) * static_cast<double>(layer.outputs);
  return weights;
}
[[nodiscard]] std::vector<std::size_t> widths_of(const nn::dynamic_mlp& network) {
  std::vector<std::size_t> widths{network.inputs()};
  for (const nn::layer_shape& layer : network.layers()) widths.push_back(layer.outputs);
  return widths;
}
[[nodiscard]] double deviation_of(std::span<const float> all) {
  const double count = static_cast<double>(all.size());
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / count;
  double squares = 0;
  for (const float each : all) squares += std::pow(static_cast<double>(each) - mean, 2);
  return std::sqrt(squares / count);
}
// The images of these numbers, pixels from 0 to 1.
void put(const sim::dataset& images, std::span<const std::size_t> numbers, std::vector<float>& inputs) {
  inputs.resize(numbers.size() * images.inputs);
  for (std::size_t n = 0; n < numbers.size(); ++n)
    std::ranges::transform(images.image(numbers[n]), inputs.begin() + static_cast<std::ptrdiff_t>(n * images.inputs),
                           [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255; });
}

}  // namespace

growth_job::growth_job(const sim::data_split& images, const growth_job_options& options, std::uint64_t seed)
    : images_{images},
      options_{options},
      seed_{seed},
      layers_of_(options.hidden.size(), 1),
      network_{network_of(widths_of(images.training, options.hidden))},
      adam_{network_.parameters().size(), {.learning_rate = options.learning_rate}},
      first_weights_{weights_in(network_)} {
  random_sequence random{seed, stream_of_weights};
  nn::initialise(network_, {nn::initialiser_kind::he_uniform}, random);
}

double growth_job::time_of_an_epoch() const noexcept { return weights_in(network_) / first_weights_; }

double growth_job::learning_rate() const noexcept {
  return options_.learning_rate * std::pow(0.1, spent_ / options_.epochs);
}

std::size_t growth_job::first_layer_of(std::size_t block) const noexcept {
  return std::accumulate(layers_of_.begin(), layers_of_.begin() + static_cast<std::ptrdiff_t>(block), std::size_t{0});
}

void growth_job::go_on_with(nn::dynamic_mlp grown) {
  network_ = std::move(grown);
  adam_ = nn::adam{network_.parameters().size(), {.learning_rate = learning_rate()}};
}

void growth_job::deepen(std::size_t block) {
  const std::size_t original = first_layer_of(block);
  const std::size_t width = network_.layers()[original].outputs;
  std::vector<std::size_t> widths = widths_of(network_);
  widths.insert(widths.begin() + static_cast<std::ptrdiff_t>(original) + 2, width);
  nn::dynamic_mlp deeper = network_of(widths);
  const auto to = deeper.parameters();
  for (std::size_t l = 0; l < network_.layers().size(); ++l) {
    const nn::layer_shape from = network_.layers()[l], here = deeper.layers()[l <= original ? l : l + 1];
    std::copy_n(network_.parameters().begin() + static_cast<std::ptrdiff_t>(from.first), from.end() - from.first,
                to.begin() + static_cast<std::ptrdiff_t>(here.first));
  }
  for (std::size_t unit = 0; unit < width; ++unit) deeper.weight(original + 1)(unit, unit) = 1;
  go_on_with(std::move(deeper));
  ++layers_of_[block];
}

void growth_job::widen(std::size_t block) {
  const std::size_t first = first_layer_of(block), behind = first + layers_of_[block];
  std::vector<std::size_t> widths = widths_of(network_);
  for (std::size_t l = first; l < behind; ++l) widths[l + 1] *= 2;
  nn::dynamic_mlp wider = network_of(widths);
  random_sequence random{seed_, stream_of_widening, ++widenings_ << 32U};
  for (std::size_t l = 0; l < network_.layers().size(); ++l) {
    const nn::layer_shape from = network_.layers()[l], to = wider.layers()[l];
    const bool reads_twice = l > first && l <= behind, is_twice = l >= first && l < behind;
    const std::span<const float> weights = network_.parameters().subspan(from.first, from.inputs * from.outputs);
    const double noise = is_twice ? options_.widening_noise * deviation_of(weights) / (reads_twice ? 2 : 1) : 0;
    for (std::size_t o = 0; o < to.outputs; ++o) {
      const bool is_copy = o >= from.outputs;
      for (std::size_t i = 0; i < to.inputs; ++i) {
        const float weight = network_.weight(l)(i % from.inputs, o % from.outputs);
        wider.weight(l)(i, o) =
            (reads_twice ? weight / 2 : weight) + (is_copy ? static_cast<float>(noise * random.normal()) : 0.0F);
      }
      wider.bias(l)[o] = network_.bias(l)[o % from.outputs];
    }
  }
  go_on_with(std::move(wider));
}

bool growth_job::train() {
  const double time = time_of_an_epoch();
  if (time > time_left() + 1e-9) return false;
  const sim::dataset& images = images_.training;
  std::vector<std::size_t> order(images.samples());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random_sequence random{seed_, stream_of_order, epochs_ << 32U};
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);

  const std::size_t most = std::min(options_.batch, order.size());
  nn::dynamic_mlp::workspace work{network_, most};
  std::vector<float> inputs, slopes(most * images.classes);
  nn::aligned_vector<float> gradient(network_.parameters().size());
  for (std::size_t first = 0; first < order.size(); first += most) {
    const auto batch = std::span{order}.subspan(first, std::min(most, order.size() - first));
    put(images, batch, inputs);
    const auto logits = network_.forward(inputs, work);
    for (std::size_t n = 0; n < batch.size(); ++n)
      nn::softmax_cross_entropy<float>(logits.subspan(n * images.classes, images.classes), images.labels[batch[n]],
                                       std::span{slopes}.subspan(n * images.classes, images.classes),
                                       1.0F / static_cast<float>(batch.size()));
    std::ranges::fill(gradient, 0.0F);
    network_.backward(std::span<const float>{slopes}.first(batch.size() * images.classes), work, gradient);
    adam_.step(network_.parameters(), gradient);
  }
  spent_ += time;
  ++epochs_;
  adam_.set_learning_rate(learning_rate());
  return true;
}

double growth_job::accuracy() const {
  const sim::dataset& images = images_.validation;
  constexpr std::size_t most = 256;
  nn::dynamic_mlp::workspace work{network_, most};
  std::vector<std::size_t> numbers(images.samples());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::vector<float> inputs;
  std::size_t right = 0;
  for (std::size_t first = 0; first < numbers.size(); first += most) {
    const auto batch = std::span<const std::size_t>{numbers}.subspan(first, std::min(most, numbers.size() - first));
    put(images, batch, inputs);
    const auto logits = network_.forward(inputs, work);
    for (std::size_t n = 0; n < batch.size(); ++n) {
      const auto row = logits.subspan(n * images.classes, images.classes);
      right += std::ranges::max_element(row) - row.begin() == images.labels[batch[n]] ? 1 : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(numbers.size());
}

}  // namespace rubato::lab
