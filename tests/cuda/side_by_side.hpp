#ifndef RUBATO_TESTS_CUDA_SIDE_BY_SIDE_HPP
#define RUBATO_TESTS_CUDA_SIDE_BY_SIDE_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/cuda/controller.cuh>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <utility>
#include <vector>

#include "random_network.hpp"

namespace rubato::test {

/// The same rule for the host and for the device.
struct policy_pair {
  std::string name;
  any_policy host;
  cuda::device_policy<> device;
};

/// A network with parameters that stay where they are, and statistics of its inputs.
struct some_q_network {
  nn::mlp<40, 64, 32, 3> net;
  normaliser<40> scale;
  double statistics[80];
  std::vector<float> parameters;

  explicit some_q_network(std::uint64_t seed) : net{random_network<nn::mlp<40, 64, 32, 3>>({}, seed)} {
    for (std::uint64_t i = 0; i < 20; ++i) {
      std::vector<float> seen = numbers(40, 100 * seed + i);
      for (std::size_t n = 0; n < seen.size(); ++n) seen[n] *= n % 4 == 0 ? 100.0F : 4.0F;
      scale.observe(std::span<const float, 40>{seen.data(), 40});
    }
    cuda::statistics_of(scale, statistics);
    parameters.assign(net.parameters().begin(), net.parameters().end());
  }
  [[nodiscard]] cuda::network<cuda::q_shape> view() const {
    return {parameters.data(), net.options().hidden, net.options().output};
  }

  /// A learned policy of each kind of input; `device` may be where parameters and statistics lie for the device.
  template <class Encoder>
  [[nodiscard]] policy_pair pair(std::string name, bool scaled, double max_idle) const {
    policy_pair both{std::move(name),
                     q_policy<Encoder, nn::mlp<40, 64, 32, 3>>{
                         net, {.max_idle = max_idle}, Encoder{}, scaled ? scale : normaliser<40>{}},
                     cuda::device_policy<>::learned(view())};
    both.device.inputs = std::same_as<Encoder, rlp_state> ? rlp_scale::raw : rlp_scale::normalised;
    both.device.max_idle = max_idle;
    if (scaled) both.device.statistics = statistics;
    return both;
  }
};

/// Policies that remember nothing, for so many workers.
inline std::vector<policy_pair> simple_policies(std::uint32_t workers) {
  using device = cuda::device_policy<>;
  std::vector<policy_pair> all{
      {"asp", asp{}, device::asp()}, {"bsp mean", bsp{}, device::bsp()}, {"bsp sum", bsp{bsp::sum}, device::bsp(true)}};
  for (const clock_type s : {clock_type{0}, clock_type{1}, clock_type{4}, unbounded})
    all.push_back({"ssp " + std::to_string(s), ssp{s}, device::ssp(s)});
  for (const std::uint32_t k : {1U, (workers + 1) / 2, workers})
    all.push_back({"ksync " + std::to_string(k), k_sync{k}, device::k_sync(k)});
  return all;
}

/// What one call did, whichever of the two was called.
struct effects {
  std::vector<std::uint32_t> released, cancelled;
  std::uint32_t flushes = 0, discards = 0, adds = 0;
  float scale = 0.0F;
  friend bool operator==(const effects&, const effects&) = default;
};
inline std::ostream& operator<<(std::ostream& to, const effects& e) {
  to << "released";
  for (const std::uint32_t w : e.released) to << ' ' << w;
  to << ", cancelled";
  for (const std::uint32_t w : e.cancelled) to << ' ' << w;
  return to << ", flushes " << e.flushes << ", discards " << e.discards << ", adds " << e.adds << ", scale " << e.scale;
}

/// What a random schedule does.
struct schedule_of {
  std::uint32_t workers = 4;
  std::uint32_t calls = 500;
  double faults = 0.0;  ///< share of departures, joins, strangers, repeated messages
  guard_options guard{};
  std::vector<policy_pair> switches{};  ///< to which it switches now and then
  double switch_rate = 0.02;
  std::uint64_t seed = 1;
};

/// Drives the host's controller and the device's body by the same random schedule, and compares all that can be seen
/// after each call. Device: decide(request, policy), which returns a decision_record, and state().
template <std::uint32_t Capacity, class Device>
class side_by_side {
 public:
  side_by_side(const schedule_of& o, const policy_pair& policy, Device& device)
      : o_{o},
        device_{device},
        random_{o.seed, 3},
        host_{{.capacity = o.workers, .quorum = o.workers, .guard = o.guard}, policy.host},
        life_(o.workers),
        step_(o.workers),
        pace_(o.workers, 1.0),
        due_(o.workers, never) {
    if (random_.below(3) > 0)
      for (double& each : pace_) each = 0.25 + random_.uniform() * (random_.below(3) == 0 ? 8.0 : 1.0);
    contention_ = random_.below(2) == 0 ? 0.0 : 0.5;
    numbers_steps_ = random_.below(2) == 0;
    cuda::controller_state<Capacity> fresh;
    fresh.policy = policy.device;
    fresh.guard = o.guard;
    fresh.workers = o.workers;
    device_.reset(fresh);
  }

  void run() {
    start();
    for (std::uint32_t call = 0; call < o_.calls && !::testing::Test::HasFailure(); ++call) {
      SCOPED_TRACE("call " + std::to_string(call) + ", seed " + std::to_string(o_.seed));
      act();
    }
  }
  [[nodiscard]] std::uint64_t releases() const noexcept { return releases_; }
  [[nodiscard]] auto& host() noexcept { return host_; }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  struct sink {
    effects& seen;
    void release(std::uint32_t, worker_id worker, const grant&) { seen.released.push_back(worker.index); }
    void flush(std::uint64_t, float scale, std::uint32_t n) { ++seen.flushes, seen.adds += n, seen.scale = scale; }
    void discard(std::uint64_t, std::uint32_t n) { ++seen.discards, seen.adds += n; }
    void cancel(worker_id worker) { seen.cancelled.push_back(worker.index); }
    void abandon(std::uint32_t, worker_id, reason) {}
  };
  using kind = cuda::request::kind;

  void start() {
    effects seen;
    for (std::uint32_t w = 0; w < o_.workers; ++w) EXPECT_EQ(host_.join({w, 0}, now_, w, sink{seen}), errc::ok);
    compare(seen, device_.decide({.what = kind::start, .now = now_}, nullptr), "start");
  }

  void act() {
    if (random_.uniform() < o_.faults) return disturb();
    if (!o_.switches.empty() && random_.uniform() < o_.switch_rate) return change();
    const auto next = static_cast<std::uint32_t>(std::min_element(due_.begin(), due_.end()) - due_.begin());
    const double wake_at = host_.next_deadline();
    if (wake_at <= due_[next] && wake_at < never) return poll((std::max)(wake_at, now_));
    if (due_[next] == never) return join_somebody();
    now_ = (std::max)(now_, due_[next]);
    push(next);
  }

  void push(std::uint32_t w) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const std::uint64_t bad = random_.below(30);
    push_event event{.worker = {w, w < o_.workers ? life_[w] : 0},
                     .now = now_,
                     .step = numbers_steps_ && w < o_.workers ? ++step_[w] : 0,
                     .samples = 16,
                     .loss = bad == 0   ? nan
                             : bad == 1 ? 0.0F
                                        : static_cast<float>(0.1 + random_.uniform()),
                     .grad_norm = bad == 2 ? nan : 1.0F};
    if (w < o_.workers && random_.below(4) == 0) event.read.include(random_.below(host_.version() + 1));
    send(event);
  }

  void send(const push_event& event) {
    const std::uint32_t w = event.worker.index;
    effects seen;
    const admitted verdict_of_host = host_.admit(event);
    const bool counts = verdict_of_host.what.what < verdict::repeated;
    if (counts) due_[w] = never;
    const errc code = host_.commit(verdict_of_host.work, event.now, outcome::done,
                                   counts ? std::optional{w} : std::nullopt, sink{seen});
    const float weight = w < o_.workers ? host_grant_before_.at(w) : 1.0F;
    const cuda::decision_record<Capacity> record = device_.decide({.worker = w,
                                                                   .now = event.now,
                                                                   .loss = event.loss,
                                                                   .grad_norm = event.grad_norm,
                                                                   .step = event.step,
                                                                   .read = event.read.lowest},
                                                                  nullptr);
    EXPECT_EQ(record.what, verdict_of_host.what.what);
    EXPECT_EQ(record.why, verdict_of_host.what.why);
    if (counts) {
      EXPECT_EQ(code, errc::ok);
      EXPECT_EQ(record.staleness, verdict_of_host.staleness);
      EXPECT_EQ(record.weight, weight * verdict_of_host.what.weight);
    }
    compare(seen, record, "push of " + std::to_string(w));
  }

  void poll(double at) {
    now_ = at;
    effects seen;
    host_.poll(at, sink{seen});
    compare(seen, device_.decide({.what = kind::poll, .now = at}, nullptr), "poll");
  }

  void change() {
    const policy_pair& next = o_.switches[random_.below(o_.switches.size())];
    const auto pending = random_.below(2) == 0 ? pending_gradients::flush : pending_gradients::discard;
    effects seen;
    EXPECT_EQ(host_.switch_to(next.host, now_, pending, sink{seen}), errc::ok);
    compare(seen, device_.decide({.what = kind::change, .pending = pending, .now = now_}, &next.device),
            "switch to " + next.name);
  }

  void join(std::uint32_t w) {
    const worker_state state = host_.workers()[w].state;
    const bool gone = roster::is_gone(state);
    if (gone) ++life_[w], step_[w] = 0;
    effects seen;
    static_cast<void>(
        host_.join({w, life_[w]}, now_, gone ? std::optional{w} : std::optional<std::uint32_t>{}, sink{seen}));
    compare(seen, device_.decide({.what = kind::join, .worker = w, .now = now_}, nullptr),
            "join of " + std::to_string(w));
  }
  void join_somebody() {
    for (std::uint32_t w = 0; w < o_.workers; ++w)
      if (roster::is_gone(host_.workers()[w].state)) return join(w);
    FAIL() << "nobody runs, and nobody has gone";
  }

  void depart(std::uint32_t w, cause why) {
    effects seen;
    if (host_.depart({w, life_[w]}, now_, why, sink{seen}) == errc::ok) due_[w] = never;
    compare(seen, device_.decide({.what = kind::depart, .why = why, .worker = w, .now = now_}, nullptr),
            "departure of " + std::to_string(w));
  }

  void disturb() {
    const auto w = static_cast<std::uint32_t>(random_.below(o_.workers));
    constexpr std::array causes{cause::leave, cause::death, cause::done, cause::push};
    switch (random_.below(7)) {
      case 0:
      case 1:
        return depart(w, causes[random_.below(causes.size())]);
      case 2:
      case 3:
        return join(w);
      case 4:
        return push(o_.workers);  // a stranger
      case 5:
        return send({.worker = {w, life_[w]}, .now = now_, .step = step_[w], .loss = 1.0F});  // seen before, or not
      default:
        return send({.worker = {w, life_[w]}, .now = never});
    }
  }

  void compare(const effects& expected, const cuda::decision_record<Capacity>& record, const std::string& what) {
    effects found;
    for (std::uint32_t i = 0; i < record.released; ++i) found.released.push_back(record.release[i]);
    for (std::uint32_t i = 0; i < record.cancelled; ++i) found.cancelled.push_back(record.cancel[i]);
    std::ranges::sort(found.cancelled);
    effects wanted = expected;
    std::ranges::sort(wanted.cancelled);
    found.flushes = record.flushes ? 1 : 0;
    found.discards = record.discards ? 1 : 0;
    found.adds = record.adds;
    found.scale = record.flush_scale;
    ASSERT_EQ(found, wanted) << what;
    releases_ += found.released.size();
    ASSERT_EQ(record.wake_at, host_.next_deadline()) << what;
    ASSERT_EQ(record.version, host_.version()) << what;
    compare_states(what);
    for (const std::uint32_t w : found.released)
      due_[w] = now_ + pace_[w] * (0.8 + 0.4 * random_.uniform()) * (1.0 + contention_ * host_.workers().busy());
    host_grant_before_.resize(o_.workers);
    for (std::uint32_t w = 0; w < o_.workers; ++w) host_grant_before_[w] = host_.workers()[w].granted.lr_scale;
  }

  void compare_states(const std::string& what) {
    const cuda::controller_state<Capacity>& found = device_.state();
    const roster& all = host_.workers();
    ASSERT_EQ(found.updates, host_.updates()) << what;
    ASSERT_EQ(found.adds, host_.pending()) << what;
    ASSERT_EQ(found.alive, all.clock().size()) << what;
    ASSERT_EQ(found.running, all.busy()) << what;
    ASSERT_EQ(found.minimum, all.clock().minimum()) << what;
    ASSERT_EQ(found.parked, all.parked().size()) << what;
    std::uint32_t next = all.parked().front();
    for (std::uint32_t i = 0; i < found.parked; ++i, next = all.parked().after(next))
      ASSERT_EQ(found.order[i], next) << what << ", in park order";
    for (std::uint32_t w = 0; w < o_.workers; ++w) {
      const worker_record& r = all[w];
      ASSERT_EQ(found.where[w], r.state) << what << ", worker " << w;
      ASSERT_EQ(found.clock[w], all.clock().clock(w)) << what << ", worker " << w;
      ASSERT_EQ(found.smoothed_step_time[w], r.smoothed_step_time) << what << ", worker " << w;
      ASSERT_EQ(found.withheld[w], r.withheld) << what << ", worker " << w;
      if (r.state != worker_state::running) continue;
      ASSERT_EQ(found.granted_version[w], r.granted.version) << what << ", worker " << w;
      ASSERT_EQ(found.lr_scale[w], r.granted.lr_scale) << what << ", worker " << w;
      ASSERT_EQ(found.doomed[w], r.doomed) << what << ", worker " << w;
    }
    for (std::uint32_t i = 0; i < cuda::detail::reasons; ++i)
      ASSERT_EQ(found.counted[i], host_.counts().total(static_cast<reason>(i)))
          << what << ": " << name(static_cast<reason>(i));
  }

  schedule_of o_;
  Device& device_;
  random_sequence random_;
  controller<any_policy, std::uint32_t> host_;
  std::vector<std::uint32_t> life_;
  std::vector<std::uint64_t> step_;
  std::vector<double> pace_, due_;
  std::vector<float> host_grant_before_;
  double contention_ = 0.0;  // how much longer a step takes for each that runs
  bool numbers_steps_ = false;
  double now_ = 0.0;
  std::uint64_t releases_ = 0;
};

/// The device's body on one thread of the host.
template <std::uint32_t Capacity>
class body_on_host {
 public:
  void reset(const cuda::controller_state<Capacity>& fresh) { state_ = fresh; }
  cuda::decision_record<Capacity> decide(cuda::request what, const cuda::device_policy<>* policy) {
    what.policy = policy;
    cuda::decision_record<Capacity> record;
    cuda::decide_workspace<> space;
    cuda::decide(state_, what, cuda::one_lane{}, space, record);
    return record;
  }
  [[nodiscard]] const cuda::controller_state<Capacity>& state() const noexcept { return state_; }

 private:
  cuda::controller_state<Capacity> state_;
};

}  // namespace rubato::test

#endif
