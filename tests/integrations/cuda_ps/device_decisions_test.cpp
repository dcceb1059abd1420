#include <rubato/cuda_ps/device_decisions.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/core/rng.hpp>
#include <rubato/cuda_ps/host_decisions.hpp>
#include <rubato/cuda_ps/host_shards.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/ssp.hpp>
#include <utility>
#include <vector>

#include "../../cuda/thread_lanes.hpp"
#include "numbers.hpp"

namespace rubato::cuda_ps::device_decisions_test {
namespace {

using cuda_ps::test::numbers;
using policy = cuda::device_policy<>;
constexpr std::uint32_t workers = 5;
constexpr std::size_t size = 11;
constexpr rule_options rule{.kind = rule_kind::momentum, .learning_rate = 0.1};

// The controller of the host and a book, as host_decisions have them, in one thread.
struct at_host {
  struct pass {};
  struct effects {
    at_host& self;
    void release(pass, worker_id who, const grant&) const { self.released |= std::uint64_t{1} << who.index; }
    void abandon(pass, worker_id, reason) const {}
    void flush(std::uint64_t, float scale, std::uint32_t) const { self.book.flush(scale); }
    void discard(std::uint64_t, std::uint32_t) const { self.book.discard(); }
  };
  explicit at_host(any_policy p) : sync{{.capacity = workers}, std::move(p)} {}

  template <class Call>
  void after(Call&& call) {
    book.begin(), released = 0;
    call();
    book.finish(released);
    for (std::uint32_t w = 0; w < workers; ++w)
      if ((released >> w & 1) != 0) version_read[w] = book.version();
  }
  void push(std::uint32_t w, double now, float loss, std::uint64_t step, std::uint32_t slot) {
    after([&] {
      const grant terms = sync.workers()[w].granted;
      const admitted a = sync.admit({.worker = {w},
                                     .now = now,
                                     .step = step,
                                     .samples = 1,
                                     .loss = loss,
                                     .read = {version_read[w], version_read[w]}});
      const gradient_note note{version_read[w], static_cast<std::uint32_t>(step),
                               applied_weight(terms, a.what.weight, 1, 1)};
      if (a.what.what < verdict::repeated) book.admit(a.what.what, w, slot, note);
      static_cast<void>(sync.commit(a.work, now, outcome::done, pass{}, effects{*this}));
    });
  }

  controller<any_policy, pass> sync;
  round_book book{rule};
  std::uint64_t released = 0;
  std::array<std::uint64_t, workers> version_read{};
};

struct at_device {
  std::unique_ptr<device_decisions<8>> all = std::make_unique<device_decisions<8>>();
  cuda::decide_workspace<> space{};
  unsigned lanes = 1;

  explicit at_device(const policy& p, unsigned how_many = 1) : lanes{how_many} {
    all->book = round_book{rule};
    all->controller.workers = workers;
    all->controller.policy = p;
  }
  void decide(const cuda::request& what, std::uint32_t slot = 0) {
    if (lanes == 1) return decide_orders(*all, what, slot, cuda::one_lane{}, space);
    rubato::test::on_lanes(lanes, [&](const auto& each) { decide_orders(*all, what, slot, each, space); });
  }
};

void expect_same(const round_book& a, const round_book& b, int n) {
  ASSERT_EQ(a.count(), b.count()) << n;
  EXPECT_EQ(a.version(), b.version());
  EXPECT_EQ(a.who_waits(), b.who_waits());
  for (unsigned i = 0; i < a.count(); ++i) {
    ASSERT_EQ(a[i].what, b[i].what) << n;
    ASSERT_EQ(a[i].released, b[i].released) << n;
    EXPECT_EQ(a[i].who, b[i].who) << n;
    EXPECT_EQ(a[i].version, b[i].version) << n;
    EXPECT_EQ(a[i].step.rate, b[i].step.rate) << n;
    EXPECT_EQ(a[i].gradient.version_read, b[i].gradient.version_read) << n;
    EXPECT_EQ(a[i].gradient.weight, b[i].gradient.weight) << n;
  }
}

struct scripted {
  at_host host;
  at_device device;
  host_shards here{numbers(size, 1), workers}, there{numbers(size, 1), workers};
  random_sequence random{9, 0, 0};
  double now = 0;
  std::array<std::uint64_t, workers> steps{};
  std::array<bool, workers> runs{};

  scripted(any_policy h, const policy& d, unsigned lanes = 1) : host{std::move(h)}, device{d, lanes} {
    host.after([&] {
      for (std::uint32_t w = 0; w < workers; ++w)
        static_cast<void>(host.sync.join({w}, 0, at_host::pass{}, at_host::effects{host}));
    });
    device.decide({.what = cuda::request::kind::start});
    carry_out(-1);
  }
  void carry_out(int n) {
    expect_same(host.book, device.all->book, n);
    for (unsigned i = 0; i < host.book.count(); ++i) {
      const std::uint64_t released = host.book[i].released;
      for (std::uint32_t w = 0; w < workers; ++w) runs[w] = runs[w] || (released >> w & 1) != 0;
      static_cast<void>(here.carry_out(host.book[i], host.book.waiting()));
      static_cast<void>(there.carry_out(device.all->book[i], device.all->book.waiting()));
    }
    EXPECT_TRUE(std::ranges::equal(here.values(), there.values())) << n;
  }
  // Somebody who runs pushes.
  void push(int n) {
    auto w = static_cast<std::uint32_t>(random.below(workers));
    while (!runs[w]) w = (w + 1) % workers;
    now += random.uniform();
    const std::uint64_t step = ++steps[w];
    const auto slot = static_cast<std::uint32_t>((step - 1) % 2);
    const auto loss = static_cast<float>(2 - 0.01 * n + random.uniform());
    const std::vector<float> gradient = numbers(size, 3 + w, step);
    std::ranges::copy(gradient, here.gradient(w, slot).begin());
    std::ranges::copy(gradient, there.gradient(w, slot).begin());
    runs[w] = false;
    host.push(w, now, loss, step, slot);
    device.decide({.worker = w, .now = now, .loss = loss, .step = step}, slot);
    carry_out(n);
  }
};

TEST(CudaPsDeviceDecisions, OrdersAreThoseOfTheHost) {
  const std::vector<std::pair<any_policy, policy>> rules{{bsp{}, policy::bsp()},
                                                         {bsp{.aggregate = bsp::sum}, policy::bsp(true)},
                                                         {asp{}, policy::asp()},
                                                         {ssp{.staleness = 2}, policy::ssp(2)},
                                                         {k_sync{.k = 3}, policy::k_sync(3)},
                                                         {knee{}, policy::knee()}};
  for (const auto& [h, d] : rules) {
    scripted both{h, d};
    for (int n = 0; n < 400 && !testing::Test::HasFailure(); ++n) both.push(n);
    EXPECT_GT(both.host.book.version(), 30u);
  }
}

TEST(CudaPsDeviceDecisions, SwitchesAsTheHost) {
  scripted both{bsp{}, policy::bsp()};
  const std::vector<std::pair<any_policy, policy>> rules{{asp{}, policy::asp()},
                                                         {k_sync{.k = 2}, policy::k_sync(2)},
                                                         {ssp{.staleness = 1}, policy::ssp(1)},
                                                         {bsp{}, policy::bsp()}};
  for (int n = 0; n < 200 && !testing::Test::HasFailure(); ++n) {
    both.push(n);
    if (n % 7 != 3) continue;
    const auto& next = rules[static_cast<std::size_t>(n / 7) % rules.size()];
    const auto pending = n % 2 == 0 ? pending_gradients::flush : pending_gradients::discard;
    both.host.after([&] {
      static_cast<void>(both.host.sync.switch_to(next.first, both.now, pending, at_host::effects{both.host}));
    });
    both.device.decide(
        {.what = cuda::request::kind::change, .pending = pending, .now = both.now, .policy = &next.second});
    both.carry_out(1000 + n);
  }
}

// A death comes between the steps, and the gradient that was under way comes after it.
TEST(CudaPsDeviceDecisions, TheGradientOfADeadWorkerIsRefused) {
  scripted both{bsp{}, policy::bsp()};
  for (int n = 0; n < 22; ++n) both.push(n);
  std::uint32_t w = 0;
  while (!both.runs[w]) ++w;
  both.host.after(
      [&] { static_cast<void>(both.host.sync.depart({w}, both.now, cause::death, at_host::effects{both.host})); });
  both.device.decide({.what = cuda::request::kind::depart, .why = cause::death, .worker = w, .now = both.now});
  both.carry_out(100);
  const std::uint64_t version = both.device.all->book.version();
  both.device.decide({.worker = w, .now = both.now, .loss = 1, .step = ++both.steps[w]});
  EXPECT_EQ(both.device.all->record.what, verdict::refused);
  EXPECT_EQ(both.device.all->record.why, reason::departed_worker);
  EXPECT_EQ(both.device.all->book.count(), 0u);
  both.runs[w] = false;
  for (int n = 0; n < 40 && !testing::Test::HasFailure(); ++n) both.push(200 + n);
  EXPECT_GT(both.device.all->book.version(), version + 5) << "nobody waits for it";
}

// What its stream was given before overwrites both slots: the round has the gradient all the same.
TEST(CudaPsDeviceDecisions, TheSlotsOfADeadWorkerAreCleared) {
  scripted both{bsp{}, policy::bsp()};
  both.push(0);
  device_decisions<8>& all = *both.device.all;
  ASSERT_NE(all.book.who_waits(), 0u);
  std::uint32_t w = 0;
  while ((all.book.who_waits() >> w & 1) == 0) ++w;
  both.host.after(
      [&] { static_cast<void>(both.host.sync.depart({w}, both.now, cause::death, at_host::effects{both.host})); });
  both.device.decide({.what = cuda::request::kind::depart, .why = cause::death, .worker = w, .now = both.now});
  ASSERT_EQ(all.book.count(), 1u);
  EXPECT_EQ(all.book[0].what, deed::add);
  EXPECT_EQ(all.book.who_waits(), 0u);
  static_cast<void>(both.there.carry_out(all.book[0], all.book.waiting()));
  for (const std::uint32_t slot : {0u, 1u}) std::ranges::fill(both.there.gradient(w, slot), 1e6F);
  const auto finish_round = [&](auto& book, host_shards& at) {
    ASSERT_EQ(book.count(), 1u);
    ASSERT_EQ(book[0].what, deed::flush);
    static_cast<void>(at.carry_out(book[0], book.waiting()));
  };
  for (std::uint32_t v = 0; v < workers; ++v) {
    if (v == w) continue;
    const std::vector<float> gradient = numbers(size, 3 + v, 1);
    std::ranges::copy(gradient, both.here.gradient(v, 0).begin());
    std::ranges::copy(gradient, both.there.gradient(v, 0).begin());
    both.host.push(v, both.now, 1, 1, 0);
    both.device.decide({.worker = v, .now = both.now, .loss = 1, .step = 1});
  }
  ASSERT_NO_FATAL_FAILURE(finish_round(both.host.book, both.here));
  ASSERT_NO_FATAL_FAILURE(finish_round(all.book, both.there));
  for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(both.here.values()[i], both.there.values()[i], 1e-6F);
}

TEST(CudaPsDeviceDecisions, AnyNumberOfLanesDecidesTheSame) {
  for (const unsigned lanes : {2u, 5u}) {
    scripted both{k_sync{.k = 2}, policy::k_sync(2), lanes};
    for (int n = 0; n < 30 && !testing::Test::HasFailure(); ++n) both.push(n);
  }
}

}  // namespace
}  // namespace rubato::cuda_ps::device_decisions_test
