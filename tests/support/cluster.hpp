#ifndef RUBATO_TESTS_SUPPORT_CLUSTER_HPP
#define RUBATO_TESTS_SUPPORT_CLUSTER_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <rubato/sync/controller.hpp>
#include <utility>
#include <vector>

namespace rubato::test {

/// What a sink heard, in order. Tickets are running numbers; each must end once.
struct effects {
  struct flushed {
    std::uint64_t round;
    float scale;
    std::uint32_t gradients;
    friend bool operator==(const flushed&, const flushed&) = default;
  };
  struct released {
    worker_id worker;
    grant terms;
    std::uint32_t ticket;
  };
  struct abandoned {
    std::uint32_t worker;
    reason why;
    friend bool operator==(const abandoned&, const abandoned&) = default;
  };
  std::vector<released> releases;
  std::vector<flushed> flushes;
  std::vector<flushed> discards;  // scale is 0
  std::vector<std::uint32_t> cancels;
  std::vector<abandoned> abandons;
  std::vector<bool> ended;  // by ticket

  [[nodiscard]] std::uint32_t new_ticket() {
    ended.push_back(false);
    return static_cast<std::uint32_t>(ended.size() - 1);
  }
  void end(std::uint32_t ticket) {
    ASSERT_LT(ticket, ended.size()) << "a ticket that nobody handed out";
    EXPECT_FALSE(ended[ticket]) << "ticket " << ticket << " ended twice";
    ended[ticket] = true;
  }

  void release(std::uint32_t ticket, worker_id worker, const grant& terms) {
    end(ticket);
    releases.push_back({worker, terms, ticket});
  }
  void flush(std::uint64_t round, float scale, std::uint32_t n) { flushes.push_back({round, scale, n}); }
  void discard(std::uint64_t round, std::uint32_t n) { discards.push_back({round, 0.0F, n}); }
  void cancel(worker_id worker) { cancels.push_back(worker.index); }
  void abandon(std::uint32_t ticket, worker_id worker, reason why) {
    end(ticket);
    abandons.push_back({worker.index, why});
  }
};

/// A scripted host: workers 0, 1, ... join at time 0; then each line of a test is one message.
///
///     cluster c{ssp{.staleness = 1}, 3};
///     c.push(0).push(0).push(1);
///     EXPECT_EQ(c.parked(), (std::vector{0u}));
///
/// Time moves by 1 before each message; `at(t)` sets the time of the next. Pushes carry the worker's own step number.
template <SyncPolicy Policy>
class cluster {
 public:
  using controller_type = controller<Policy, std::uint32_t>;

  std::uint32_t samples = 1;  ///< behind each gradient, unless the grant says how many
  bool obeys = true;          ///< false: whatever the grant says

  cluster(Policy policy, std::uint32_t workers, controller_options options = {})
      : pulls_{options.park == park_on::pull}, controller_{with_size(options, workers), std::move(policy)} {
    lives_.resize(controller_.workers().capacity());
    steps_.resize(lives_.size());
    for (std::uint32_t w = 0; w < workers; ++w) expect(errc::ok, join_now(w, 0.0));
    if (pulls_)
      for (std::uint32_t w = 0; w < workers; ++w) expect(errc::ok, pull_now(w, 0.0));
  }

  cluster& at(double time) { return next_ = time, *this; }

  /// One step of a running worker is over.
  cluster& push(std::uint32_t worker, float loss = 1.0F) {
    return expect(errc::ok, last_ = controller_.push(step_of(worker, loss), ticket(), sink_));
  }
  /// The same message as the worker's last push, as after a lost answer.
  cluster& repeat_push(std::uint32_t worker) {
    push_event again = step_of(worker, 1.0F);
    again.step = --steps_[worker];
    return last_ = controller_.push(again, ticket(), sink_), *this;
  }
  admitted admit(std::uint32_t worker, float loss = 1.0F) { return controller_.admit(step_of(worker, loss)); }
  cluster& commit(const admitted& answer, outcome how = outcome::done) {
    return last_ = controller_.commit(answer.work, time(), how, ticket(), sink_), *this;
  }
  cluster& pull(std::uint32_t worker) { return last_ = pull_now(worker, time()), *this; }

  /// Joins as the incarnation after the last.
  cluster& join(std::uint32_t worker) {
    ++lives_[worker];
    steps_[worker] = 0;
    return expect(errc::ok, last_ = join_now(worker, time()));
  }
  cluster& die(std::uint32_t worker) { return depart(worker, cause::death); }
  cluster& leave(std::uint32_t worker) { return depart(worker, cause::leave); }
  cluster& finish(std::uint32_t worker) { return depart(worker, cause::done); }
  cluster& poll() { return controller_.poll(time(), sink_), *this; }
  cluster& switch_to(Policy policy, pending_gradients pending = pending_gradients::flush) {
    return expect(errc::ok, last_ = controller_.switch_to(std::move(policy), time(), pending, sink_));
  }

  /// In the order in which they were parked.
  [[nodiscard]] std::vector<std::uint32_t> parked() const {
    std::vector<std::uint32_t> all;
    const auto& list = controller_.workers().parked();
    for (std::uint32_t w = list.front(); w != no_worker; w = list.after(w)) all.push_back(w);
    return all;
  }
  /// By index.
  [[nodiscard]] std::vector<std::uint32_t> running() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t w = 0; w < lives_.size(); ++w)
      if (state(w) == worker_state::running) all.push_back(w);
    return all;
  }
  [[nodiscard]] worker_state state(std::uint32_t worker) const { return controller_.workers()[worker].state; }
  [[nodiscard]] clock_type clock(std::uint32_t worker) const { return controller_.workers().clock().clock(worker); }
  [[nodiscard]] worker_id id(std::uint32_t worker) const { return {worker, lives_[worker]}; }
  [[nodiscard]] std::uint64_t overrides() const { return controller_.counts().overrides(); }
  [[nodiscard]] std::uint64_t count(reason why) const { return controller_.counts().total(why); }
  [[nodiscard]] errc last() const { return last_; }  ///< what the latest message was answered
  [[nodiscard]] effects& heard() { return sink_; }
  [[nodiscard]] controller_type& control() { return controller_; }

 private:
  [[nodiscard]] static controller_options with_size(controller_options o, std::uint32_t workers) {
    if (o.capacity == 0) o.capacity = workers;
    if (o.quorum == 0) o.quorum = workers;
    return o;
  }
  double time() { return now_ = std::exchange(next_, std::nullopt).value_or(now_ + 1.0); }
  std::optional<std::uint32_t> ticket() { return pulls_ ? std::nullopt : std::optional{sink_.new_ticket()}; }
  push_event step_of(std::uint32_t worker, float loss) {
    return {.worker = id(worker), .now = time(), .step = ++steps_[worker], .samples = batch_of(worker), .loss = loss};
  }
  std::uint32_t batch_of(std::uint32_t worker) const {
    const auto last = std::find_if(sink_.releases.rbegin(), sink_.releases.rend(),
                                   [&](const effects::released& each) { return each.worker.index == worker; });
    return last == sink_.releases.rend() || last->terms.batch == 0 || !obeys ? samples : last->terms.batch;
  }
  errc join_now(std::uint32_t worker, double now) { return controller_.join(id(worker), now, ticket(), sink_); }
  errc pull_now(std::uint32_t worker, double now) {
    return controller_.pull(id(worker), now, sink_.new_ticket(), sink_);
  }
  cluster& depart(std::uint32_t worker, cause why) {
    return expect(errc::ok, last_ = controller_.depart(id(worker), time(), why, sink_));
  }
  cluster& expect(errc wanted, errc found) {
    EXPECT_EQ(name(found), name(wanted));
    return *this;
  }

  bool pulls_;
  controller_type controller_;
  effects sink_;
  std::vector<std::uint32_t> lives_;
  std::vector<std::uint64_t> steps_;
  std::optional<double> next_;
  double now_ = 0.0;
  errc last_ = errc::ok;
};

}  // namespace rubato::test

#endif
