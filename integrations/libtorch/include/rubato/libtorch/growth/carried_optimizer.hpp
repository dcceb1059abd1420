#ifndef RUBATO_LIBTORCH_GROWTH_CARRIED_OPTIMIZER_HPP
#define RUBATO_LIBTORCH_GROWTH_CARRIED_OPTIMIZER_HPP

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <memory>
#include <rubato/core/result.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../sentence.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// What becomes of moments and step counts when a model has grown.
enum class optimizer_state {
  reset,   ///< forgotten, of all parameters, as in the published program
  carried  ///< kept for parameters that are the same tensor as before in the same shape
};

/// An optimizer over a grown model.
template <class Optimizer>
struct grown_optimizer {
  std::unique_ptr<Optimizer> optimizer{};  ///< over all parameters
  std::size_t carried = 0;                 ///< parameters whose state it has; all others begin anew
};

namespace detail {

inline std::string state_key(const torch::Tensor& parameter) {
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
}
/// A copy that shares no tensor, if this is such a state and of the parameter's shape.
template <class State>
std::unique_ptr<torch::optim::OptimizerParamState> state_as(
    const torch::optim::OptimizerParamState& state, const torch::Tensor& parameter,
    std::initializer_list<torch::Tensor& (State::*)() noexcept> tensors) {
  const auto* const is = dynamic_cast<const State*>(&state);
  if (is == nullptr) return nullptr;
  auto copy = std::make_unique<State>(*is);
  for (const auto get : tensors) {
    torch::Tensor& each = ((*copy).*get)();
    if (!each.defined()) continue;
    if (each.sizes() != parameter.sizes()) return nullptr;
    each = each.clone();
  }
  return copy;
}
/// Likewise, of those optimizers of torch that treat each parameter by itself.
inline std::unique_ptr<torch::optim::OptimizerParamState> carried_state(const torch::optim::OptimizerParamState& state,
                                                                        const torch::Tensor& parameter) {
  using namespace torch::optim;
  using adam = AdamParamState;
  using adamw = AdamWParamState;
  using rmsprop = RMSpropParamState;
  if (auto is = state_as<adam>(state, parameter, {&adam::exp_avg, &adam::exp_avg_sq, &adam::max_exp_avg_sq})) return is;
  if (auto is = state_as<adamw>(state, parameter, {&adamw::exp_avg, &adamw::exp_avg_sq, &adamw::max_exp_avg_sq}))
    return is;
  if (auto is = state_as<SGDParamState>(state, parameter, {&SGDParamState::momentum_buffer})) return is;
  if (auto is =
          state_as<rmsprop>(state, parameter, {&rmsprop::square_avg, &rmsprop::momentum_buffer, &rmsprop::grad_avg}))
    return is;
  return state_as<AdagradParamState>(state, parameter, {&AdagradParamState::sum});
}

}  // namespace detail

/// A new optimizer over the parameters of a model that has grown, or shrunk, in place of the one from before.
///
///     torch::optim::Adam adam{net->parameters(), {1e-2}};
///     deepen(net, 0);
///     auto next = carried_optimizer(adam, net->parameters(), torch::optim::AdamOptions{1e-2},
///                                   optimizer_state::carried);
///
/// Options are those that are given, so the learning rate is set back unless yours say otherwise. State is carried of
/// Adam, AdamW, SGD, RMSprop and Adagrad; it is copied, and the optimizer from before can go on. Parameters are known
/// by tensor: deepen() keeps them, widen() gives some of them other shapes, a copy has others.
///
/// Errors  invalid_option: what torch says of the options or the parameters
/// Cost    O(state that is carried)
/// Thread  nobody else uses the optimizer
/// Tests   tests/integrations/libtorch/growth/carried_optimizer_test.cpp: CarriedAdamGoesOnAsIfNothingHadHappened,
///         ResetAdamIsAFreshOne, SgdsMomentumIsCarried, WidenedParametersBeginAnew, OtherOptimizersOfTorch,
///         OptionsAreThoseThatAreGiven, StateIsCopied, ACopysParametersAreOthers, RefusesImpossibleOptions
template <class Optimizer, class Options>
[[nodiscard]] result<grown_optimizer<Optimizer>> carried_optimizer(const Optimizer& before,
                                                                   std::vector<torch::Tensor> parameters,
                                                                   const Options& options, optimizer_state what) {
  try {
    grown_optimizer<Optimizer> made{std::make_unique<Optimizer>(std::move(parameters), options)};
    if (what == optimizer_state::reset) return made;
    // An address among the new parameters means nothing unless the tensor from before is alive, as these are.
    for (const torch::optim::OptimizerParamGroup& group : before.param_groups())
      for (const torch::Tensor& known : group.params()) {
        const auto state = before.state().find(detail::state_key(known));
        const auto& now = made.optimizer->param_groups().front().params();
        const bool survives = std::ranges::any_of(now, [&](const torch::Tensor& each) { return each.is_same(known); });
        if (state == before.state().end() || !survives) continue;
        if (auto copy = detail::carried_state(*state->second, known)) {
          made.optimizer->state()[detail::state_key(known)] = std::move(copy);
          ++made.carried;
        }
      }
    return made;
  } catch (const std::exception& e) {
    return error{errc::invalid_option, "carried_optimizer: " + sentence_of(e)};
  }
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
