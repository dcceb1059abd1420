#ifndef RUBATO_LIBTORCH_GROWTH_GROWTH_DECIDER_HPP
#define RUBATO_LIBTORCH_GROWTH_GROWTH_DECIDER_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <rubato/adapt/growth/growable_model.hpp>
#include <rubato/adapt/growth/growth_agent.hpp>
#include <rubato/core/result.hpp>
#include <rubato/core/rng.hpp>
#include <utility>
#include <vector>

namespace rubato::inline RUBATO_ABI::libtorch {

/// What a job asks when it has more devices.
struct growth_question {
  const adapt::growable_model& model;  ///< as it is now
  double time_left = 0;                ///< of the budget, in the scheduler's unit
  double budget = 0;                   ///< likewise
  std::uint64_t number = 0;            ///< of the question, among all of the job, from 0
};

/// Who decides how a model grows: a call that answers the number of an action of the model. A job that goes on from a
/// file asks from the number on at which it was; so answer by the question alone.
/// Tests   tests/integrations/libtorch/growth/growth_job_test.cpp: DecidersAnswerByTheQuestion, AgentsDecide
template <class D>
concept GrowthDecider = requires(D& decide, const growth_question& question) {
  { decide(question) } -> std::convertible_to<result<std::size_t>>;
};

/// Never grows.
struct never_grow {
  /// See GrowthDecider.
  result<std::size_t> operator()(const growth_question& asked) const { return asked.model.actions() - 1; }
};
/// Each action as often, nothing among them, by the seed and the question's number.
struct random_growth {
  std::uint64_t seed = 1;  ///< of all answers
  /// See GrowthDecider.
  result<std::size_t> operator()(const growth_question& asked) const {
    random_sequence random{seed, 0x67726f77, asked.number};
    return static_cast<std::size_t>(random.below(asked.model.actions()));
  }
};
/// These actions, one for each question, and then nothing.
struct listed_growth {
  std::vector<std::size_t> actions{};  ///< by the question's number
  /// See GrowthDecider.
  result<std::size_t> operator()(const growth_question& asked) const {
    return asked.number < actions.size() ? actions[asked.number] : asked.model.actions() - 1;
  }
};
/// An agent's most probable action.
template <class Agent = adapt::growth_agent>
struct growth_by_agent {
  Agent agent;  ///< that knows the model's layers; a growth_agent has as many actions, a block_agent any
  /// See GrowthDecider.
  result<std::size_t> operator()(const growth_question& asked) const {
    const auto advice = agent.advise(asked.model, asked.time_left, asked.budget);
    if (!advice) return advice.error();
    return std::size_t{advice->action};
  }
};
/// Either kind.
template <class Agent>
growth_by_agent(Agent) -> growth_by_agent<Agent>;

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
