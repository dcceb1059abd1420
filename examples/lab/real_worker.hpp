#ifndef RUBATO_EXAMPLES_LAB_REAL_WORKER_HPP
#define RUBATO_EXAMPLES_LAB_REAL_WORKER_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <rubato/sim/normal_draws.hpp>
#include <rubato/sim/options.hpp>
#include <rubato/sim/sgd.hpp>
#include <rubato/sim/straggler.hpp>
#include <span>
#include <thread>
#include <vector>

#include "workbench.hpp"

namespace rubato::lab {

/// What steps spent on computing and sleeping; seconds.
struct step_times {
  double took = 0;
  double without_core = 0;
  double asked = 0;  ///< what they would have taken on cores of their own, on a machine that does nothing else

  step_times& operator+=(const step_times& more) noexcept {
    took += more.took, without_core += more.without_core, asked += more.asked;
    return *this;
  }
};

/// A step as its worker has made it.
struct made_step {
  sim::gradient work;  ///< samples, loss, norm; the gradient itself is in real_worker::gradient()
  step_times spent;
};

/// Of those who share a core in real time, each computes for so long before another has its turn; seconds.
[[nodiscard]] inline std::chrono::duration<double> quantum_of(const setting& at) {
  constexpr int turns_a_step = 10;
  return std::chrono::duration<double>{at.unit_seconds * *std::ranges::min_element(at.scenario.cluster.step_time) /
                                       turns_a_step};
}

/// A worker of a run in real time, whatever its host: makes the steps that the seed has for it, of the batches, lengths
/// and sleeps that they have in the simulator. Computing is a busy loop on one of the scenario's cores, the real
/// gradient included; only stragglers sleep.
///
/// Thread  not thread-safe
class real_worker {
 public:
  /// `data` outlives it.
  real_worker(const setting& at, const sim::image_data& data, std::uint64_t seed, std::uint32_t index)
      : machines_{at.scenario.cluster},
        nominal_{at.scenario.run.batch},
        unit_{at.unit_seconds},
        index_{index},
        model_{sgd_options_of(at), data},
        jitter_{seed, stream_of(sim::random_purpose::jitter, 0), machines_.workers},
        stragglers_{machines_.stragglers, machines_.workers, seed},
        gradient_(model_.parameters().size()) {
    model_.reset(seed);
  }

  /// Those that the next step computes on: to be overwritten by what was pulled.
  [[nodiscard]] std::span<float> parameters() noexcept { return model_.parameters(); }
  /// Of the last step.
  [[nodiscard]] std::span<const float> gradient() const noexcept { return gradient_; }

  /// Makes one step, its n-th of all its lives from 1. `asked`: the batch of the grant, 0: the nominal one. `cores`
  /// computes as core_permits does; `now()`: units of time since the first step of all; `in_vain()`: whether the step
  /// may end early.
  template <class Cores, class Now, class InVain>
  made_step step(std::uint64_t n, std::uint32_t asked, Cores& cores, Now&& now, InVain&& in_vain) {
    const std::uint32_t batch = asked == 0 ? nominal_ : std::min(asked, sim::largest_batch);
    const double deviate = machines_.jitter > 0 ? jitter_(index_, n) : 0.0;
    const double slower = stragglers_.slowdown(index_, n, now());
    const seconds length{unit_ * slower * computing_time(machines_, index_, batch, nominal_, deviate)};
    made_step made;
    const clock::time_point begun = clock::now();
    const seconds without_core = cores.compute(
        length, [&] { made.work = compute(n, batch); }, in_vain);
    const double asleep = unit_ * stragglers_.sleep(index_, n, now());
    sleep(asleep, in_vain);
    made.spent = {seconds{clock::now() - begun}.count(), without_core.count(), length.count() + asleep};
    return made;
  }

 private:
  using clock = std::chrono::steady_clock;
  using seconds = std::chrono::duration<double>;

  [[nodiscard]] sim::gradient compute(std::uint64_t n, std::uint32_t batch) {
    const sim::gradient work = model_.compute(index_, n, batch);
    model_.write_gradient(work.handle, gradient_);
    model_.release(work.handle);
    return work;
  }
  template <class InVain>
  static void sleep(double length, InVain&& in_vain) {
    constexpr seconds glance{0.001};
    const clock::time_point until = clock::now() + std::chrono::duration_cast<clock::duration>(seconds{length});
    for (clock::time_point now; (now = clock::now()) < until && !in_vain();)
      std::this_thread::sleep_for(std::min<seconds>(until - now, glance));
  }

  const sim::cluster_options machines_;
  const std::uint32_t nominal_;
  const double unit_;
  const std::uint32_t index_;
  sim::sgd_objective model_;
  sim::normal_draws jitter_;
  sim::straggler_model stragglers_;
  std::vector<float> gradient_;
};

}  // namespace rubato::lab

#endif
