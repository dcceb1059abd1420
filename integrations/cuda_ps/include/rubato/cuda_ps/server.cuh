#ifndef RUBATO_CUDA_PS_SERVER_CUH
#define RUBATO_CUDA_PS_SERVER_CUH

#include <cuda_runtime_api.h>

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/sync/any_policy.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device_memory.cuh"
#include "device_shards.cuh"
#include "host_decisions.hpp"
#include "replay.hpp"
#include "worker_lane.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// A parameter server on one device, whose decisions are made on the host: the workers are threads of this process,
/// each with a stream, and compute their gradients with kernels of yours.
///
///     auto ps = cuda_ps::server<any_policy>::make({.sync = {.capacity = 8}}, {}, initial, ssp{3}, {.kind = adam});
///     // each thread, with its own `w`:
///     auto me = (*ps)->join({w});
///     while (me && (*me)->here()) {
///       const cuda_ps::lane_step& step = (*me)->step();
///       ... kernels into step.stream: step.parameters -> step.gradient, and the loss of the batch to *step.loss
///       static_cast<void>((*me)->push());
///     }
///
/// All memory is the server's: parameters, what the rule remembers, two gradients and one copy of the parameters for
/// each worker. A push lets the stream write a word that the thread looks at; the controller decides under one mutex,
/// and hands a kernel to each shard's stream, which makes the update and the copies of whoever it releases in one pass;
/// the worker's stream waits for these by events. The thread may give its kernels to the stream before that.
///
/// A gradient is dense: size() numbers, the mean over its samples. One whose loss is not finite is dropped.
///
/// With several devices, worker w computes on devices[w % n]: its copy goes there, and its gradient back, by
/// cudaMemcpyPeerAsync. The server is on devices[0].
///
/// Thread  safe, but a session belongs to one thread at a time. The server outlives its sessions; a worker comes back
///         when the session of its former life is destroyed, since both have the same memory.
/// Cost    no allocation and no synchronisation of a device after join(): a thread waits for its own stream alone.
/// Errors  by value: those of host_decisions; what the runtime answers, after which the whole server is shut down.
/// Tests   tests/integrations/cuda_ps/device/server_test.cu: SumsAreExact, BspHasTheBitsOfTheHost,
///         ALogGivesTheSameBits, ShutdownFreesEverybody, RefusesBadOptions;
///         tests/integrations/cuda_ps/host_decisions_test.cpp has what is decided
template <SyncPolicy Policy, Observer Watcher = no_observer>
class server {
  using decisions_type = host_decisions<Policy, device_shards, Watcher>;

 public:
  class session;

  /// Errors  invalid_option, with what problem(options, parameters, policy, rule) says or what is wrong with `devices`;
  ///         io, with what the runtime answers
  [[nodiscard]] static result<std::unique_ptr<server>> make(const server_options& o, std::vector<int> devices,
                                                            std::span<const float> initial, Policy policy,
                                                            const rule_options& rule, Watcher watcher = {}) {
    if (std::string wrong = problem(o, initial.size(), policy, rule); !wrong.empty())
      return error{errc::invalid_option, std::move(wrong)};
    error wrong;
    if (failed(begin_devices(devices), wrong)) return wrong;
    std::unique_ptr<device_shards> shards;
    if (failed(device_shards::make(initial, o.sync.capacity, o.shards, rule.kind, o.log_capacity), shards, wrong))
      return wrong;
    return std::make_unique<server>(o, std::move(devices), std::move(shards), std::move(policy), rule,
                                    std::move(watcher));
  }
  /// As make(), which has looked at all of it.
  server(const server_options& o, std::vector<int> devices, std::unique_ptr<device_shards> shards, Policy policy,
         const rule_options& rule, Watcher watcher)
      : nominal_samples_{o.nominal_samples},
        devices_{std::move(devices)},
        shards_{std::move(shards)},
        decisions_{o, std::move(policy), rule, *shards_, std::move(watcher)} {}
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return shards_->layout().size; }        ///< parameters
  [[nodiscard]] std::uint32_t shards() const noexcept { return shards_->layout().shards; }  ///< of the parameters

  /// The calling thread becomes this worker, and waits for its first step. Its present device becomes the worker's.
  [[nodiscard]] result<std::unique_ptr<session>> join(worker_id who) {
    const int device = devices_[who.index % devices_.size()];
    worker_lane lane;
    error wrong;
    if (failed(worker_lane::make(*shards_, who.index, device, devices_[0]), lane, wrong)) return wrong;
    const result<next_step_terms> terms = decisions_.join_and_wait(who);
    if (!terms) return terms.error();
    std::unique_ptr<session> made{new session{*this, who, std::move(lane)}};
    if (failed(made->begin(*terms), wrong)) return wrong;
    return result<std::unique_ptr<session>>{std::move(made)};
  }
  /// This one has left, says whoever supervises the workers. If it has not, and pushes, it is told.
  errc leave(worker_id who) { return decisions_.leave(who); }
  errc die(worker_id who) { return decisions_.die(who); }  ///< the same of one that is dead
  /// Another rule, now: the open round is flushed or discarded, nobody's step is interrupted. Errors: invalid_option.
  errc switch_to(Policy policy, pending_gradients waiting) { return decisions_.switch_to(std::move(policy), waiting); }
  /// How many must have joined before anybody runs; later without effect. Errors: invalid_option: 0, or above capacity.
  errc set_quorum(std::uint32_t quorum) { return decisions_.set_quorum(quorum); }
  /// Does what a policy wants done at a certain time, next_deadline(). Needed only while nobody waits.
  void poll() { decisions_.poll(); }
  /// When the policy wants a poll(), in seconds as now(); infinity: never.
  [[nodiscard]] double next_deadline() { return decisions_.next_deadline(); }
  /// Everybody departs: whoever waits or pushes is told `departed_worker`.
  void shutdown() { decisions_.shutdown(); }

  /// Copies the parameters, as they are after the updates so far, to memory of the server's device; what comes later in
  /// `stream` finds them there. Returns how many updates these were.
  [[nodiscard]] result<std::uint64_t> snapshot(float* to, cudaStream_t stream) {
    return decisions_.between_orders([&](const round_book& book) -> result<std::uint64_t> {
      if (error wrong = shards_->copy_to(to, stream); wrong.code != errc::ok) return wrong;
      return book.version();
    });
  }
  /// The apply log (replay.hpp). Waits for the orders so far; errors also as in_order().
  [[nodiscard]] result<std::vector<log_entry>> log() {
    const auto ring = decisions_.between_orders([&](const round_book&) { return shards_->log(); });
    if (!ring) return ring.error();
    return in_order(*ring);
  }
  /// Of all gradients that were applied or joined a round: updates since the parameters were copied.
  [[nodiscard]] staleness_histogram staleness() { return decisions_.staleness(); }
  /// Calls f(controller, observer) while no decision is made.
  template <class F>
  decltype(auto) inspect(F&& f) {
    return decisions_.inspect(std::forward<F>(f));
  }
  [[nodiscard]] double now() const { return decisions_.now(); }  ///< seconds since construction

 private:
  const std::uint32_t nominal_samples_;
  const std::vector<int> devices_;
  std::unique_ptr<device_shards> shards_;
  decisions_type decisions_;
};

/// One life of one worker, from join() to its end. Destroyed before that, it departs as dead.
template <SyncPolicy Policy, Observer Watcher>
class server<Policy, Watcher>::session {
 public:
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    if (here_) static_cast<void>(ps_.decisions_.die(who_));
    static_cast<void>(cudaStreamSynchronize(lane_.own()));  // a later life has the same memory
  }

  [[nodiscard]] worker_id id() const noexcept { return who_; }  ///< of this life
  /// False once it has finished or left, or a push was told an error: nothing more will come of it.
  [[nodiscard]] bool here() const noexcept { return here_; }
  /// Of the present step: where its parameters are, and where gradient and loss are to go.
  [[nodiscard]] const lane_step& step() const noexcept { return step_; }
  /// Of the present step: batch, factor of the learning rate.
  [[nodiscard]] const grant& terms() const noexcept { return terms_.terms; }
  /// Updates in the parameters of the present step.
  [[nodiscard]] std::uint64_t version_read() const noexcept { return terms_.version_read; }
  /// Whether the gradient of the present step will be dropped. Push all the same.
  [[nodiscard]] bool cancelled() const noexcept { return ps_.decisions_.cancelled(who_); }

  /// What the stream has been given makes the gradient and the loss. Waits for them, and then for the next step.
  /// `samples`: behind the gradient; 0: those of the step. Returns the loss.
  [[nodiscard]] result<float> push(std::uint32_t samples = 0) {
    const result<float> loss = lane_.finish_step(step_);
    if (!loss) {  // the device has failed: nobody can go on
      ps_.decisions_.shutdown(loss.error());
      return here_ = false, loss.error();
    }
    const result<next_step_terms> next = ps_.decisions_.push_and_wait(
        {.worker = who_, .step = step_.number, .samples = samples == 0 ? step_.samples : samples, .loss = *loss});
    if (!next) return here_ = false, next.error();
    if (error wrong = begin(*next); wrong.code != errc::ok) return wrong;
    return *loss;
  }
  /// It has no more to do: holds nobody back from now on.
  errc finish() { return here_ = false, ps_.decisions_.finish(who_); }
  /// It goes by its own wish, and may come back with a higher incarnation.
  errc leave() { return here_ = false, ps_.decisions_.leave(who_); }

 private:
  friend class server;
  session(server& ps, worker_id who, worker_lane lane) : ps_{ps}, who_{who}, lane_{std::move(lane)} {}

  [[nodiscard]] error begin(const next_step_terms& terms) {
    terms_ = terms;
    step_.number += 1;
    step_.samples = terms.terms.batch == 0 ? ps_.nominal_samples_ : terms.terms.batch;
    step_.slot = terms.slot;
    error wrong;
    if (!failed(ps_.shards_->follow(who_.index, lane_.own()), wrong) && !failed(lane_.begin_step(step_), wrong))
      return wrong;
    ps_.decisions_.shutdown(wrong);
    here_ = false;
    return wrong;
  }

  server& ps_;
  const worker_id who_;
  worker_lane lane_;
  next_step_terms terms_{};
  lane_step step_{};
  bool here_ = true;
};

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
