#ifndef RUBATO_THREADS_PS_ANY_RULE_HPP
#define RUBATO_THREADS_PS_ANY_RULE_HPP

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "update_rule.hpp"

namespace rubato::inline RUBATO_ABI::threads_ps {

/// An update rule whose memory of earlier updates can be written down.
///
///   state()         that memory, as bytes
///   restore(bytes)  goes on from it; false, and nothing has changed, if it is not of such a rule with as many
///   parameters
///
/// Satisfied by sgd.
template <class R>
concept SavableRule = UpdateRule<R> && requires(R& rule, const R& known, std::string_view bytes) {
  { known.state() } -> std::convertible_to<std::string>;
  { rule.restore(bytes) } -> std::same_as<bool>;
};

/// Any savable rule, chosen at run time. Copies as the rule does. Default: sgd.
/// Cost    one virtual call for each update of a slice
/// Tests   tests/integrations/threads_ps/any_rule_test.cpp
class any_rule {
 public:
  any_rule() : any_rule{sgd{}} {}  ///< sgd, with its defaults
  /// Takes over, or copies, any rule. Allocates.
  template <class Rule>
  requires(!std::same_as<std::remove_cvref_t<Rule>, any_rule> && SavableRule<std::remove_cvref_t<Rule>>)
      any_rule(Rule&& rule)  // NOLINT(*-explicit-*)
      : held_{std::make_unique<holder<std::remove_cvref_t<Rule>>>(std::forward<Rule>(rule))} {}
  any_rule(const any_rule& other) : held_{other.held_->clone()} {}  ///< allocates
  any_rule(any_rule&&) noexcept = default;                          ///< what is left can only be assigned to
  /// Of a copy, or of what is moved.
  any_rule& operator=(any_rule other) noexcept { return held_.swap(other.held_), *this; }
  ~any_rule() = default;

  void resize(std::size_t size) { held_->resize(size); }  ///< see UpdateRule
  /// See UpdateRule. Throws what the rule throws.
  void update(std::span<float> values, const update_step& step) { held_->update(values, step); }
  [[nodiscard]] std::string state() const { return held_->state(); }  ///< see SavableRule
  /// See SavableRule.
  [[nodiscard]] bool restore(std::string_view bytes) { return held_->restore(bytes); }

 private:
  struct base {
    virtual ~base() = default;
    virtual std::unique_ptr<base> clone() const = 0;
    virtual void resize(std::size_t) = 0;
    virtual void update(std::span<float>, const update_step&) = 0;
    virtual std::string state() const = 0;
    virtual bool restore(std::string_view) = 0;
  };
  template <class Rule>
  struct holder final : base {
    explicit holder(Rule held) : rule{std::move(held)} {}
    std::unique_ptr<base> clone() const override { return std::make_unique<holder>(rule); }
    void resize(std::size_t size) override { rule.resize(size); }
    void update(std::span<float> values, const update_step& step) override { rule.update(values, step); }
    std::string state() const override { return rule.state(); }
    bool restore(std::string_view bytes) override { return rule.restore(bytes); }
    Rule rule;
  };

  std::unique_ptr<base> held_;
};

static_assert(SavableRule<sgd> && SavableRule<any_rule>);

}  // namespace rubato::inline RUBATO_ABI::threads_ps

#endif
