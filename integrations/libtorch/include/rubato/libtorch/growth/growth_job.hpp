#ifndef RUBATO_LIBTORCH_GROWTH_GROWTH_JOB_HPP
#define RUBATO_LIBTORCH_GROWTH_GROWTH_JOB_HPP

#include <torch/optim/adam.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <rubato/adapt/growth/scheduler.hpp>
#include <rubato/core/result.hpp>
#include <rubato/core/rng.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "../sentence.hpp"
#include "carried_optimizer.hpp"
#include "distillation.hpp"
#include "growable_sequential.hpp"
#include "growth_decider.hpp"
#include "growth_epoch.hpp"
#include "growth_job_state.hpp"
#include "net2net.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// How a job trains. The numbers are those that are published, but for the calibration, which is not.
struct growth_job_options {
  std::uint64_t decisions = 3;                         ///< each time devices come; one to do nothing counts, too
  bool calibrate = true;                               ///< deepen with the first batch of the epoch that follows
  widen_options widening{.noise = 1};                  ///< to twice the width, as the lab's tables have it
  optimizer_state optimizer = optimizer_state::reset;  ///< when it grows; carried, it keeps its learning rate, too
  double rate_factor = 0.9;                            ///< of the learning rate, after each completed epoch; above 0
  double least_rate = 1e-8;                            ///< of the learning rate, at least 0
  /// Of the learning rate when the budget ends: it falls by equal factors in equal times, whatever becomes of the
  /// model, so that epochs that take longer make up for it. Nothing: by epochs, from its first value on when the model
  /// grows.
  std::optional<double> last_rate{};
  std::uint64_t distillation =
      4;  ///< completed epochs that a larger model teaches a smaller one; 0: gives weights only
  distillation_options teaching{};                   ///< of the first of them; lambda falls to a quarter in each later
  std::string checkpoint{};                          ///< file that is replaced after each completed epoch; empty: none
  std::function<void(const growth_epoch&)> watch{};  ///< told each epoch that ended, after its checkpoint
};

/// Trains a model that grows when devices come and shrinks when they go, for as long as its budget lasts.
///
///     auto job = growth_job<>::make(net, torch::optim::AdamOptions(0.01), {.checkpoint = "job.pt"});
///     const auto clock = [&] { return static_cast<double>(job->work()) / 1e9; };     // or seconds
///     auto cluster = adapt::scripted_scheduler<decltype(clock)>::make(400, {{70, adapt::allocation::up}}, clock);
///     const auto report = job->run(*cluster, growth_by_agent{agent}, data);
///
/// Epoch after epoch, and before each:
///
/// - where devices came, the model is remembered, and whoever decides is asked before each of the next epochs, for at
///   most `decisions` of them, which block to deepen, or to widen to twice its width; the optimizer begins anew, at the
///   first learning rate;
/// - where they went, the model that was remembered last goes on with the first layers of the larger one (with its own,
///   if that was widened), under a new optimizer, and for some epochs learns from the larger one's scores, too. It is
///   judged at once. Nobody is asked any more until devices come again. If no model was remembered, the larger one goes
///   on.
///
/// An epoch is aborted when time is up or devices change (epoch_end says which). What the model has learned in it stays
/// learned, but it is not judged, the learning rate stays, and there is no checkpoint: the accuracy is that of the last
/// completed epoch. An epoch that had time for its last batch is completed, and judged even if time is up by then.
///
/// A job that was killed goes on from its checkpoint: with resume(), a model made alike, the same data and decider, and
/// a scheduler whose clock begins at time_used() and that has told changes() changes. What came after the checkpoint is
/// made again, and its time is not counted. If the clock is one of work(), and on one machine, it ends with the same
/// accuracy and history as if nothing had happened. Torch's generator goes on, too.
///
/// Errors  see each call; the job is where the error came, and its checkpoint that of the last completed epoch
/// Cost    of memory: a copy of the model for each time that devices came, and one of the larger model while it teaches
/// Thread  nobody else uses the model or the job
/// Tests   tests/integrations/libtorch/growth/growth_job_test.cpp: StopsAtTheBudget, Learns,
///         AnEpochThatNeverCompletesIsTold, GrowsWhenDevicesCome, WidensWhereThatIsAnAction,
///         RefusesBlocksThatCannotBeWidened, GrowingWithCalibrationKeepsTheLoss, AbortsAnEpochAtAChange,
///         ShrinksWithDistillation, TheSmallerModelHasTheLargersFirstLayers, TheSmallerModelOfAWidenedOneHasItsOwn,
///         TeachingLeavesTheTeacherAsItIs, TrainsAModelThatWasInEvaluationMode, ShrinksToTheModelRememberedLast,
///         DownWithoutASmallerModelChangesNothing, NobodyIsAskedAfterDown, TheLearningRateFallsAndIsSetBack,
///         TheLearningRateCanFallByTime, ACarriedOptimizerKeepsItsRate, TellsEachEpoch, RefusesActionsThatThereAreNot,
///         RefusesImpossibleOptions, RefusesData; tests/integrations/libtorch/growth/growth_job_resume_test.cpp:
///         ResumeGoesOnAsIfNothingHadHappened, ResumesWithACarriedOptimizer, ResumesWhatWasWidened,
///         OtherOptimizersOfTorch, RefusesWhatIsNoCheckpoint, ACheckpointThatCannotBeWrittenIsTold;
///         tests/integrations/libtorch/growth/growth_program_test.cpp: GoesOnAfterItsDeathAsIfNothingHadHappened
/// Source  Lamelas, course report, Tufts University, December 2023, §4, §6.4 and §7.1
template <class Optimizer = torch::optim::Adam, class OptimizerOptions = torch::optim::AdamOptions>
class growth_job {
 public:
  /// A job that has not begun. It takes the model over.
  /// Errors  invalid_option: numbers that are out of their range; what torch says of the optimizer's options; a layer
  ///         without a name (growable_sequential::description()); a block that widens, but which widen() would refuse
  [[nodiscard]] static result<growth_job> make(growable_sequential model, OptimizerOptions optimizer,
                                               growth_job_options options = {}) {
    const double first = optimizer.get_lr();
    return make(detail::growth_job_state{.model = std::move(model), .rate = first}, std::move(optimizer),
                std::move(options));
  }
  /// The job that wrote this file, which is from somebody whom you trust. The model is one that was made alike.
  /// Errors  those of make(); io; corrupt: no such file; wrong_kind: of another model or optimizer
  [[nodiscard]] static result<growth_job> resume(const std::string& path, const growable_sequential& model,
                                                 OptimizerOptions optimizer, growth_job_options options = {}) {
    auto read = detail::load_job(path, model);
    if (!read) return read.error();
    auto made = make(std::move(read->state), std::move(optimizer), std::move(options));
    if (!made) return made;
    try {
      std::istringstream text{read->optimizer};
      torch::serialize::InputArchive archive;
      archive.load_from(text);
      made->optimizer_->load(archive);
      made->set_rate(made->state_.rate);
      at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
      const std::lock_guard<std::mutex> lock{generator.mutex()};
      generator.set_state(read->generator);
    } catch (const std::exception& e) {
      return error{errc::wrong_kind, path + ": another optimizer: " + sentence_of(e)};
    }
    return made;
  }
  /// Writes all that resume() reads, complete or not at all; the number of bytes. Errors: io.
  result<std::uint64_t> save(const std::string& path) const { return detail::save_job(path, state_, *optimizer_); }

  /// Trains until there is no time left. Can be called again, where there is some again.
  /// Errors  invalid_option: an action that there is not; an epoch or a judgement without a sample; a loss
  ///         that is not finite; what the decider refuses; what was thrown. io: the checkpoint cannot be written.
  template <adapt::JobScheduler Scheduler, GrowthDecider Decider>
  result<growth_report> run(Scheduler& scheduler, Decider&& decide, const growth_data& data) {
    try {
      if (auto wrong = train(scheduler, decide, data))
        return error{wrong->code, "growth_job: " + std::move(wrong->message)};
      return growth_report{report()};
    } catch (const std::exception& e) {
      return error{errc::invalid_option, "growth_job: " + sentence_of(e)};
    }
  }

  [[nodiscard]] const growable_sequential& model() const noexcept { return state_.model; }  ///< as it is now
  [[nodiscard]] const growth_report& report() const noexcept { return state_.report; }      ///< so far
  /// Models that are remembered for when devices go.
  [[nodiscard]] std::size_t smaller_models() const noexcept { return state_.smaller.size(); }
  /// Of the budget, when the last epoch ended or the last change was dealt with.
  [[nodiscard]] double time_used() const noexcept { return report().time_used; }
  /// How many changes of devices it was told.
  [[nodiscard]] std::size_t changes() const noexcept { return report().changes.size(); }
  /// Multiply-adds of training so far, see train_epoch(); judging and calibrating do not count.
  [[nodiscard]] std::uint64_t work() const noexcept { return report().work; }

 private:
  using problem = std::optional<error>;
  static constexpr std::uint64_t widening_stream = 0x776964656e;  // not that of any decider

  growth_job(detail::growth_job_state state, OptimizerOptions optimizer, growth_job_options options)
      : state_{std::move(state)},
        optimizer_options_{std::move(optimizer)},
        options_{std::move(options)},
        first_rate_{optimizer_options_.get_lr()},
        optimizer_{std::make_unique<Optimizer>(state_.model->parameters(), optimizer_options_)} {}

  [[nodiscard]] static result<growth_job> make(detail::growth_job_state state, OptimizerOptions optimizer,
                                               growth_job_options options) {
    const auto refusal = [](const std::string& what) { return error{errc::invalid_option, "growth_job: " + what}; };
    if (!(options.rate_factor > 0) || !std::isfinite(options.rate_factor))
      return refusal("found a rate_factor of " + std::to_string(options.rate_factor) + ", expected one above 0");
    if (!(options.least_rate >= 0) || !std::isfinite(options.least_rate))
      return refusal("found a least_rate of " + std::to_string(options.least_rate) + ", expected 0 or more");
    if (options.last_rate && (!(*options.last_rate > 0) || !std::isfinite(*options.last_rate)))
      return refusal("found a last_rate of " + std::to_string(*options.last_rate) + ", expected one above 0");
    const auto [temperature, lambda] = options.teaching;
    if (!(temperature > 0) || !std::isfinite(temperature) || !(lambda >= 0 && lambda <= 1))
      return refusal("found teaching at a temperature of " + std::to_string(temperature) + " with a lambda of " +
                     std::to_string(lambda) + ", expected one above 0 and one from 0 to 1");
    if (!(options.widening.noise >= 0) || !std::isfinite(options.widening.noise))
      return refusal("found widening with a noise of " + std::to_string(options.widening.noise) +
                     ", expected 0 or more");
    const auto described = state.model->description();
    if (!described) return refusal(described.error().message);
    for (std::size_t block = 0; block < described->blocks().size(); ++block)
      if (described->blocks()[block].widens)
        if (const auto next = detail::consumer_of(state.model, block); !next) return refusal(next.error().message);
    try {
      return growth_job{std::move(state), std::move(optimizer), std::move(options)};
    } catch (const std::exception& e) {
      return refusal(sentence_of(e));
    }
  }

  template <class Scheduler, class Decider>
  problem train(Scheduler& scheduler, Decider& decide, const growth_data& data) {
    adapt::allocation change = adapt::allocation::same;  // that ended the last epoch
    const auto used = [&] { return scheduler.time_budget() - scheduler.time_left(); };
    for (;;) {
      if (change == adapt::allocation::same && scheduler.time_left() > 0) change = scheduler.change();
      if (change != adapt::allocation::same) {  // even if time is up: it will not be told again
        if (auto wrong = take(change, used(), data)) return wrong;
        state_.report.time_used = used();
        change = adapt::allocation::same;
        continue;
      }
      if (scheduler.time_left() <= 0) return std::nullopt;
      const std::uint64_t number = state_.report.epochs.size();
      if (state_.decisions_left > 0)
        if (auto wrong = grow(scheduler, decide, data, number)) return wrong;

      if (options_.last_rate)
        set_rate(first_rate_ * std::pow(*options_.last_rate / first_rate_, used() / scheduler.time_budget()));
      const growable_sequential* const teacher = state_.teacher ? &*state_.teacher : nullptr;
      distillation_options teaching = options_.teaching;
      teaching.lambda = teacher != nullptr ? fading_lambda(state_.distilled, teaching.lambda) : 0;
      const auto trained =
          train_epoch(state_.model, *optimizer_, data, number, scheduler, teacher, teaching, state_.report.work);
      if (!trained) return trained.error();
      change = trained->change;
      growth_epoch made{.number = number,
                        .end = trained->end,
                        .batches = trained->batches,
                        .loss = trained->loss,
                        .learning_rate = state_.rate,
                        .lambda = teaching.lambda,
                        .insertions = detail::insertions_in(state_.model),
                        .parameters = static_cast<std::uint64_t>(state_.model->parameter_count())};
      if (made.end == epoch_end::completed)
        if (auto wrong = complete(made, data)) return wrong;
      made.time = state_.report.time_used = used();
      state_.report.epochs.push_back(made);
      if (made.end == epoch_end::completed && !options_.checkpoint.empty())
        if (const auto done = save(options_.checkpoint); !done) return done.error();
      if (options_.watch) options_.watch(made);
    }
  }

  problem complete(growth_epoch& epoch, const growth_data& data) {
    if (auto wrong = judge(data)) return wrong;
    epoch.accuracy = state_.report.accuracy;
    if (!options_.last_rate) set_rate((std::max)(state_.rate * options_.rate_factor, options_.least_rate));
    if (state_.teacher && ++state_.distilled >= options_.distillation) state_.teacher.reset();
    return std::nullopt;
  }
  problem judge(const growth_data& data) {
    const result<double> accuracy = judged(state_.model, data);
    if (!accuracy) return accuracy.error();
    state_.report.accuracy = *accuracy;
    return std::nullopt;
  }

  problem take(adapt::allocation change, double time, const growth_data& data) {
    growth_change& told = state_.report.changes.emplace_back(growth_change{.time = time, .change = change});
    state_.decisions_left = change == adapt::allocation::up ? options_.decisions : 0;
    if (change == adapt::allocation::up) {
      state_.smaller.push_back(state_.model.copy());
      state_.teacher.reset();
      return std::nullopt;
    }
    if (state_.smaller.empty()) return std::nullopt;
    growable_sequential student = state_.smaller.back();
    if (detail::same_first_layers(state_.model, student))
      if (const auto copied = copy_of_first_layers(state_.model, student); !copied) return copied.error();
    state_.smaller.pop_back();
    state_.teacher.reset();
    if (options_.distillation > 0) state_.teacher = state_.model;
    state_.distilled = 0;
    state_.model = student;
    if (auto wrong = renew(optimizer_state::reset)) return wrong;
    if (auto wrong = judge(data)) return wrong;
    told.accuracy = state_.report.accuracy;
    return std::nullopt;
  }

  template <class Scheduler, class Decider>
  problem grow(Scheduler& scheduler, Decider& decide, const growth_data& data, std::uint64_t epoch) {
    const auto described = state_.model->description();
    if (!described) return described.error();
    const double left = scheduler.time_left(), budget = scheduler.time_budget();
    const std::uint64_t number = state_.report.decisions.size();
    const result<std::size_t> action =
        decide(growth_question{.model = *described, .time_left = left, .budget = budget, .number = number});
    if (!action) return action.error();
    const std::size_t nothing = described->actions() - 1;
    if (*action > nothing)
      return error{errc::invalid_option, "decision " + std::to_string(number) + ": found action " +
                                             std::to_string(*action) + ", expected one up to " +
                                             std::to_string(nothing) + ", which is to do nothing"};
    if (const auto what = described->action(*action)) {
      const auto grown =
          what->kind == adapt::growth_kind::deepen ? deepened(what->block, data, epoch) : widened(what->block, number);
      if (!grown) return grown.error();
      if (auto wrong = renew(options_.optimizer)) return wrong;
    }
    --state_.decisions_left;
    state_.report.decisions.push_back({.time = budget - left, .epoch = epoch, .action = *action});
    return std::nullopt;
  }

  result<std::uint64_t> deepened(std::size_t block, const growth_data& data, std::uint64_t epoch) {
    deepen_options how;
    if (options_.calibrate) how.calibration = data.training(epoch, 0).inputs;
    return deepen(state_.model, block, how);
  }
  // Copies of units that the number of the decision draws, so that a job that goes on draws the same.
  result<std::uint64_t> widened(std::size_t block, std::uint64_t decision) {
    random_sequence random{widening_stream, decision};
    const std::int64_t width = state_.model->parts()[state_.model->part_of(block)].weighted().outputs();
    return widen(state_.model, block, 2 * width, random, options_.widening);
  }

  // An optimizer over the parameters that there are now.
  problem renew(optimizer_state what) {
    auto made = carried_optimizer(*optimizer_, state_.model->parameters(), optimizer_options_, what);
    if (!made) return made.error();
    optimizer_ = std::move(made->optimizer);
    set_rate(what == optimizer_state::reset ? first_rate_ : state_.rate);
    return std::nullopt;
  }
  void set_rate(double rate) {
    state_.rate = rate;
    for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) group.options().set_lr(rate);
  }

  detail::growth_job_state state_;
  OptimizerOptions optimizer_options_;
  growth_job_options options_;
  double first_rate_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
