#ifndef RUBATO_ENCODE_PROGRESS_STATE_HPP
#define RUBATO_ENCODE_PROGRESS_STATE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "encoder.hpp"

namespace rubato::inline RUBATO_ABI {

/// How training gets on, as 6 numbers of the order of 1, whatever the number of workers: what a learning rate can be
/// chosen by.
///
/// | feature      | what                                                                  | unit          | range     |
/// | loss         | log of the running loss over that of the first ten pushes, plus 1     | log ratio + 1 | -2 to 2   |
/// | loss_squared | its square                                                            | squared       | 0 to 4    |
/// | loss_trend   | averages of the losses of about 10 and 50 pushes: log(10 / 50)        | log ratio     | -3 to 3   |
/// | loss_noise   | log of the deviation of log(loss / running loss), plus 2.5            | log + 2.5     | -3 to 3   |
/// | staleness    | log of the updates of a step, average of about 10, over workers alive | log ratio     | -5 to 2   |
/// | stretch      | log of steps over the shortest of the same worker, average of 10      | log ratio     | 0 to 3    |
///
/// The staleness is counted from 1: a gradient that nobody came before took one update, its own. Asynchronous training
/// by everybody has 0, a barrier about -0.6, one worker at a time of ten -2.3.
///
/// What is about the loss is 0 as long as none above 0 was reported, and so for a host that has none. A loss that is
/// not finite or not above 0 changes nothing.
/// Cost    observe, encode: O(1), six logarithms. No allocation but in resize, 8 bytes per worker. Not thread-safe.
/// Tests   tests/encode/progress_state_test.cpp: LossByHand, TheBeginningIsThatOfTenLosses, TrendHasItsSign,
///         NoiseOfASteadyLossIsLow, StalenessByHand, StretchByHand, WithoutLosses, StaysInItsRanges
class progress_state {
 public:
  static constexpr std::size_t dim = 6;
  static constexpr std::string_view kind = "progress";

  void observe(const feedback& step) noexcept {
    ++pushes_;
    detail::average(updates_, 1 + static_cast<double>(step.what.staleness), 0.1, pushes_ == 1);
    if (step.step_time > 0 && step.what.worker < shortest_.size()) {
      double& shortest = shortest_[step.what.worker];
      shortest = shortest > 0 ? (std::min)(shortest, step.step_time) : step.step_time;
      detail::average(stretch_, std::log(step.step_time / shortest), 0.1, pushes_ == 1);
    }
    const auto loss = static_cast<double>(step.what.loss);
    if (!(loss > 0) || !std::isfinite(loss)) return;
    const bool first = losses_ == 0;
    if (!first) {
      const double surprise = std::log(loss / fast_);
      detail::average(noise_, surprise * surprise, 0.05, false);
    }
    detail::average(fast_, loss, 0.1, first);
    detail::average(slow_, loss, 0.02, first);
    if (losses_ < beginning) first_ = fast_, ++losses_;
  }

  void encode(const cluster_view& view, const event&, std::span<float, dim> out) const noexcept {
    const bool known = losses_ > 0;
    const double loss = known ? std::clamp(std::log(fast_ / first_) + 1, -2.0, 2.0) : 0.0;
    const double trend = known ? std::log(fast_ / slow_) : 0.0;
    const double noise = known ? std::log(noise_ + 1e-9) / 2 + 2.5 : 0.0;
    const double alive = (std::max)(view.alive(), 1U);
    out[0] = static_cast<float>(loss);
    out[1] = static_cast<float>(loss * loss);
    out[2] = static_cast<float>(std::clamp(trend, -3.0, 3.0));
    out[3] = static_cast<float>(std::clamp(noise, -3.0, 3.0));
    out[4] = static_cast<float>(std::clamp(pushes_ > 0 ? std::log(updates_ / alive) : 0.0, -5.0, 2.0));
    out[5] = static_cast<float>(std::clamp(stretch_, 0.0, 3.0));
  }

  /// Whether a loss above 0 has been reported.
  [[nodiscard]] bool has_losses() const noexcept { return losses_ > 0; }

  void forget(std::uint32_t worker) noexcept {
    if (worker < shortest_.size()) shortest_[worker] = 0;
  }
  static void started(const cluster_view&, std::uint32_t) noexcept {}

  void resize(std::uint32_t capacity) {
    *this = {};
    shortest_.resize(capacity);
  }

  /// Bad bytes change nothing.
  void state(archive& bytes) {
    progress_state read = *this;
    bytes(read.pushes_, read.losses_, read.first_, read.fast_, read.slow_, read.noise_, read.updates_, read.stretch_);
    for (double& each : read.shortest_) bytes(each);
    if (bytes.saving()) return;
    if (!read.is_sound()) bytes.fail();
    if (bytes.ok()) *this = std::move(read);
  }

  [[nodiscard]] std::vector<feature> features() const {
    return {{"loss", "log ratio + 1"},   {"loss_squared", "squared"}, {"loss_trend", "log ratio"},
            {"loss_noise", "log + 2.5"}, {"staleness", "log ratio"},  {"stretch", "log ratio"}};
  }

 private:
  static constexpr std::uint32_t beginning = 10;  // losses

  [[nodiscard]] bool is_sound() const noexcept {
    const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
    const bool losses = losses_ == 0 || (positive(first_) && positive(fast_) && positive(slow_));
    const auto no_less_than_0 = [](double x) { return x >= 0 && std::isfinite(x); };
    return losses && no_less_than_0(noise_) && (pushes_ == 0 || positive(updates_)) && no_less_than_0(stretch_) &&
           std::ranges::all_of(shortest_, no_less_than_0);
  }

  std::uint64_t pushes_ = 0;
  std::uint32_t losses_ = 0;  // so far, up to `beginning`
  double first_ = 0;          // the running loss of the beginning
  double fast_ = 0;
  double slow_ = 0;
  double noise_ = 0.01;  // variance
  double updates_ = 0;   // that a step takes
  double stretch_ = 0;
  std::vector<double> shortest_;  // step of each worker; 0: none yet
};

static_assert(StepFollowingEncoder<progress_state>);

}  // namespace rubato::inline RUBATO_ABI

#endif
