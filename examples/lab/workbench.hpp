#ifndef RUBATO_EXAMPLES_LAB_WORKBENCH_HPP
#define RUBATO_EXAMPLES_LAB_WORKBENCH_HPP

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <rubato/sim/dataset.hpp>
#include <rubato/sim/normal_draws.hpp>
#include <rubato/sim/sgd.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/observer.hpp>
#include <string>
#include <vector>

#include "any_objective.hpp"
#include "measurement.hpp"
#include "support/image_files.hpp"
#include "support/scenario.hpp"
#include "switching_host.hpp"

namespace rubato::lab {

/// What is trained on: images, prepared once for all threads; or nothing, for a quadratic.
struct training_data {
  std::string description = "no data (a noisy quadratic)";
  std::uint64_t fingerprint = 0;
  std::filesystem::path directory;  ///< where the images were read
  support::image_set images;
  std::unique_ptr<const sim::image_data> prepared;
};

/// What it is, and its fingerprint: for a policy card.
[[nodiscard]] std::string text_of(const training_data&);

/// Reads what the scenario needs. Errors: user_error.
[[nodiscard]] training_data load_data(const support::scenario&, const std::filesystem::path& directory);

/// Where runs take place.
enum class host_kind : std::uint8_t {
  simulator,  ///< in virtual time
  threads,    ///< in real time, see threads_host.hpp
  gloo        ///< likewise, see gloo_host.hpp
};

/// As it is given and reported.
[[nodiscard]] constexpr const char* name(host_kind host) noexcept {
  return host == host_kind::simulator ? "simulator" : host == host_kind::threads ? "threads" : "gloo";
}

/// Everything but policy and seed that decides a run. Hidden layers are one number here.
struct setting {
  support::scenario scenario;
  std::uint32_t hidden_layers = 0;
  host_kind host = host_kind::simulator;
  double unit_seconds = 0;                    ///< of each unit of time, in real time
  std::optional<switching_host> switching{};  ///< in the simulator: sets rate and momentum of each update
};

/// Which of the scenario's n hidden layers a seed draws: the same for every policy. Each run of n seeds that begins at
/// a multiple of n draws each once, in random order, so that few seeds do not leave some out.
[[nodiscard]] std::uint32_t hidden_layers_of(const support::scenario&, std::uint64_t seed);

/// The simulator's options for a run.
[[nodiscard]] sim::run_options run_options_of(const setting&, std::uint64_t seed);

/// What a run trains, where that is a network.
[[nodiscard]] sim::sgd_options sgd_options_of(const setting&);

/// Passes records on to an observer whose type nobody here needs to know.
struct any_observer {
  std::function<void(const record&)> to;
  std::function<void(const event&, const decision&, const insight&)> of_answers{};  ///< empty: they are passed over
  void operator()(const record& r) noexcept { to(r); }
  void answered(const event& asked, const decision& answer, const insight& by) noexcept {
    if (of_answers) of_answers(asked, answer, by);
  }
};

/// Makes runs in one setting after another; keeps objectives, since their preparation costs about as much as a
/// short run. One object per thread; `data` outlives it.
class workbench {
 public:
  explicit workbench(const training_data& data) : data_{&data} {}

  /// Nothing if `stop` was raised meanwhile.
  [[nodiscard]] std::optional<measurement> run(const setting&, const any_policy&, std::uint64_t seed,
                                               const std::atomic<bool>& stop);

  /// The same, watched.
  std::optional<measurement> watch(const setting&, const any_policy&, std::uint64_t seed, any_observer& watcher,
                                   const std::atomic<bool>& stop);
  /// The same, watched to its end.
  measurement watch(const setting&, const any_policy&, std::uint64_t seed, any_observer& watcher);

  /// What the setting trains, for a policy that is told of each gradient's statistics or for others. The reference
  /// stays valid as long as the workbench.
  [[nodiscard]] any_objective& objective(const setting&, bool gradient_statistics = false);

 private:
  template <Observer Watcher>
  [[nodiscard]] std::optional<measurement> simulated(const setting&, const any_policy&, std::uint64_t seed, Watcher&,
                                                     const std::atomic<bool>& stop);

  static constexpr std::uint32_t steps_kept = 1 << 14;  // of each worker, where they are few

  struct prepared {
    support::objective_kind kind;
    sim::sgd_options options;
    std::unique_ptr<any_objective> objective;
  };

  const training_data* data_;
  std::vector<prepared> objectives_;
  sim::normal_draws jitter_{steps_kept};  // of the last seed, whose policies run one after another
};

}  // namespace rubato::lab

#endif
