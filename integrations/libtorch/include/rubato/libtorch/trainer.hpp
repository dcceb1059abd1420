#ifndef RUBATO_LIBTORCH_TRAINER_HPP
#define RUBATO_LIBTORCH_TRAINER_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <rubato/core/result.hpp>
#include <rubato/pinned.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/threads_ps/server.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimizer_rule.hpp"
#include "replica.hpp"
#include "sentence.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// The step that a worker is to compute.
struct worker_step {
  worker_id worker{};                 ///< whose step it is: for a share of the data of its own
  std::uint64_t number = 0;           ///< of this life of the worker, from 1
  std::uint32_t samples = 0;          ///< to take the loss of
  std::function<bool()> cancelled{};  ///< whether the gradient will be dropped: return batch_loss::abandoned() then
};

/// The mean loss of a batch. An undefined tensor says that the worker has made its last step.
struct batch_loss {
  torch::Tensor mean;         ///< a scalar with a graph; undefined: no step
  std::uint32_t samples = 0;  ///< that it is of; 0: as many as were asked for
  bool is_abandoned = false;  ///< there is none, since the step is cancelled

  /// Of `how_many` samples; 0: as many as were asked for.
  batch_loss(torch::Tensor mean_loss, std::uint32_t how_many = 0)  // NOLINT(*-explicit-*)
      : mean{std::move(mean_loss)}, samples{how_many} {}
  /// Of a step that was cancelled and ends early: the worker reports back, and gets its next one. Of another step it
  /// is a failure.
  [[nodiscard]] static batch_loss abandoned() {
    batch_loss none{torch::Tensor{}};
    none.is_abandoned = true;
    return none;
  }
};

/// How a worker has ended.
struct worker_end {
  std::uint64_t steps = 0;  ///< whose gradient was pushed, if only to be dropped, or to throw
  std::string failure{};    ///< what was thrown in it, or why it was not let in; empty if nothing, or after stop()
};

/// Trains any torch module with workers that are threads of this process.
///
///     auto made = libtorch::trainer<Net>::make({.sync = {.capacity = 4}, .shards = 2, .nominal_samples = 64},
///                                              [] { return Net{}; }, *rule, rubato::ssp{.staleness = 3});
///     auto ends = (*made)->run(4, [&](Net& net, const libtorch::worker_step& step) -> libtorch::batch_loss {
///       if (step.number > 1000) return torch::Tensor{};
///       const batch b = batches[step.worker.index].next(step.samples);
///       return torch::nll_loss(net->forward(b.images), b.labels);
///     });
///
/// Each worker has a replica of the module. It pulls the parameters, calls your function, which computes the loss,
/// takes the gradient by autograd::grad, pushes it, and waits until the policy lets it go on. The parameters lie in the
/// shards of a threads_ps::server, whose optimizer steps are made under one mutex each; what gradients of a round
/// become is one step of their mean.
///
/// A gradient whose norm is not a finite float is dropped and counted, as one of a loss that is not.
///
/// torch computes with as many threads as there are cores, for each worker: call at::set_num_threads(1) first, or with
/// what there is of cores for each. The BLAS that torch uses must be one that threads may call at once: OpenBLAS built
/// without threads is not, and gives wrong products now and then.
///
/// Buffers of a module, such as the running means of a batch norm, belong to the replica; model() has those of the
/// worker that made the latest step. A step whose gradient is not finite leaves none: the replica gets those back.
///
/// Memory  parameters and gradient of each replica; the server's parameters, and what its optimizers remember; buffers
///         and parameters that need no gradient once more
/// Thread  work() and run() from any; the rest too. Your function is called by all workers at once.
/// Errors  by value, but of model(). What your function throws, or the factory, or an optimizer, ends that worker as a
///         death does, and is told in its worker_end.
/// Tests   tests/integrations/libtorch/trainer_test.cpp: IsTheHandWrittenLoopOfOneWorker,
///         ARoundIsOneStepOfTheMeanOfItsWorkers, KOfNGradientsMakeAnUpdate, AStepThatThrowsEndsThatWorkerAlone,
///         AFactoryThatThrowsEndsItsWorkerAlone, WhatIsNoExceptionEndsThatWorkerToo, AFactoryOfOneModuleIsRefused,
///         AFactoryOfAnotherModuleIsRefused, ACancelledStepCanEndEarly, AnOptimizerThatThrows,
///         ABatchThatIsNotFiniteLeavesTheBuffers, TheModelHasTheBuffersOfTheLatestStep, StopIsNoFailure,
///         WithoutThreadsItSaysSo
template <class Module, Observer Watcher = no_observer>
class trainer {
 public:
  using server_type = threads_ps::server<any_policy, optimizer_rule, Watcher>;  ///< what holds the parameters
  using module_factory = std::function<Module()>;  ///< called by make(), model() and each worker, in their threads

  /// The module that the factory makes first has the initial parameters. Each later one is to be a new module of the
  /// same shape: one that is in use, or another one, ends its worker.
  /// Errors  invalid_option: of the server, or of the module (replica::make), or what the factory has thrown
  [[nodiscard]] static result<std::unique_ptr<trainer>> make(const threads_ps::server_options& options,
                                                             module_factory make_module, optimizer_rule rule,
                                                             any_policy policy, Watcher watcher = {}) {
    const auto refused = [](const std::string& why) {
      return error{errc::invalid_option, "no module could be made: " + why};
    };
    try {
      auto first = replica<Module>::make(make_module());
      if (!first) return first.error();
      auto ps = server_type::make(options, first->values(), std::move(policy), std::move(rule), std::move(watcher));
      if (!ps) return ps.error();
      return std::unique_ptr<trainer>{
          new trainer{options.nominal_samples, std::move(make_module), *first, std::move(*ps)}};
    } catch (const std::exception& e) {
      return refused(sentence_of(e));
    } catch (...) {
      return refused(no_exception);
    }
  }

  /// One life of a worker, in the calling thread, until its function has no more for it, it is told that it has
  /// departed, or stop() is called.
  template <class Loss>
  worker_end work(worker_id who, Loss&& loss_of) {
    worker_end end;
    try {
      std::optional<replica<Module>> net = make_replica_or_tell(end);
      auto me = server_->join(who);  // also without one: the others wait for it, until it departs as dead
      if (!me && end.failure.empty() && !(is_stopped_ && me.error().code == errc::departed_worker))
        end.failure = me.error().message;
      while (me && net && (*me)->here()) step(**me, *net, end, loss_of);
    } catch (const std::exception& e) {
      end.failure = sentence_of(e);
    } catch (...) {
      end.failure = no_exception;
    }
    return end;
  }
  /// Workers 0 to workers - 1, in a thread each, which calls loss_of(module, step); until all of them have ended. They
  /// begin when a quorum is there: fewer workers than that wait for more of them, or for stop(). If there are not
  /// threads enough, those that there are stop, and all failures say so.
  template <class Loss>
  std::vector<worker_end> run(std::uint32_t workers, Loss&& loss_of) {
    std::vector<worker_end> ends(workers);
    std::vector<std::jthread> threads;
    std::string failure;
    try {
      for (std::uint32_t w = 0; w < workers; ++w)
        threads.emplace_back([this, w, &ends, &loss_of] { ends[w] = work({w}, loss_of); });
    } catch (const std::exception& e) {
      failure = "no thread for a worker: " + sentence_of(e);
      stop();  // the others would wait for it
    }
    threads.clear();
    if (!failure.empty())
      for (worker_end& each : ends)
        if (each.failure.empty()) each.failure = failure;
    return ends;
  }
  /// Ends the work of everybody.
  void stop() {
    is_stopped_ = true;
    server_->shutdown();
  }

  /// A module with the present parameters, for an evaluation, or to be saved (state_file.hpp). Throws what the factory
  /// throws, or an optimizer in the step that it had still to make of the round before.
  [[nodiscard]] Module model() {
    replica<Module> net = make_replica();
    server_->snapshot(net.parameters());
    return std::move(net.module());
  }
  [[nodiscard]] std::size_t size() const noexcept { return server_->size(); }  ///< trainable parameters
  /// To switch the policy, take workers out, look at counters: see threads_ps.
  [[nodiscard]] server_type& server() noexcept { return *server_; }

 private:
  static constexpr const char* no_exception = "something that is no std::exception";

  trainer(std::uint32_t nominal_samples, module_factory make_module, replica<Module>& first,
          std::unique_ptr<server_type> ps)
      : nominal_samples_{nominal_samples},
        shape_{shape_of(*first.module())},
        frozen_{clones_of(frozen_of(*first.module()))},
        make_module_{std::move(make_module)},
        in_use_{first->weak_from_this()},
        buffers_{clones_of(first->buffers())},
        server_{std::move(ps)} {}

  // Alike in everything but the parameters, which are to be pulled.
  [[nodiscard]] replica<Module> make_replica() {
    auto made = replica<Module>::make(make_module());
    TORCH_CHECK(made.has_value(), made.error().message);
    copy_each(frozen_, frozen_of(*made->module()));
    const std::lock_guard lock{buffers_mutex_};
    copy_each(buffers_, (*made)->buffers());
    return std::move(*made);
  }
  // Of one module in two replicas the older would go on with tensors that nobody trains.
  [[nodiscard]] Module make_module() {
    const std::lock_guard lock{factory_mutex_};
    Module made = make_module_();
    std::erase_if(in_use_, [](const auto& each) { return each.expired(); });
    const auto is_made = [&](const auto& each) { return each.lock().get() == std::to_address(made.operator->()); };
    TORCH_CHECK(std::none_of(in_use_.begin(), in_use_.end(), is_made),
                "the factory gave a module that is in use, expected a new one each time");
    TORCH_CHECK(shape_of(*made) == shape_, "the factory made another module than at first");
    in_use_.push_back(made->weak_from_this());
    return made;
  }
  [[nodiscard]] std::optional<replica<Module>> make_replica_or_tell(worker_end& end) {
    try {
      return make_replica();
    } catch (const std::exception& e) {
      end.failure = sentence_of(e);
    } catch (...) {
      end.failure = no_exception;
    }
    return std::nullopt;
  }
  template <class Loss>
  void step(typename server_type::session& me, replica<Module>& net, worker_end& end, Loss& loss_of) {
    static_cast<void>(me.pull(net.parameters()));
    const worker_step asked{.worker = me.id(),
                            .number = end.steps + 1,
                            .samples = me.terms().batch == 0 ? nominal_samples_ : me.terms().batch,
                            .cancelled = [&me] { return me.cancelled(); }};
    const batch_loss loss = loss_of(net.module(), asked);
    if (loss.is_abandoned) {
      TORCH_CHECK(me.cancelled(), "a step that is not cancelled was abandoned");
      ++end.steps;
      return static_cast<void>(me.push(net.no_gradient(), {.samples = asked.samples}));
    }
    if (!loss.mean.defined()) return static_cast<void>(me.finish());
    const std::span<const float> gradient = net.gradient(loss.mean);
    const threads_ps::step_report report{.samples = loss.samples == 0 ? asked.samples : loss.samples,
                                         .loss = loss.mean.template item<float>(),
                                         .grad_norm = net.gradient_norm()};
    if (!buffers_.empty()) {
      const std::lock_guard lock{buffers_mutex_};
      if (pinned::is_finite(report.loss) && pinned::is_finite(report.grad_norm))
        copy_each(net->buffers(), buffers_);
      else
        copy_each(buffers_, net->buffers());
    }
    ++end.steps;
    static_cast<void>(me.push(gradient, report));
  }

  const std::uint32_t nominal_samples_;
  const std::string shape_;
  const std::vector<torch::Tensor> frozen_;
  std::mutex factory_mutex_;  // guards the next two
  module_factory make_module_;
  std::vector<std::weak_ptr<torch::nn::Module>> in_use_;
  std::mutex buffers_mutex_;                  // guards the values of
  const std::vector<torch::Tensor> buffers_;  // those of the latest step
  std::atomic<bool> is_stopped_ = false;
  std::unique_ptr<server_type> server_;
};

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
