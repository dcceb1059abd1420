#ifndef RUBATO_EXAMPLES_LAB_TRAIN_HPP
#define RUBATO_EXAMPLES_LAB_TRAIN_HPP

#include <cstdint>
#include <rubato/io/policy_card.hpp>
#include <rubato/rl/evaluation.hpp>
#include <string>
#include <vector>

#include "run_context.hpp"
#include "support/scenario.hpp"
#include "training_agents.hpp"
#include "training_files.hpp"

namespace rubato::lab {

/// Everything that decides the policy that training comes to.
struct training_request {
  support::scenario scenario;
  std::string scenario_argument;      ///< how it was named, and ...
  std::vector<std::string> settings;  ///< ... how it was changed: for the card only
  training_agent agent;
  std::string state;              ///< kind of the encoder: rlp, rlp_normalised or cluster
  std::uint64_t episodes = 1000;  ///< 0: the policy that experts have taught; the only choice where agent.episodes is 0
  std::uint64_t seed = 1;
  std::uint32_t evaluation_episodes = 20;
  std::uint32_t test_seeds = 20;  ///< runs of policy and experts, whose ratios go into the card; 0: none
  std::string initial;            ///< policy file to begin with, instead of watching experts; empty: none
  std::string licence;            ///< SPDX identifier for the card
};

/// What became of it.
struct training_report {
  bool complete = false;     ///< it was before this call, which has done nothing
  bool interrupted = false;
  std::uint64_t episodes = 0;
  std::uint64_t pushes = 0;
  std::uint64_t updates = 0;                  ///< steps of the optimiser by acting; of a ppo, the policy's
  std::uint64_t rejected_transitions = 0;     ///< not finite, or an action that does not exist
  std::uint64_t rejected_updates = 0;         ///< the gradient was not finite
  std::vector<rl::evaluation> evaluations{};  ///< the learning curve, in units of reward
  std::vector<card_evaluation> appraisal{};   ///< of the result, against experts
};

/// Watches experts, learns from them, learns by acting, and writes the policy; see docs/lab.md. The file depends on the
/// request and the data alone: not on threads, nor on how often the training was killed and resumed.
///
/// With `resume`, goes on where the files of an earlier call end, or from the beginning if there are none, and does
/// nothing if the result is there; without, it refuses to touch any of them. With more episodes it goes on to what a
/// training of so many in one go comes to.
///
/// Errors  user_error: files that are there, are damaged, or belong to another training, another version or another
///         arithmetic; a training that still writes them; a state or an initial policy that does not fit; a curve
///         that is asked for when the result is there and the curve is not; episodes of an agent that has none
/// Tests   tests/examples/train_test.cpp: SameBytesForAnyThreads, InterruptedAndResumedSameBytes, EveryStateAndAgent,
///         LongerIsAContinuation, ResumedWithMoreEpisodes, CurveIsThereBeforeTheResult, LeavesOtherFilesAlone,
///         BeginsWithAPolicy, PpoBeginsAtRandom, LearnsFromDiverseExperts, ExpertsAloneTeachOnlyWithoutEpisodes,
///         RefusesToLoseATraining, RefusesAnotherTraining, OneAtATime, CompleteIsComplete, CardSaysHowItWasMade,
///         CardNamesTheAgent, CardSaysHowGoodItIs, KeepsTheBest;
///         tests/examples/lab_program_test.cpp: KilledTrainingResumesToTheSameBytes,
///         TheCommandInACardMakesThePolicyAgain
training_report train(const training_request&, const training_files&, bool resume, const run_context&);

/// The command that makes the same policy again, given --out, the same files and the same data.
/// Tests   tests/examples/lab_program_test.cpp: TheCommandInACardMakesThePolicyAgain
[[nodiscard]] std::string command_of(const training_request&);

}  // namespace rubato::lab

#endif
