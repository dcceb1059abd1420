#ifndef RUBATO_SYNC_ANY_POLICY_HPP
#define RUBATO_SYNC_ANY_POLICY_HPP

#include <memory>
#include <utility>

#include "concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// Any policy, chosen at run time: what switch_to needs to change from one rule to another.
///
/// Holds a copy of the policy and forwards to it; optional members that it lacks behave as if it stood alone.
/// Cost    one virtual call per member that the policy has. Construction and copying allocate.
/// Thread  as the policy.
/// Tests   tests/sync/any_policy_test.cpp: LacksNothingThatAPolicyLacks, CopiesAreIndependent, KindIsThatOfThePolicy
class any_policy {
 public:
  /// Any policy that can be copied; implicit, so that switch_to takes one as it is.
  template <class P>
    requires(!std::same_as<P, any_policy>) && SyncPolicy<P> && std::copy_constructible<P>
  any_policy(P policy)  // NOLINT(*-explicit-*)
      : held_{new model<P>{std::move(policy)}},
        has_{AdmittingPolicy<P>,        ObservingPolicy<P>, measures_of(*target<P>()),
             shapes_of(*target<P>()), PreparingPolicy<P>, BoundedPolicy<P>} {}
  any_policy(const any_policy& other) : held_{other.held_->clone()}, has_{other.has_} {}  ///< with its state
  /// The one moved from may be destroyed and assigned to, and nothing else.
  any_policy(any_policy&& other) noexcept : held_{std::exchange(other.held_, nullptr)}, has_{other.has_} {}
  any_policy& operator=(any_policy other) noexcept {
    std::swap(held_, other.held_);
    has_ = other.has_;
    return *this;
  }  ///< copies or takes over, state included
  ~any_policy() { delete held_; }

  [[nodiscard]] decision release(const cluster_view& v, const event& e) noexcept { return held_->release(v, e); }
  [[nodiscard]] admission admit(const cluster_view& v, const event& e) noexcept {
    return has_.admit ? held_->admit(v, e) : admission::apply();
  }
  void observe(const feedback& f) noexcept {
    if (has_.observe) held_->observe(f);
  }
  void measured(std::uint32_t worker, const step_metrics& m) noexcept {
    if (has_.measured) held_->measured(worker, m);
  }
  [[nodiscard]] bool measures() const noexcept { return has_.measured; }  ///< see measures_of()
  void shape(const cluster_view& v, std::uint32_t worker, grant& g) noexcept {
    if (has_.shape) held_->shape(v, worker, g);
  }
  [[nodiscard]] bool shapes() const noexcept { return has_.shape; }  ///< see shapes_of()
  void prepare() noexcept {
    if (has_.prepare) held_->prepare();
  }
  void resize(std::uint32_t capacity) { held_->resize(capacity); }
  void reset(std::uint32_t worker) noexcept { held_->reset(worker); }
  void state(archive& bytes) { held_->state(bytes); }
  [[nodiscard]] clock_type clock_bound() const noexcept { return has_.bound ? held_->clock_bound() : unbounded; }
  [[nodiscard]] double max_legal_wait(std::uint32_t worker) const noexcept { return held_->max_legal_wait(worker); }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const { return held_->problem(capacity); }
  [[nodiscard]] description describe() const { return held_->describe(); }
  [[nodiscard]] insight explain() const noexcept { return held_->explain(); }
  [[nodiscard]] std::string_view kind() const noexcept { return held_->kind(); }  ///< of the policy it holds
  /// The policy that it holds, if that is a P, to read what only P counts; else null, also of one from another
  /// shared library where symbols are hidden (-fvisibility=hidden). Tests: tests/flags/identity.py
  template <class P>
  [[nodiscard]] const P* target() const noexcept {
    return held_->type() == &type_of<P> ? std::addressof(static_cast<const model<P>&>(*held_).policy) : nullptr;
  }

 private:
  template <class P>
  static inline char type_of = 0;  // its address stands for P; not constant: -fmerge-all-constants makes one of those

  struct held_policy {
    virtual ~held_policy() = default;
    [[nodiscard]] virtual held_policy* clone() const = 0;
    virtual decision release(const cluster_view&, const event&) noexcept = 0;
    virtual admission admit(const cluster_view&, const event&) noexcept = 0;
    virtual void observe(const feedback&) noexcept = 0;
    virtual void measured(std::uint32_t, const step_metrics&) noexcept = 0;
    virtual void shape(const cluster_view&, std::uint32_t, grant&) noexcept = 0;
    virtual void prepare() noexcept = 0;
    virtual void resize(std::uint32_t) = 0;
    virtual void reset(std::uint32_t) noexcept = 0;
    virtual void state(archive&) = 0;
    [[nodiscard]] virtual clock_type clock_bound() const noexcept = 0;
    [[nodiscard]] virtual double max_legal_wait(std::uint32_t) const noexcept = 0;
    [[nodiscard]] virtual std::string problem(std::uint32_t) const = 0;
    [[nodiscard]] virtual description describe() const = 0;
    [[nodiscard]] virtual insight explain() const noexcept = 0;
    [[nodiscard]] virtual std::string_view kind() const noexcept = 0;
    [[nodiscard]] virtual const void* type() const noexcept = 0;
  };

  template <class P>
  struct model final : held_policy {
    explicit model(P held) : policy{std::move(held)} {}
    held_policy* clone() const override { return new model{policy}; }
    decision release(const cluster_view& v, const event& e) noexcept override { return policy.release(v, e); }
    admission admit([[maybe_unused]] const cluster_view& v, [[maybe_unused]] const event& e) noexcept override {
      if constexpr (AdmittingPolicy<P>) return policy.admit(v, e);
      return admission::apply();
    }
    void observe([[maybe_unused]] const feedback& f) noexcept override {
      if constexpr (ObservingPolicy<P>) policy.observe(f);
    }
    void measured([[maybe_unused]] std::uint32_t worker, [[maybe_unused]] const step_metrics& m) noexcept override {
      if constexpr (MeasuringPolicy<P>) policy.measured(worker, m);
    }
    void shape([[maybe_unused]] const cluster_view& v, [[maybe_unused]] std::uint32_t w,
               [[maybe_unused]] grant& g) noexcept override {
      if constexpr (ShapingPolicy<P>) policy.shape(v, w, g);
    }
    void prepare() noexcept override {
      if constexpr (PreparingPolicy<P>) policy.prepare();
    }
    void resize([[maybe_unused]] std::uint32_t capacity) override {
      if constexpr (ResizablePolicy<P>) policy.resize(capacity);
    }
    void reset([[maybe_unused]] std::uint32_t worker) noexcept override {
      if constexpr (ResettablePolicy<P>) policy.reset(worker);
    }
    void state([[maybe_unused]] archive& bytes) override {
      if constexpr (StatefulPolicy<P>) policy.state(bytes);
    }
    clock_type clock_bound() const noexcept override { return clock_bound_of(policy); }
    double max_legal_wait(std::uint32_t worker) const noexcept override { return max_legal_wait_of(policy, worker); }
    std::string problem(std::uint32_t capacity) const override { return problem_of(policy, capacity); }
    description describe() const override { return describe_of(policy); }
    insight explain() const noexcept override { return insight_of(policy); }
    std::string_view kind() const noexcept override { return kind_of(policy); }
    const void* type() const noexcept override { return &type_of<P>; }
    P policy;
  };

  held_policy* held_;
  // Which of the members that are called at every push there are: those that are not cost no virtual call.
  struct {
    bool admit, observe, measured, shape, prepare, bound;
  } has_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
