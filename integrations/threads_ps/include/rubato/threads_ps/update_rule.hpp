#ifndef RUBATO_THREADS_PS_UPDATE_RULE_HPP
#define RUBATO_THREADS_PS_UPDATE_RULE_HPP

#include <concepts>
#include <cstddef>
#include <cstring>
#include <rubato/config.hpp>
#include <rubato/pinned.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::inline RUBATO_ABI::threads_ps {

/// What one update goes by: scale * direction, where the direction is a sum of gradients that add up to `weight`.
///
/// A rule that is linear in its gradient needs no more than that product. One that takes the size of a gradient out
/// again, as Adam does, has the mean gradient in direction / weight, and in scale * weight the factor on its learning
/// rate.
struct update_step {
  std::span<const float> direction;  ///< as many as the slice has parameters; valid during the update
  float scale = 1.0F;                ///< factor on the direction
  float weight = 1.0F;  ///< 1 for a gradient that comes alone; 0 for a round without gradients: its direction is zeros
};

/// How an update moves parameters. Each shard has a copy of its own, for its slice.
///
///   resize(n)             the slice has n parameters; called once, before anything else
///   update(values, step)  ONE update of the slice, by step.scale * step.direction
///
/// What it means that update() throws, the host says (server.hpp). Satisfied by sgd.
template <class R>
concept UpdateRule = std::copy_constructible<R> &&
    requires(R& rule, std::size_t size, std::span<float> values, const update_step& step) {
  rule.resize(size);
  rule.update(values, step);
};

/// What an sgd is told at construction.
struct sgd_options {
  float learning_rate = 0.01F;  ///< in [0, 1e6)
  float momentum = 0.0F;        ///< in [0, 1); 0 keeps no velocity
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const sgd_options& o) {
  if (!(pinned::within(o.learning_rate, 0, 1e6F) && o.learning_rate < 1e6F))
    return "learning_rate: expected a number in [0, 1e6)";
  if (!(pinned::within(o.momentum, 0, 1) && o.momentum < 1)) return "momentum: expected a number in [0, 1)";
  return {};
}

/// Stochastic gradient descent, with heavy-ball momentum if asked for:
///
///     v = momentum * v + scale * direction;  values -= learning_rate * v
///
/// Cost    O(size). Allocates in resize() alone, and there only with momentum.
/// Tests   tests/integrations/threads_ps/slice_test.cpp: SgdMovesAgainstTheDirection, MomentumRemembers,
///         StateRoundTrip
class sgd {
 public:
  /// Precondition: problem(o) is empty.
  explicit sgd(const sgd_options& o = {}) : options_{o} {
    RUBATO_ASSERT(problem(o).empty(), "sgd: these options have a problem()");
  }

  /// See UpdateRule. The velocity begins at 0.
  void resize(std::size_t size) {
    if (options_.momentum > 0) velocity_.assign(size, 0.0F);
  }
  /// See UpdateRule.
  void update(std::span<float> values, const update_step& step) noexcept {
    if (velocity_.empty()) {
      const float rate = options_.learning_rate * step.scale;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= rate * step.direction[i];
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      velocity_[i] = options_.momentum * velocity_[i] + step.scale * step.direction[i];
      values[i] -= options_.learning_rate * velocity_[i];
    }
  }

  /// The velocity, as it lies in memory; nothing without momentum.
  [[nodiscard]] std::string state() const {
    return {reinterpret_cast<const char*>(velocity_.data()), velocity_.size() * sizeof(float)};
  }
  /// False, and nothing has changed: not the state of an sgd of this size, with momentum if this one has.
  [[nodiscard]] bool restore(std::string_view bytes) noexcept {
    if (bytes.size() != velocity_.size() * sizeof(float)) return false;
    if (!bytes.empty()) std::memcpy(velocity_.data(), bytes.data(), bytes.size());
    return true;
  }

 private:
  sgd_options options_;
  std::vector<float> velocity_;
};

static_assert(UpdateRule<sgd>);

}  // namespace rubato::inline RUBATO_ABI::threads_ps

#endif
