#ifndef RUBATO_SYNC_RIVALS_SCALED_HPP
#define RUBATO_SYNC_RIVALS_SCALED_HPP

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "treatment.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// The weight of a gradient by its staleness tau: updates between what its worker read and its arrival.
///
/// Sources  inverse_plus_one: Jiang et al., "Heterogeneity-aware Distributed Parameter Servers" (DynSGD), SIGMOD 2017,
///          as dist-keras has it; inverse: Zhang et al., "Staleness-aware Async-SGD for Distributed Deep Learning",
///          IJCAI 2016, §2.4; polynomial, hinge: Xie et al., "Asynchronous Federated Optimization" (FedAsync), arXiv
///          1903.03934, 2019, who weigh models that are mixed, not gradients; a = 1/2 is what Nguyen et al.,
///          "Federated Learning with Buffered Asynchronous Aggregation" (FedBuff), AISTATS 2022, use; constant: ConSGD
///          of Jiang et al., where 1 / workers is the natural choice
struct staleness_weight {
  /// The weight, as a function of tau.
  enum class law : std::uint8_t {
    inverse_plus_one,  ///< 1 / (tau + 1)
    inverse,           ///< 1 / tau, and 1 for 0
    polynomial,        ///< (tau + 1)^-a
    hinge,             ///< 1 up to b, then 1 / (a (tau - b) + 1)
    constant           ///< a
  };
  law by = law::inverse_plus_one;  ///< which one
  float a = 0.0F;                  ///< its number, of the last three laws; above 0
  std::uint64_t b = 0;             ///< of hinge: updates up to which it is 1

  [[nodiscard]] static constexpr staleness_weight inverse_plus_one() noexcept { return {}; }  ///< the law of that name
  /// The law of that name.
  [[nodiscard]] static constexpr staleness_weight inverse() noexcept { return {.by = law::inverse}; }
  /// The law of that name, with its exponent.
  [[nodiscard]] static constexpr staleness_weight polynomial(float a) noexcept { return {law::polynomial, a}; }
  [[nodiscard]] static constexpr staleness_weight hinge(float a, std::uint64_t b) noexcept {
    return {law::hinge, a, b};
  }  ///< the law of that name
  /// This weight, whatever the staleness.
  [[nodiscard]] static constexpr staleness_weight constant(float weight) noexcept { return {law::constant, weight}; }

  /// The weight of a gradient of this staleness, in updates.
  [[nodiscard]] float operator()(std::uint64_t staleness) const noexcept {
    const auto tau = static_cast<float>(staleness);
    switch (by) {
      case law::inverse_plus_one: return 1.0F / (tau + 1.0F);
      case law::inverse: return staleness == 0 ? 1.0F : 1.0F / tau;
      case law::polynomial: return std::pow(tau + 1.0F, -a);
      case law::hinge: return staleness <= b ? 1.0F : 1.0F / (a * static_cast<float>(staleness - b) + 1.0F);
      case law::constant: break;
    }
    return a;
  }

  /// What is wrong with it, as a sentence; empty if nothing is.
  [[nodiscard]] std::string problem() const {
    std::string wrong = detail::unless(by <= law::constant, "staleness_weight.by", by, "one of the five laws");
    return wrong.empty() && by >= law::polynomial ? detail::unless_above_0("staleness_weight.a", a) : wrong;
  }
  /// As a formula.
  [[nodiscard]] std::string text() const {
    switch (by) {
      case law::inverse_plus_one: return "1/(tau+1)";
      case law::inverse: return "1/tau";
      case law::polynomial: return "(tau+1)^-" + detail::text_of(a);
      case law::hinge: return "1/(" + detail::text_of(a) + " max(tau-" + std::to_string(b) + ",0)+1)";
      case law::constant: break;
    }
    return detail::text_of(a);
  }
};

/// A treatment of any policy: each gradient that it takes is weighed by its staleness too.
///
///     rubato::scaled policy{rubato::ssp{.staleness = 3}, rubato::staleness_weight::inverse()};
///
/// The factor multiplies the weight of the policy's own verdict, whether the gradient is applied or joins a round;
/// a round is still divided by the number of its gradients, not by their weights. Dropped gradients stay dropped.
/// Cost    O(1) per push. No allocation. Thread: as the policy.
/// Tests   tests/sync/rivals/scaled_test.cpp: LawsByHand, MultipliesTheVerdict, CountsUpdatesNotSteps,
///         RefusesBadOptions
/// Source  see staleness_weight
template <TreatablePolicy Policy>
struct scaled : Policy {
  static constexpr bool accumulates = may_accumulate<Policy>;  ///< for may_accumulate: weighing does not change it
  staleness_weight weight{};                                   ///< the law, and its options

  /// This policy, under this law.
  scaled(Policy policy, staleness_weight by = {}) : Policy(std::move(policy)), weight{by} {}  // NOLINT(*-explicit-*)

  /// See AdmittingPolicy.
  [[nodiscard]] admission admit([[maybe_unused]] const cluster_view& view, const event& what) noexcept {
    admission verdict_on = admission::apply();
    if constexpr (AdmittingPolicy<Policy>) verdict_on = Policy::admit(view, what);
    if (verdict_on.what <= verdict::accumulate) verdict_on.weight *= weight(what.staleness);
    return verdict_on;
  }

  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    std::string wrong = problem_of(static_cast<const Policy&>(*this), capacity);
    return wrong.empty() ? weight.problem() : wrong;
  }
  [[nodiscard]] description describe() const {
    const std::string formula = weight.text();
    return detail::treated(static_cast<const Policy&>(*this), "gradients weighed by " + formula,
                           R"("weight":")" + formula + R"(")");
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
