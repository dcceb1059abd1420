#include "random_scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <rubato/core/rng.hpp>
#include <string>

namespace rubato::support {
namespace {

constexpr std::uint64_t scenario_stream = 0x5C31;

// To three digits: so a scenario reads well, and does not depend on a library's last bit.
[[nodiscard]] double rounded(double x) {
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(x)));
  return std::round(x * scale) / scale;
}

class draw {
 public:
  explicit draw(std::uint64_t number) : random_{number, scenario_stream} {}

  [[nodiscard]] double between(double least, double most) {
    return rounded(least + (most - least) * random_.uniform());
  }
  [[nodiscard]] double between_logs(double least, double most) {
    return rounded(least * std::pow(most / least, random_.uniform()));
  }
  [[nodiscard]] double log_normal(double deviation) { return rounded(std::exp(deviation * random_.normal())); }
  template <class T, std::size_t N>
  [[nodiscard]] T one_of(const std::array<T, N>& all) {
    return all[static_cast<std::size_t>(random_.below(N))];
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_.below(n); }

 private:
  random_sequence random_;
};

// How much longer steps take when everybody runs.
[[nodiscard]] double share_resources(sim::cluster_options& machines, draw& from) {
  const double workers = machines.workers;
  const std::uint64_t kind = from.below(10);
  if (kind < 4) {
    machines.cores = static_cast<std::uint32_t>(std::lround(from.between_logs(1, workers)));
    return workers / machines.cores;
  }
  if (kind < 7) {
    const double saturating = from.between_logs(1.5, std::max(workers, 1.6));
    const double transfer = rounded(0.5 / (saturating - 1));  // a pull and a push take twice that, computing takes 1
    machines.link = {.bandwidth = 1, .latency = 0, .model_size = transfer};
    return std::max(1 + 2 * transfer, workers * 2 * transfer);
  }
  return 1;
}

}  // namespace

scenario random_scenario(std::uint64_t number) {
  using sim::straggler_kind;
  draw from{number};
  scenario drawn;
  drawn.name = "random:" + std::to_string(number);
  drawn.description = "A cluster drawn at random.";

  sim::cluster_options& machines = drawn.cluster;
  machines.workers = static_cast<std::uint32_t>(std::lround(from.between_logs(2, 64)));
  const double stretch = share_resources(machines, from);
  if (from.below(2) == 0) {
    const double deviation = from.between(0.1, 1);
    machines.step_time.clear();
    for (std::uint32_t w = 0; w < machines.workers; ++w) machines.step_time.push_back(from.log_normal(deviation));
  }
  machines.jitter = from.between(0.02, 0.2);

  sim::straggler_options& stragglers = machines.stragglers;
  stragglers.kind = from.one_of(std::array{straggler_kind::none, straggler_kind::fixed, straggler_kind::transient,
                                           straggler_kind::burst, straggler_kind::heavy_tailed});
  stragglers.probability = from.between(0.1, 0.5);
  stragglers.mean = rounded(stretch * from.between(0.5, 3));
  stragglers.sd = rounded(stragglers.mean / 3);
  stragglers.burst_length = rounded(10 * stretch);
  stragglers.burst_gap = rounded(30 * stretch);

  drawn.hidden_layers = {from.one_of(std::array<std::uint32_t, 10>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3})};
  drawn.sgd.input = from.below(5) == 0 ? sim::input_scale::unit : sim::input_scale::standardised;
  drawn.run.batch = from.one_of(std::array<std::uint32_t, 3>{8, 16, 32});
  const double suits = 0.03 * std::min(1.5, 10.0 / machines.workers);
  const double by_input = drawn.sgd.input == sim::input_scale::unit ? 2.7 : 1;
  drawn.run.learning_rate.base = rounded(suits * by_input * from.one_of(std::array{0.7, 1.0, 1.4}));
  drawn.run.max_time = rounded(20'000 * stretch / machines.workers);  // about so many pushes
  return drawn;
}

}  // namespace rubato::support
