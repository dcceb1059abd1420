#ifndef RUBATO_TESTS_SUPPORT_SHARED_MACHINE_HPP
#define RUBATO_TESTS_SUPPORT_SHARED_MACHINE_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <rubato/sync/controller.hpp>
#include <utility>
#include <vector>

namespace rubato::test {

/// Workers that share a machine of a given throughput: while n of them compute, each does so at 1/n of `curve(n)` times
/// its own speed, so that a step of a worker of speed 1 that is alone takes 1/curve(1). Some sleep after that, for a
/// time of their own, and need nothing of the machine meanwhile. Curve, speeds, sleeps and membership may change at any
/// time. Of steps that end at the same time the lower index comes first. The controller is polled when it asks for it.
template <SyncPolicy Policy>
class shared_machine {
 public:
  using curve_type = std::function<double(double)>;

  shared_machine(Policy policy, std::uint32_t workers, curve_type shared, controller_options options = {})
      : curve{std::move(shared)}, speed(workers, 1.0), sleep(workers, 0.0), left_(workers, none), wakes_(workers, none),
        starts_(workers, 0), samples_(workers, 0), controller_{sized(options, workers), std::move(policy)} {
    for (std::uint32_t w = 0; w < workers; ++w) join(w);
  }

  curve_type curve;
  std::vector<double> speed;
  std::vector<double> sleep;
  double loss = 0.0;
  std::uint32_t batch = 0;  ///< of a step that takes as long as above, others in proportion; 0: none is given
  std::uint32_t diverged = no_worker;  ///< its losses are NaN, so its gradients are dropped
  bool polls = true;
  std::uint64_t jitter = 0;  ///< a step takes up to this many percent longer, from a fixed sequence

  /// Goes on until this many more steps are over.
  shared_machine& run(std::uint32_t steps) {
    while (steps-- > 0 && ok_) step();
    return *this;
  }

  shared_machine& join(std::uint32_t worker) {
    left_[worker] = wakes_[worker] = none;
    ok_ &= controller_.join({worker, incarnation_++}, now_, worker, *this) == errc::ok;
    return *this;
  }
  shared_machine& die(std::uint32_t worker) {
    ok_ &= controller_.depart(controller_.workers().id(worker), now_, cause::death, *this) == errc::ok;
    left_[worker] = wakes_[worker] = none;  // it may have been released before it was noticed
    return *this;
  }

  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
  void release(std::uint32_t, worker_id worker, const grant& terms) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    const double longer = jitter == 0 ? 0.0 : static_cast<double>((random_ >> 33) % (jitter + 1)) / 100.0;
    samples_[worker.index] = batch == 0 || terms.batch == 0 ? batch : terms.batch;
    left_[worker.index] = (1.0 + longer) * (batch == 0 ? 1.0 : double(samples_[worker.index]) / batch);
    lr_scale_ = terms.lr_scale;
    ++starts_[worker.index];
  }

  [[nodiscard]] std::uint32_t running() const { return controller_.workers().busy(); }
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] float lr_scale() const { return lr_scale_; }  ///< of the latest grant
  [[nodiscard]] std::uint32_t starts(std::uint32_t worker) const { return starts_[worker]; }
  [[nodiscard]] bool ok() const { return ok_; }  ///< somebody ran all the time, and every call was answered with ok
  [[nodiscard]] const controller<Policy, std::uint32_t>& control() const { return controller_; }
  [[nodiscard]] controller<Policy, std::uint32_t>& control() { return controller_; }

  /// The host's clock is set back by this much.
  void set_back(double by) {
    now_ -= by;
    for (double& at : wakes_)
      if (at != none) at -= by;
  }
  /// The host's clock starts at 0 again.
  void restart_clock() {
    for (double& at : wakes_)
      if (at != none) at -= now_;
    now_ = 0.0;
  }

  /// Mean number of running workers over the next steps, by time.
  [[nodiscard]] double mean_running(std::uint32_t steps) {
    const double from = now_;
    double area = 0.0;
    while (steps-- > 0 && ok_) {
      const double before = now_;
      const double n = running();
      step();
      area += n * (now_ - before);
    }
    return area / (now_ - from);
  }

 private:
  static constexpr double none = -1.0;

  void step() {
    for (;;) {
      double n = 0.0;
      for (const double left : left_) n += left != none ? 1.0 : 0.0;
      const double share = n == 0.0 ? 0.0 : curve(n) / n;
      std::uint32_t next = no_worker;
      double soonest = std::numeric_limits<double>::infinity();
      for (std::uint32_t w = 0; w < left_.size(); ++w) {
        const double in = wakes_[w] != none ? wakes_[w] - now_ : left_[w] / (share * speed[w]);
        if ((wakes_[w] != none || left_[w] != none) && in < soonest) soonest = in, next = w;
      }
      if (next == no_worker) {
        ok_ = false;
        return;
      }
      const bool rings = polls && controller_.next_deadline() < now_ + soonest;
      if (rings) soonest = (std::max)(controller_.next_deadline() - now_, 0.0);
      now_ = rings ? (std::max)(controller_.next_deadline(), now_) : now_ + soonest;
      for (std::uint32_t w = 0; w < left_.size(); ++w)
        if (left_[w] != none) left_[w] = (std::max)(left_[w] - soonest * share * speed[w], 0.0);
      if (rings) {
        controller_.poll(now_, *this);
        continue;
      }
      left_[next] = none;
      if (wakes_[next] == none && sleep[next] > 0.0) {
        wakes_[next] = now_ + sleep[next];
        continue;
      }
      wakes_[next] = none;
      const double reported = next == diverged ? std::numeric_limits<double>::quiet_NaN() : loss;
      const push_event push{.worker = controller_.workers().id(next),
                            .now = now_,
                            .samples = samples_[next],
                            .loss = static_cast<float>(reported)};
      ok_ &= controller_.push(push, next, *this) == errc::ok;
      return;
    }
  }

  [[nodiscard]] static controller_options sized(controller_options o, std::uint32_t workers) {
    if (o.capacity == 0) o.capacity = workers;
    return o;
  }

  std::vector<double> left_;   // to compute; none: it does not compute
  std::vector<double> wakes_;  // when; none: it does not sleep
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> samples_;  // of the step under way
  controller<Policy, std::uint32_t> controller_;
  std::uint64_t random_ = 1;
  std::uint32_t incarnation_ = 0;
  double now_ = 0.0;
  float lr_scale_ = 1.0F;
  bool ok_ = true;
};

/// A machine that is the same, but its controller was loaded from what the other's has saved.
template <SyncPolicy Policy>
[[nodiscard]] shared_machine<Policy> restored(const shared_machine<Policy>& machine) {
  archive saved;
  EXPECT_EQ(machine.control().save(saved), errc::ok);
  shared_machine<Policy> copy = machine;
  controller<Policy, std::uint32_t> loaded{{.capacity = machine.control().workers().capacity()}, Policy{}};
  archive in{saved.bytes()};
  EXPECT_EQ(loaded.load(in, [](worker_id who) { return std::optional{who.index}; }), errc::ok);
  copy.control() = std::move(loaded);
  return copy;
}

}  // namespace rubato::test

#endif
