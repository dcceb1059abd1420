#include <rubato/sync/rivals/concurrency_scaled.hpp>
#include <rubato/sync/rivals/k_async.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <rubato/sync/rivals/ringmaster.hpp>
#include <rubato/sync/rivals/scaled.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "../../support/cluster.hpp"
#include "../../support/metronome.hpp"
#include "../../support/test_policies.hpp"

namespace {

using namespace rubato;

// Nothing but the one member that a policy must have.
struct bare {
  [[nodiscard]] decision release(const cluster_view&, const event&) const noexcept { return decision::all(); }
};

// Every member that a policy may have, and a note of each call.
struct complete {
  std::vector<std::string>* calls;

  [[nodiscard]] decision release(const cluster_view&, const event&) noexcept { return say("release"), decision::all(); }
  [[nodiscard]] admission admit(const cluster_view&, const event&) noexcept {
    return say("admit"), admission::apply(0.5F);
  }
  void observe(const feedback&) noexcept { say("observe"); }
  void shape(const cluster_view&, std::uint32_t, grant& g) noexcept { say("shape"), g.lr_scale *= 4.0F, g.batch = 3; }
  void resize(std::uint32_t) { say("resize"); }
  void reset(std::uint32_t) noexcept { say("reset"); }
  void state(archive&) { say("state"); }
  [[nodiscard]] clock_type clock_bound() const noexcept { return 17; }
  [[nodiscard]] double max_legal_wait(std::uint32_t) const noexcept { return 19.0; }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const { return capacity == 13 ? "complete: 13" : ""; }
  [[nodiscard]] description describe() const { return {"complete: it", R"({"kind":"complete"})"}; }
  static constexpr std::string_view kind = "complete";

  void say(const char* what) noexcept { calls->emplace_back(what); }
};

template <template <class> class Treatment>
void expect_forwards() {
  using plain = Treatment<bare>;
  static_assert(SyncPolicy<plain>);
  static_assert(!ShapingPolicy<plain> && !ResettablePolicy<plain> && !BoundedPolicy<plain> &&
                !WaitLimitingPolicy<plain>);
  static_assert(ResizablePolicy<plain> == std::is_same_v<plain, loss_decayed<bare>>, "which forgets the losses");
  EXPECT_EQ(kind_of(plain{bare{}}), "custom");

  std::vector<std::string> calls;
  using full = Treatment<complete>;
  static_assert(SyncPolicy<full>);
  static_assert(AdmittingPolicy<full> && ObservingPolicy<full> && ShapingPolicy<full> && ResizablePolicy<full> &&
                ResettablePolicy<full> && StatefulPolicy<full> && BoundedPolicy<full> && WaitLimitingPolicy<full> &&
                CheckedPolicy<full> && DescribedPolicy<full>);
  const full policy{complete{&calls}};
  EXPECT_EQ(kind_of(policy), "complete");
  EXPECT_EQ(policy.clock_bound(), 17u);
  EXPECT_EQ(policy.max_legal_wait(0), 19.0);
  EXPECT_EQ(problem_of(policy, 13), "complete: 13");
  EXPECT_EQ(problem_of(policy, 12), "");
  EXPECT_TRUE(policy.describe().line.starts_with("complete: it; "));
  EXPECT_TRUE(policy.describe().json.starts_with(R"({"kind":"complete",)"));
  EXPECT_TRUE(policy.describe().json.ends_with(R"(,"of":{"kind":"complete"}})"));

  test::cluster c{policy, 1};
  EXPECT_EQ(calls, (std::vector<std::string>{"resize", "reset", "release", "shape"}));
  calls.clear();
  c.push(0);
  EXPECT_EQ(calls, (std::vector<std::string>{"admit", "observe", "release", "shape"}));
  EXPECT_EQ(c.heard().releases.back().terms.batch, 3u);
  calls.clear();
  archive bytes;
  EXPECT_EQ(c.control().save(bytes), errc::ok);
  EXPECT_EQ(calls, std::vector<std::string>{"state"});
}

TEST(Treatment, ForwardsWhatThePolicyHasAndNothingElse) {
  static_assert(AdmittingPolicy<scaled<bare>> && !ObservingPolicy<scaled<bare>> && !StatefulPolicy<scaled<bare>>);
  static_assert(!AdmittingPolicy<concurrency_scaled<bare>> && !StatefulPolicy<concurrency_scaled<bare>>);
  static_assert(!AdmittingPolicy<loss_decayed<bare>> && StatefulPolicy<loss_decayed<bare>>);
  expect_forwards<scaled>();
  expect_forwards<concurrency_scaled>();
  expect_forwards<loss_decayed>();
}

// Who runs when is none of a treatment's business.
TEST(Treatment, DecidesAsThePolicy) {
  const std::vector<double> times{1.0, 1.5, 1.75, 4.0};
  const auto expect_same = [&](auto policy, auto treated) {
    test::metronome plain{policy, times};
    test::metronome other{treated, times};
    ASSERT_TRUE(plain.run(200).ok() && other.run(200).ok());
    EXPECT_EQ(plain.trace(), other.trace());
    EXPECT_EQ(plain.flushes(), other.flushes());
  };
  const ssp bounded{.staleness = 2};
  expect_same(bounded, scaled{bounded});
  expect_same(bounded, concurrency_scaled{bounded});
  expect_same(bounded, loss_decayed{bounded});
  expect_same(k_sync{.k = 2}, scaled{k_sync{.k = 2}});
  expect_same(k_async{.k = 3}, loss_decayed{concurrency_scaled{k_async{.k = 3}}});
}

// bare and scaled bare save the same; a treatment with a state appends it.
TEST(Treatment, SavesWhatThePolicySaves) {
  const auto saved = [](auto policy) {
    archive bytes;
    if constexpr (StatefulPolicy<decltype(policy)>) policy.state(bytes);
    return std::vector<std::byte>{bytes.bytes().begin(), bytes.bytes().end()};
  };
  const test::breathing_ssp inner{.pushes = 77};
  const auto own = saved(inner);
  EXPECT_EQ(saved(scaled{inner}), own);
  EXPECT_EQ(saved(concurrency_scaled{inner}), own);
  const auto more = saved(loss_decayed{inner});
  ASSERT_EQ(more.size(), own.size() + 21);
  EXPECT_TRUE(std::equal(own.begin(), own.end(), more.begin()));

  loss_decayed loaded{test::breathing_ssp{}};
  archive in{more};
  loaded.state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(loaded.pushes, 77u);
}

// Nothing is kept for a round, so a sink need not flush.
TEST(Treatment, WhatOnlyWeighsNeedsNoRounds) {
  static_assert(!may_accumulate<asp> && !may_accumulate<scaled<asp>> && !may_accumulate<loss_decayed<scaled<ssp>>>);
  static_assert(!may_accumulate<ringmaster> && !may_accumulate<scaled<ringmaster>>);
  static_assert(may_accumulate<bsp> && may_accumulate<scaled<bsp>> && may_accumulate<scaled<any_policy>>);
  controller<scaled<asp>, int> sync{{.capacity = 1}, scaled{asp{}}};
  int released = 0;
  const auto host = [&](int, worker_id, const grant&) { ++released; };
  ASSERT_EQ(sync.join({0, 0}, 0.0, 1, host), errc::ok);
  ASSERT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, 2, host), errc::ok);
  EXPECT_EQ(released, 2);
}

TEST(Treatment, StacksInAnyOrder) {
  const auto terms = [](auto policy) {
    test::cluster c{policy, 2};
    c.push(0, 0.25F);
    const admitted second = c.admit(1, 0.25F);
    c.commit(second);
    return std::pair{second.what.weight, c.heard().releases.back().terms.lr_scale};
  };
  const std::pair<float, float> expected{0.5F * 0.25F, 0.5F * 0.5F};  // staleness 1, constant 1/4; loss, M = 2
  const auto quarter = staleness_weight::constant(0.25F);
  const loss_decay half{.slope = 0.5F};
  EXPECT_EQ(terms(scaled{scaled<loss_decayed<concurrency_scaled<asp>>>{
                             loss_decayed<concurrency_scaled<asp>>{concurrency_scaled{asp{}}, half}, quarter},
                         staleness_weight::inverse_plus_one()}),
            expected);
  EXPECT_EQ(terms(concurrency_scaled<scaled<loss_decayed<scaled<asp>>>>{
                scaled<loss_decayed<scaled<asp>>>{loss_decayed<scaled<asp>>{scaled{asp{}, quarter}, half}}}),
            expected);
}

TEST(Treatment, TwiceTheSameIsTwice) {
  const scaled once{asp{}, staleness_weight::constant(0.5F)};
  const scaled twice{once, staleness_weight::constant(0.25F)};
  static_assert(std::same_as<decltype(twice), const scaled<scaled<asp>>>);
  static_assert(std::same_as<decltype(scaled{once}), scaled<asp>>, "a copy");
  test::cluster c{twice, 1};
  EXPECT_EQ(c.admit(0).what.weight, 0.125F);
}

TEST(Treatment, WorksOnAnyPolicy) {
  const any_policy policy = scaled<any_policy>{ssp{.staleness = 2}, staleness_weight::constant(0.5F)};
  EXPECT_EQ(policy.kind(), "ssp");
  EXPECT_EQ(policy.clock_bound(), 2u);
  EXPECT_EQ(policy.describe().json, R"({"kind":"ssp","weight":"0.5","of":{"kind":"ssp","staleness":2}})");
  const any_policy copy = policy;
  EXPECT_EQ(copy.describe().json, policy.describe().json) << "a copy is treated too";
  test::cluster<any_policy> c{copy, 1};
  EXPECT_EQ(c.admit(0).what.weight, 0.5F);
}

}  // namespace
