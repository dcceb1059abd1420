#include "correction_trials.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/parallel.hpp"
#include "tapped_encoder.hpp"
#include "workbench.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] trained_range<progress_state::dim> nothing_seen() {
  trained_range<progress_state::dim> range;
  std::swap(range.least, range.most);
  return range;
}

}  // namespace

correction_trials::correction_trials(std::optional<support::scenario> scenario, nn::dynamic_mlp network,
                                     const run_context& how, std::optional<correction> only)
    : paired_{std::move(scenario), knee_with_decay(), how}, network_{std::move(network)} {
  // The last layer: a row of one weight for each output, for every input, and then the biases.
  const std::size_t size = network_.parameters().size(), last = network_.layers().back().first;
  for (std::size_t i = 0; i < size; ++i)
    if (i < last || !only || (i - last) % corrections == static_cast<std::size_t>(*only)) free_.push_back(i);
}

std::vector<float> correction_trials::start() const {
  std::vector<float> parameters;
  for (const std::size_t i : free_) parameters.push_back(network_.parameters()[i]);
  return parameters;
}

correction_policy correction_trials::policy_of(std::span<const float> parameters) const {
  nn::dynamic_mlp network = network_;
  for (std::size_t i = 0; i < parameters.size(); ++i) network.parameters()[free_[i]] = parameters[i];
  return correction_policy{network};
}

bool correction_trials::operator()(std::span<const rl::trial> trials, std::span<double> costs) const {
  return paired_.measure([this](std::span<const float> parameters) { return any_policy{policy_of(parameters)}; },
                         trials, costs);
}

std::optional<trained_range<progress_state::dim>> correction_trials::range_of(
    std::span<const float> parameters, std::span<const std::uint64_t> seeds) const {
  const nn::dynamic_mlp network = policy_of(parameters).network();
  std::vector<trained_range<progress_state::dim>> seen(seeds.size(), nothing_seen());
  const run_context& how = paired_.how();
  support::share_out(
      seeds.size(), how.threads, how.stop, [&] { return workbench{how.data}; },
      [&](workbench& bench, std::size_t i) {
        const auto note = [&range = seen[i]](std::uint32_t, std::span<float, progress_state::dim> inputs) {
          for (std::size_t f = 0; f < inputs.size(); ++f) {
            range.least[f] = std::min(range.least[f], inputs[f]);
            range.most[f] = std::max(range.most[f], inputs[f]);
          }
        };
        const residual_policy policy{network, {}, knee{}, tapped_encoder<progress_state>{note}};
        const setting at = paired_.rule_setting_of(seeds[i]);
        static_cast<void>(bench.run(at, any_policy{policy}, paired_trials::run_seed(seeds[i], 0), how.stop));
      });
  if (how.stop) return std::nullopt;
  trained_range<progress_state::dim> all = nothing_seen();
  for (const auto& each : seen)
    for (std::size_t i = 0; i < progress_state::dim; ++i) {
      all.least[i] = std::min(all.least[i], each.least[i]);
      all.most[i] = std::max(all.most[i], each.most[i]);
    }
  return all;
}

}  // namespace rubato::lab
