#ifndef RUBATO_CUDA_PS_DEVICE_SERVER_CUH
#define RUBATO_CUDA_PS_DEVICE_SERVER_CUH

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <rubato/cuda/controller.cuh>
#include <rubato/cuda/waiting.cuh>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device_memory.cuh"
#include "device_shards.cuh"
#include "devices.cuh"
#include "push_kernel.cuh"
#include "replay.hpp"
#include "worker_lane.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// What a device_server is to be like; problem() says what is wrong with it.
struct device_server_options {
  std::uint32_t workers = 0;                  ///< 1 to Capacity; all of them are members from the start
  std::uint32_t nominal_samples = 16;         ///< of every step: a grant has no batch here
  std::size_t log_capacity = 0;               ///< entries of the apply log that are kept; 0: no log
  std::uint32_t at_once = streams_at_once();  ///< streams that the device runs
  std::uint32_t ahead = 4;                    ///< steps that a thread gives its stream before the first of them is over
  guard_options guard{};                      ///< of the controller
};

/// What is wrong with the options of a server for `capacity` workers at most, as a sentence; empty if nothing is.
template <class Shape>
[[nodiscard]] std::string problem(const device_server_options& o, std::size_t parameters,
                                  const cuda::device_policy<Shape>& policy, const rule_options& rule,
                                  std::uint32_t capacity) {
  if (parameters == 0) return "there are no parameters, expected at least 1";
  if (o.workers == 0 || o.workers > capacity)
    return "workers is " + std::to_string(o.workers) + ", expected 1 to " + std::to_string(capacity);
  if (o.nominal_samples == 0) return "nominal_samples is 0, expected at least 1";
  if (o.ahead == 0) return "ahead is 0, expected at least 1";
  if (std::string wrong = problem(rule); !wrong.empty()) return wrong;
  if (std::string wrong = problem(o.guard); !wrong.empty()) return wrong;
  return cuda::problem(policy, o.workers);
}

/// A parameter server on one device, whose decisions are made there too: threads only give kernels to streams, some
/// steps ahead, and nobody asks the host.
///
///     auto ps = cuda_ps::device_server<>::make({.workers = 8}, initial, cuda::device_policy<>::ssp(3), rule);
///     (*ps)->start();
///     // each thread, with its own `w`:
///     auto me = (*ps)->join(w);
///     for (int n = 0; n < steps; ++n) {
///       const auto step = (*me)->begin();          // error: the device has failed, stop() or die() was called
///       ... kernels into step->stream, as at server
///       if (const error e = (*me)->push(); ...)
///     }
///     (*me)->finish();
///
/// A push is one kernel in the worker's stream (push_kernel.cuh): it takes its turn in the order of arrival, decides,
/// makes the update, copies the parameters to whoever is released, and writes their words. The next step of a stream
/// waits for its word by cuStreamWaitValue32; where the driver lacks that, or the streams are more than the device runs
/// at once, the thread looks at a mapped word and gives its kernels to the stream after that.
///
/// As cuda::decide(): the rules of device_policy; workers leave and do not come back; no batch of a grant; a cancelled
/// step runs to its end and is dropped. One device. The shards are one: the launch whose turn it is writes all of it.
///
/// A kernel that has never run is loaded when it is launched first, and CUDA may wait for the whole device to do that,
/// streams that wait for a word included. So run each kernel of yours once before start(), or set the environment
/// variable CUDA_MODULE_LOADING to EAGER before the first call of CUDA. For the same reason allocate nothing meanwhile.
///
/// Thread  all but stop() may wait for a mutex, and are safe from any thread, whatever its present device; a session
///         belongs to one thread at a time, and ends before the server does.
/// Cost    a wait, your kernels and a launch a step; no allocation or synchronisation after join().
/// Errors  by value: what the runtime answers. After a launch that fails the server has stopped, and no stream waits.
/// Tests   tests/integrations/cuda_ps/device/device_server_test.cu: SumsAreExact, BspHasTheBitsOfTheHost,
///         ALogGivesTheSameBits, ChangesWhileItRuns, EveryRuleKeepsEverybodyGoing, TheLearnedRuleDecides,
///         ADeadWorkerHoldsNobodyBack, TheStreamOfADeadWorkerRunsOut, WhoLeavesIsNotWaitedFor, StopEndsTheSteps,
///         BeginNeedsAStart, PollsChangeNothingBeforeADeadline, SnapshotsAreBetweenUpdates, RefusesBadOptions;
///         tests/integrations/cuda_ps/device_decisions_test.cpp has what is decided
template <std::uint32_t Capacity = 32, class Shape = cuda::q_shape>
class device_server {
 public:
  using state = device_decisions<Capacity, Shape>;  ///< what inspect() shows
  using policy_type = cuda::device_policy<Shape>;   ///< the rules that it knows
  class session;

  /// On the present device. Errors: invalid_option, with what problem() says; io, what the runtime answers.
  [[nodiscard]] static result<std::unique_ptr<device_server>> make(const device_server_options& o,
                                                                   std::span<const float> initial,
                                                                   const policy_type& policy,
                                                                   const rule_options& rule) {
    if (std::string wrong = problem(o, initial.size(), policy, rule, Capacity); !wrong.empty())
      return error{errc::invalid_option, std::move(wrong)};
    std::unique_ptr<device_server> ps{new device_server{o}};
    if (error wrong = ps->begin(initial, policy, rule); wrong.code != errc::ok) return wrong;
    return result<std::unique_ptr<device_server>>{std::move(ps)};
  }
  device_server(const device_server&) = delete;
  device_server& operator=(const device_server&) = delete;
  ~device_server() { static_cast<void>(wait_for_streams()); }

  [[nodiscard]] std::size_t size() const noexcept { return shards_->layout().size; }  ///< parameters
  /// Whether streams wait by themselves; otherwise their threads do.
  [[nodiscard]] bool waits_in_streams() const noexcept { return waits_in_streams_; }

  /// All workers begin: each is to join, or to be declared dead. Errors: repeated.
  [[nodiscard]] error start() {
    if (started_.exchange(true)) return {errc::repeated, "start() was called before"};
    return ask({.what = cuda::request::kind::start});
  }
  /// The calling thread becomes this worker, before start() or after; nothing waits. The server's device becomes its
  /// present one. Errors: unknown_worker; repeated, since a worker comes once; io, what the runtime answers.
  [[nodiscard]] result<std::unique_ptr<session>> join(std::uint32_t worker) {
    if (worker >= options_.workers) return unknown(worker);
    if (error wrong = cuda::check(cudaSetDevice(device_), "the device of a worker"); wrong.code != errc::ok)
      return wrong;
    if (joined_[worker].exchange(true))
      return error{errc::repeated, "worker " + std::to_string(worker) + " has joined before, and comes once"};
    return std::unique_ptr<session>{new session{*this, worker}};
  }
  /// Nobody waits for this worker any more, for whoever supervises them. What its stream has still to do is done, but
  /// its gradients are refused, and its session is told `departed_worker`. Errors: unknown_worker; busy before start().
  [[nodiscard]] error die(std::uint32_t worker) { return depart(worker, cause::death); }
  /// As die(), for one that goes by its own wish.
  [[nodiscard]] error leave(std::uint32_t worker) { return depart(worker, cause::leave); }
  /// Another rule, now. Errors: invalid_option: of the policy.
  [[nodiscard]] error change(const policy_type& policy, pending_gradients waiting) {
    if (std::string wrong = cuda::problem(policy, options_.workers); !wrong.empty())
      return {errc::invalid_option, std::move(wrong)};
    const std::lock_guard lock{mutex_};
    const on_device here{device_};
    error wrong;  // the copy is staged: `policy` may go
    if (failed(
            cuda::check(cudaMemcpyAsync(policy_.data(), &policy, sizeof policy, cudaMemcpyHostToDevice, control_.get()),
                        "another rule"),
            wrong))
      return wrong;
    return launch({.what = {.what = cuda::request::kind::change, .pending = waiting, .policy = policy_.data()}});
  }
  /// For rules with deadlines, knee among these, whose time has come by the device's clock; before it does nothing.
  /// Sessions that wait poll by themselves.
  [[nodiscard]] error poll() { return ask({.what = cuda::request::kind::poll}); }
  /// Whether the rule has a deadline.
  [[nodiscard]] bool wants_poll() const noexcept { return wake_in() != 0; }
  /// Steps begin no more: sessions are told `departed_worker`, and are to finish().
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

  /// As server::snapshot(): the parameters between two updates, to memory of the device. A null stream is that of the
  /// server's device.
  [[nodiscard]] error snapshot(float* to, cudaStream_t stream) {
    const std::lock_guard lock{mutex_};
    const on_device here{device_};
    error wrong;
    if (failed(launch(push_request{.snapshot = std::uint64_t{1} << options_.workers}), wrong) ||
        failed(cuda::check(cudaMemcpyAsync(to, shards_->copy(options_.workers), size() * sizeof(float),
                                           cudaMemcpyDeviceToDevice, control_.get()),
                           "a copy of the parameters"),
               wrong) ||
        failed(cuda::check(cudaEventRecord(copied_.get(), control_.get()), "an event"), wrong))
      return wrong;
    return cuda::check(cudaStreamWaitEvent(stream, copied_.get(), 0), "a wait");
  }
  /// The state as it is when nothing runs: counters, versions, clocks. Waits for the workers' streams.
  [[nodiscard]] result<std::unique_ptr<state>> inspect() {
    auto seen = std::make_unique<state>();
    error wrong;
    if (failed(wait_for_streams(), wrong)) return wrong;
    const std::lock_guard lock{mutex_};
    if (failed(cuda::check(
                   cudaMemcpyAsync(seen.get(), state_.data(), sizeof(state), cudaMemcpyDeviceToHost, control_.get()),
                   "the state of the server"),
               wrong) ||
        failed(cuda::check(cudaStreamSynchronize(control_.get()), "the state of the server"), wrong))
      return wrong;
    return result<std::unique_ptr<state>>{std::move(seen)};
  }
  /// The apply log. Waits for the workers' streams; errors also as in_order().
  [[nodiscard]] result<std::vector<log_entry>> log() {
    error wrong;
    if (failed(wait_for_streams(), wrong)) return wrong;
    const auto ring = shards_->log();
    if (!ring) return ring.error();
    return in_order(*ring);
  }

 private:
  explicit device_server(const device_server_options& o) : options_{o} {}

  [[nodiscard]] error begin(std::span<const float> initial, const policy_type& policy, const rule_options& rule) {
    error wrong;
    result<cuda::waiting_capabilities> can = cuda::waiting_capabilities{};
    if (failed(cuda::check(cudaGetDevice(&device_), "the device"), wrong)) return wrong;
    if (can = cuda::capabilities(device_); !can) return can.error();
    can_ = *can;
    waits_in_streams_ = cuda::choose_waiting(can_, policy.kind, options_.workers + other_streams, options_.at_once) ==
                        cuda::waiting::words;
    if (failed(device_shards::make(initial, options_.workers + 1, 1, rule.kind, options_.log_capacity), shards_,
               wrong) ||
        failed(device_array<state>::make(1), state_, wrong) ||
        failed(device_array<turn_words>::make(1), turns_, wrong) ||
        failed(device_array<policy_type>::make(1), policy_, wrong) ||
        failed(device_array<std::uint32_t>::make(Capacity), releases_, wrong) ||
        failed(mapped_array<std::uint32_t>::make(Capacity), releases_host_, wrong) ||
        failed(mapped_array<unsigned long long>::make(max_workers), progress_, wrong) ||
        failed(mapped_array<double>::make(1), wake_in_, wrong) || failed(make_stream(), control_, wrong) ||
        failed(make_event(), copied_, wrong) ||
        failed(blocks_for<Capacity, Shape>(shards_->layout().padded(), options_.workers + 1), blocks_, wrong))
      return wrong;
    // Now, since an allocation may wait for the device, which may wait for a worker that has still to come.
    lanes_.resize(options_.workers);
    for (std::uint32_t w = 0; w < options_.workers; ++w)
      if (failed(worker_lane::make(*shards_, w, device_, device_), lanes_[w], wrong)) return wrong;
    auto first = std::make_unique<state>();
    first->controller.policy = policy;
    first->controller.guard = options_.guard;
    first->controller.workers = options_.workers;
    first->book = round_book{rule};
    if (failed(cuda::check(cudaMemcpy(state_.data(), first.get(), sizeof(state), cudaMemcpyHostToDevice),
                           "the state of the server"),
               wrong))
      return wrong;
    return cuda::check(cudaStreamSynchronize(nullptr), "the memory of the server");
  }
  // The server's two, and one that looks at snapshots.
  static constexpr std::uint32_t other_streams = 3;

  [[nodiscard]] push_words words() const noexcept {
    return {.releases = releases_.data(),
            .releases_host = waits_in_streams_ ? nullptr : releases_host_.device(),
            .progress = progress_.device(),
            .wake_in = wake_in_.device()};
  }
  [[nodiscard]] error ask(const cuda::request& what) {
    const std::lock_guard lock{mutex_};
    return launch({.what = what});
  }
  [[nodiscard]] error depart(std::uint32_t worker, cause why) {
    if (worker >= options_.workers) return unknown(worker);
    if (!started_.load(std::memory_order_relaxed))
      return {errc::busy, "a worker departs after start(), which seats all"};
    departed_[worker].store(true, std::memory_order_relaxed);
    return ask({.what = cuda::request::kind::depart, .why = why, .worker = worker});
  }
  // In the server's own stream. Under the mutex.
  [[nodiscard]] error launch(push_request what) {
    what.stream = options_.workers;
    what.number = ++launches_;
    error wrong = launch(what, control_.get());
    if (wrong.code != errc::ok) give_up(wrong);
    return wrong;
  }
  [[nodiscard]] error launch(const push_request& what, cudaStream_t into) const {
    const on_device here{device_};
    return launch_push(state_.data(), turns_.data(), words(), what, shards_->whole(), shards_->log_memory(), blocks_,
                       into);
  }
  // A push that could not be launched is never decided, and others may wait for it for ever. So everybody is let go:
  // their words say more than any step, again and again until their streams are through, since a decision that is under
  // way may still write the number of a step. Under the mutex.
  void give_up(const error& why) {
    if (failure_.code == errc::ok) failure_ = why;
    stop();
    static_assert(beyond_all_steps > 0, "the sign says that a word is behind");
    static_cast<void>(
        cudaMemsetAsync(releases_.data(), beyond_all_steps, Capacity * sizeof(std::uint32_t), control_.get()));
  }
  static constexpr int beyond_all_steps = 0x3f;  // in each byte of a word: a billion
  [[nodiscard]] error ended() {
    const std::lock_guard lock{mutex_};
    return failure_.code != errc::ok ? failure_ : error{errc::departed_worker, "the server was stopped"};
  }
  // By sessions that wait: what else nobody would do.
  [[nodiscard]] error look_after() {
    const std::unique_lock lock{mutex_, std::try_to_lock};
    if (!lock) return {};
    if (failure_.code != errc::ok) return give_up(failure_), error{};
    const double wish = wake_in();
    const auto now = std::chrono::steady_clock::now();
    if (wish != wish_) wish_ = wish, wished_ = now;
    if (wish_ == 0 || now - wished_ < std::chrono::duration<double>{wish_}) return {};
    wished_ = now;
    return launch({.what = {.what = cuda::request::kind::poll}});
  }
  [[nodiscard]] double wake_in() const noexcept { return *static_cast<const volatile double*>(wake_in_.host()); }
  // Not for the device, on which others may keep a kernel for good.
  [[nodiscard]] error wait_for_streams() const {
    error wrong;
    for (const worker_lane& each : lanes_)
      if (failed(cuda::check(cudaStreamSynchronize(each.own()), "the stream of a worker"), wrong)) return wrong;
    return cuda::check(cudaStreamSynchronize(control_.get()), "the stream of the server");
  }
  [[nodiscard]] error unknown(std::uint32_t worker) const {
    return {errc::unknown_worker,
            "worker " + std::to_string(worker) + ", expected one below " + std::to_string(options_.workers)};
  }

  const device_server_options options_;
  int device_ = 0;
  cuda::waiting_capabilities can_{};
  bool waits_in_streams_ = false;
  unsigned blocks_ = 1;
  std::unique_ptr<device_shards> shards_;
  device_array<state> state_;
  device_array<turn_words> turns_;
  device_array<policy_type> policy_;
  device_array<std::uint32_t> releases_;
  mapped_array<std::uint32_t> releases_host_;
  mapped_array<unsigned long long> progress_;
  mapped_array<double> wake_in_;
  std::vector<worker_lane> lanes_;
  std::array<std::atomic<bool>, Capacity> joined_{}, departed_{};
  std::atomic<bool> started_{false}, stopped_{false};
  std::mutex mutex_;  // guards what follows
  stream control_;
  event copied_;
  std::uint32_t launches_ = 0;
  error failure_{};
  double wish_ = 0;  // the latest of wake_in(), and since when it is there
  std::chrono::steady_clock::time_point wished_{};
};

/// A worker's stream, and the steps that it has been given. Destroyed before finish(), it departs as dead.
template <std::uint32_t Capacity, class Shape>
class device_server<Capacity, Shape>::session {
 public:
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    if (here_) static_cast<void>(depart(cause::death));
    while (cudaStreamQuery(lane_.own()) == cudaErrorNotReady) {
      static_cast<void>(ps_.look_after());
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
  }

  /// The next step, which is to be pushed: what is given to its stream now runs once the worker is released. Waits only
  /// while `ahead` steps are not over. Errors: busy before start(); departed_worker after stop(), or if the worker has
  /// departed; io, what the runtime answers.
  [[nodiscard]] result<lane_step> begin() {
    if (!ps_.started_.load(std::memory_order_relaxed))
      return error{errc::busy, "begin() before start(): no worker would ever be released"};
    if (is_over()) return why_over();
    ++step_.number;
    step_.samples = ps_.options_.nominal_samples;
    step_.slot = static_cast<std::uint32_t>((step_.number - 1) % slots_of_worker);
    const auto number = static_cast<std::uint32_t>(step_.number);
    const auto has_pushed = [&](std::uint32_t n) { return static_cast<std::int32_t>(pushed() - n) >= 0; };
    error wrong;
    if (number > ps_.options_.ahead && failed(look([&] { return has_pushed(number - ps_.options_.ahead); }), wrong))
      return wrong;
    if (ps_.waits_in_streams_) {
      if (failed(cuda::wait_for_release(ps_.can_, lane_.own(), ps_.releases_.data() + worker_, number), wrong))
        return wrong;
    } else {
      const volatile std::uint32_t* const word = ps_.releases_host_.host() + worker_;
      if (failed(look([&] { return static_cast<std::int32_t>(*word - number) >= 0; }), wrong)) return wrong;
    }
    if (failed(lane_.begin_step(step_), wrong)) return wrong;
    return step_;
  }
  /// What the stream has been given makes gradient and loss of the step that begin() has named.
  [[nodiscard]] error push() {
    const cuda::request what{.what = cuda::request::kind::push, .worker = worker_, .step = step_.number};
    return launch(what, step_.loss);
  }
  /// The worker has no more to do once its stream is through: nobody waits for it from then on.
  [[nodiscard]] error finish() { return depart(cause::done); }
  /// Steps that are over.
  [[nodiscard]] std::uint32_t pushed() const noexcept { return static_cast<std::uint32_t>(word() >> 32); }
  /// The loss of the latest of them; 0 before the first.
  [[nodiscard]] float loss() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(word())); }

 private:
  friend class device_server;
  session(device_server& ps, std::uint32_t worker) : ps_{ps}, worker_{worker}, lane_{ps.lanes_[worker]} {}

  [[nodiscard]] unsigned long long word() const noexcept {
    return *static_cast<const volatile unsigned long long*>(ps_.progress_.host() + worker_);
  }
  [[nodiscard]] error depart(cause why) {
    if (!std::exchange(here_, false) || ps_.departed_[worker_].load(std::memory_order_relaxed)) return {};
    return launch({.what = cuda::request::kind::depart, .why = why, .worker = worker_}, nullptr);
  }
  [[nodiscard]] error launch(const cuda::request& what, const float* loss) {
    error wrong = ps_.launch({.what = what,
                              .stream = worker_,
                              .number = ++launches_,
                              .slot = step_.slot,
                              .step = static_cast<std::uint32_t>(step_.number),
                              .loss = loss},
                             lane_.own());
    if (wrong.code == errc::ok) return wrong;
    const std::lock_guard lock{ps_.mutex_};
    ps_.give_up(wrong);
    return wrong;
  }
  [[nodiscard]] bool is_over() const noexcept {
    return ps_.stopped_.load(std::memory_order_relaxed) || ps_.departed_[worker_].load(std::memory_order_relaxed);
  }
  [[nodiscard]] error why_over() const {
    if (ps_.stopped_.load(std::memory_order_relaxed)) return ps_.ended();
    return {errc::departed_worker, "worker " + std::to_string(worker_) + " has departed"};
  }
  // Until it is so, or there is nothing to wait for.
  template <class Condition>
  [[nodiscard]] error look(Condition&& is_so) const {
    for (std::uint32_t looks = 1; !is_so(); ++looks) {
      if (is_over()) return why_over();
      if (looks % 4096 != 0) continue;  // a kernel that has failed writes no word
      const cudaError_t answer = cudaStreamQuery(lane_.own());
      if (answer != cudaErrorNotReady && answer != cudaSuccess) return cuda::check(answer, "the step of a worker");
      if (error wrong = ps_.look_after(); wrong.code != errc::ok) return wrong;
    }
    return {};
  }

  device_server& ps_;
  const std::uint32_t worker_;
  const worker_lane& lane_;
  lane_step step_{};
  std::uint32_t launches_ = 0;
  bool here_ = true;
};

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
