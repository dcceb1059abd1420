#ifndef RUBATO_ENCODE_PROGRESS_STATE_HPP
#define RUBATO_ENCODE_PROGRESS_STATE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "../pinned.hpp"
#include "batch_cost.hpp"
#include "encoder.hpp"

namespace rubato::inline RUBATO_ABI {

/// How training gets on and what a step's time goes into, as 9 numbers of the order of 1, whatever the number of
/// workers: what a learning rate and a batch can be chosen by.
///
/// | feature          | what                                                                | unit     | range   |
/// | loss             | log of the running loss over that of the first ten pushes           | + 1.5    | -2 to 2 |
/// | loss_trend       | averages of the losses of about 10 and 50 pushes: log(10 / 50)      | x 4, + 1 | -3 to 3 |
/// | loss_noise       | log of the deviation of log(loss / running loss)                    | x 2, + 4 | -3 to 3 |
/// | loss_change      | log of the deviation of log(loss / loss of the push before)         | x 2, + 6 | -3 to 3 |
/// | loss_persistence | covariance of such a change and the mean of the three before, over  | x 5      | -3 to 3 |
/// |                  | the variance of a change                                            |          |         |
/// | staleness        | log of the updates of a step, average of about 10, over workers     | + 0.6    | -3 to 3 |
/// | concurrency      | log of the updates of a step                                        | - 1.8    | -3 to 3 |
/// | samples          | binary logarithm of the usual batch, see batch_cost                 | - 4      | -3 to 3 |
/// | overhead         | binary logarithm of what a step takes whatever its batch is, over   | / 2      | -3 to 3 |
/// |                  | what the usual batch takes to compute                               |          |         |
///
/// Factors and summands bring the numbers to about 0 and 1 in the lab's random clusters.
///
/// A loss that goes on in its direction says that the steps are short; one that only jumps, that they are long, or that
/// there is nothing left to gain. The updates of a step count from 1: a gradient that nobody came before took one, its
/// own.
///
/// What is about the loss is 0 as long as none above 0 was reported, and so for a host that has none; samples and
/// overhead are 0 where no samples are reported. A loss that is not finite or not above 0 changes nothing.
/// Cost    observe, encode: O(1), a dozen logarithms. Allocates in resize only. Not thread-safe.
/// Tests   tests/encode/progress_state_test.cpp: LossByHand, TheBeginningIsThatOfTenLosses, TrendHasItsSign,
///         NoiseOfASteadyLossIsLow, ChangesByHand, PersistenceTellsATrendFromJumps, StalenessByHand,
///         SamplesAndOverheadByHand, WithoutLosses, StaysInItsRanges
///
/// progress_state is basic_progress_state of float, the only one: a template, so that units without it do not compile
/// it.
template <std::same_as<float> T>
class basic_progress_state {
 public:
  /// Where each feature of the table stands among the numbers.
  enum input : std::size_t {
    loss_input,              ///< how far the loss has come down
    loss_trend_input,        ///< how quickly it falls now
    loss_noise_input,        ///< how far losses scatter
    loss_change_input,       ///< how far the loss changes from push to push
    loss_persistence_input,  ///< whether it goes on in its direction
    staleness_input,         ///< updates of a step, over workers
    concurrency_input,       ///< updates of a step
    samples_input,           ///< the usual batch
    overhead_input           ///< what of a step does not depend on its batch
  };
  static constexpr std::size_t dim = 9;  ///< numbers, as in the table
  static constexpr std::string_view kind = "progress";

  /// See StateEncoder.
  void observe(const feedback& step) noexcept {
    cost_.observe(step);
    ++pushes_;
    detail::average(updates_, 1 + static_cast<double>(step.what.staleness), 0.1, pushes_ == 1);
    const auto loss = static_cast<double>(step.what.loss);
    if (!pinned::is_finite(loss) || !(loss > 0)) return;
    const bool first = losses_ == 0;
    if (!first) {
      const double surprise = std::log(loss / fast_);
      detail::average(noise_, pinned::plus_product(0.0, surprise, surprise), 0.05, false);
      note_change(std::log(loss / latest_));
    }
    latest_ = loss;
    detail::average(fast_, loss, 0.1, first);
    detail::average(slow_, loss, 0.02, first);
    if (losses_ < beginning) first_ = fast_, ++losses_;
  }

  /// See StateEncoder. Changes nothing.
  void encode(const cluster_view& view, const event&, std::span<T, dim> out) const noexcept {
    const bool known = losses_ > 0;
    const double alive = (std::max)(view.alive(), 1U);
    const double updates = pushes_ > 0 ? std::log(updates_) : 0.0;
    const auto put = [&](std::size_t i, double number, double most) {
      out[i] = static_cast<float>(std::clamp(number, -most, most));
    };
    put(loss_input, known ? std::log(fast_ / first_) + 1.5 : 0.0, 2);
    put(loss_trend_input, known ? pinned::plus_product(1.0, 4.0, std::log(fast_ / slow_)) : 0.0, 3);
    put(loss_noise_input, known ? std::log(noise_ + tiny) + 4 : 0.0, 3);
    put(loss_change_input, known ? std::log(changes_ + tiny) + 6 : 0.0, 3);
    put(loss_persistence_input, known ? 5 * persistence_ / (changes_ + tiny) : 0.0, 3);
    put(staleness_input, pushes_ > 0 ? updates - std::log(alive) + 0.6 : 0.0, 3);
    put(concurrency_input, updates - 1.8, 3);
    put(samples_input, cost_.usual() > 0 ? std::log2(static_cast<double>(cost_.usual())) - 4 : 0.0, 3);
    put(overhead_input, cost_.usual() > 0 ? std::log2(cost_.overhead()) / 2 : 0.0, 3);
  }

  /// Whether a loss above 0 has been reported.
  [[nodiscard]] bool has_losses() const noexcept { return losses_ > 0; }

  /// What a step's time owes to its batch.
  [[nodiscard]] const batch_cost& cost() const noexcept { return cost_; }

  /// The worker starts a step and is asked for so many samples; 0: as many as the host likes.
  void granted(std::uint32_t worker, std::uint32_t samples) noexcept { cost_.granted(worker, samples); }
  /// The worker has gone, or its index is taken anew: see batch_cost::forget().
  void forget(std::uint32_t worker) noexcept { cost_.forget(worker); }
  /// See StateEncoder.
  void resize(std::uint32_t capacity) {
    *this = {};
    cost_.resize(capacity);
  }

  /// Bad bytes change nothing.
  void state(archive& bytes) {
    basic_progress_state read = *this;
    bytes(read.pushes_, read.losses_, read.first_, read.fast_, read.slow_, read.latest_, read.noise_, read.changes_,
          read.persistence_, read.updates_, read.before_[0], read.before_[1], read.before_[2]);
    read.cost_.state(bytes);
    if (bytes.saving()) return;
    if (!read.is_sound()) bytes.fail();
    if (bytes.ok()) *this = std::move(read);
  }

  /// See StateEncoder.
  [[nodiscard]] std::vector<feature> features() const {
    return {{"loss", "log ratio + 1.5"},         {"loss_trend", "4 log ratio + 1"},
            {"loss_noise", "2 log + 4"},         {"loss_change", "2 log + 6"},
            {"loss_persistence", "5 cov / var"}, {"staleness", "log ratio + 0.6"},
            {"concurrency", "log - 1.8"},        {"samples", "log2 - 4"},
            {"overhead", "log2 ratio / 2"}};
  }

 private:
  static constexpr std::uint32_t beginning = 10;  // losses

  static constexpr double tiny = 1e-9;  // variance of a loss that stands still

  void note_change(double change) noexcept {
    detail::average(changes_, pinned::plus_product(0.0, change, change), 0.05, false);
    detail::average(persistence_, change * (before_[0] + before_[1] + before_[2]) / 3, 0.05, false);
    before_ = {change, before_[0], before_[1]};
  }

  [[nodiscard]] bool is_sound() const noexcept {
    const auto positive = [](double x) { return x > 0 && pinned::is_finite(x); };
    const auto no_less_than_0 = [](double x) { return x >= 0 && pinned::is_finite(x); };
    const bool losses = losses_ == 0 || (positive(first_) && positive(fast_) && positive(slow_) && positive(latest_));
    return losses && no_less_than_0(noise_) && no_less_than_0(changes_) && pinned::is_finite(persistence_) &&
           pinned::is_finite(before_[0]) && pinned::is_finite(before_[1]) && pinned::is_finite(before_[2]) &&
           (pushes_ == 0 || positive(updates_));
  }

  batch_cost cost_{};
  std::uint64_t pushes_ = 0;
  std::uint32_t losses_ = 0;  // so far, up to `beginning`
  double first_ = 0;          // the running loss of the beginning
  double fast_ = 0;
  double slow_ = 0;
  double latest_ = 0;
  double noise_ = 0.01;             // variance
  double changes_ = 0.0025;         // variance
  double persistence_ = 0;          // covariance
  double updates_ = 0;              // that a step takes
  std::array<double, 3> before_{};  // changes, the latest first
};

/// The only one: see basic_progress_state.
using progress_state = basic_progress_state<float>;

}  // namespace rubato::inline RUBATO_ABI

#endif
