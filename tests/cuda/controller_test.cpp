#include <rubato/cuda/controller.cuh>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <rubato/io/decision_log.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "side_by_side.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace controller_tests {
namespace {

static_assert(std::is_trivially_copyable_v<controller_state<64>> && std::is_trivially_copyable_v<request> &&
              std::is_trivially_copyable_v<decision_record<64>> && std::is_trivially_copyable_v<device_policy<>>);

constexpr std::uint32_t capacity = 33;
constexpr double no_limit = std::numeric_limits<double>::infinity();

/// How often the host counted each reason, and how often knee ran fewer than all or waited for all.
struct tally {
  std::array<std::uint64_t, detail::reasons> counted{};
  std::uint64_t released = 0;
  std::uint64_t below_all = 0;
  std::uint64_t barriers = 0;
  [[nodiscard]] std::uint64_t of(reason why) const { return counted[static_cast<std::size_t>(why)]; }
};

void run(const test::schedule_of& o, const test::policy_pair& policy, tally& all) {
  test::body_on_host<capacity> body;
  test::side_by_side<capacity, test::body_on_host<capacity>> both{o, policy, body};
  both.run();
  all.released += both.releases();
  for (std::uint32_t i = 0; i < detail::reasons; ++i) all.counted[i] += body.state().counted[i];
  if (body.state().policy.kind != rule::knee) return;
  if (body.state().knee.parallelism() < body.state().alive) ++all.below_all;
  if (body.state().knee.has_barrier()) ++all.barriers;
}

std::vector<test::policy_pair> all_policies(std::uint32_t workers, const test::some_q_network& q) {
  std::vector<test::policy_pair> all = test::simple_policies(workers);
  all.push_back({"knee", knee{}, device_policy<>::knee()});
  const knee keen{.threshold = 0.6F, .scales_rate = false, .most_scatter = 1e9F};
  all.push_back({"knee, keen", keen, device_policy<>::knee()});
  all.back().device.threshold = keen.threshold;
  all.back().device.scales_rate = keen.scales_rate;
  all.back().device.most_scatter = keen.most_scatter;
  all.push_back(q.pair<rlp_state>("learned", false, no_limit));
  all.push_back(q.pair<rlp_state>("learned, scaled, limited", true, 2.5));
  all.push_back(q.pair<rlp_normalised_state>("learned, normalised", false, 1.0));
  return all;
}

template <class Change>
tally on_all(std::uint32_t calls, const Change& change) {
  tally seen;
  for (const std::uint32_t workers : {1U, 2U, 5U, 16U, 33U}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const test::some_q_network q{seed};
      const std::vector<test::policy_pair> all = all_policies(workers, q);
      for (const test::policy_pair& policy : all) {
        SCOPED_TRACE(policy.name + ", workers " + std::to_string(workers));
        test::schedule_of o{.workers = workers, .calls = calls, .seed = seed};
        change(o, all);
        run(o, policy, seen);
        if (::testing::Test::HasFailure()) return seen;
      }
    }
  }
  return seen;
}

TEST(CudaController, DecidesAsTheHost) {
  const tally seen = on_all(400, [](test::schedule_of&, const auto&) {});
  EXPECT_GT(seen.released, 50'000u);
  EXPECT_GT(seen.below_all, 0u);
  EXPECT_GT(seen.barriers, 0u);
  EXPECT_GT(seen.of(reason::cancelled), 0u);
  EXPECT_GT(seen.of(reason::non_finite), 0u);
}

TEST(CudaController, WorkersComeAndGoAsAtTheHost) {
  const tally seen = on_all(300, [](test::schedule_of& o, const auto&) { o.faults = 0.15; });
  for (const reason why : {reason::unknown_worker, reason::departed_worker, reason::invalid_time, reason::invalid_cause,
                           reason::repeated, reason::degraded, reason::clock_clamped})
    EXPECT_GT(seen.of(why), 0u) << name(why);
}

TEST(CudaController, SwitchesAsTheHost) {
  const tally seen = on_all(400, [](test::schedule_of& o, const auto& all) {
    o.switches = all;
    o.faults = o.seed == 1 ? 0.0 : 0.05;
  });
  EXPECT_GT(seen.of(reason::switched), 0u);
  EXPECT_GT(seen.of(reason::clock_clamped), 0u);
}

TEST(CudaController, GuardsAsTheHost) {
  const tally seen = on_all(250, [](test::schedule_of& o, const auto& all) {
    o.faults = 0.05;
    o.switches = all;
    o.switch_rate = 0.01;
    o.guard.bound = o.seed;
    o.guard.max_wait = o.seed == 2 ? 1.5 : no_limit;
    o.guard.max_lr_scale = o.seed == 3 ? 0.5F : 16.0F;
  });
  for (const reason why : {reason::bound, reason::overdue, reason::rate_limit, reason::cancel_limit})
    EXPECT_GT(seen.of(why), 0u) << name(why);
  on_all(300, [](test::schedule_of& o, const auto&) { o.guard.enabled = false; });
}

struct string_sink {
  std::string* text;
  void operator()(std::string_view bytes) noexcept { *text += bytes; }
};

/// The decision log of some steps on the host.
std::string recorded(const test::policy_pair& policy, std::uint32_t workers, std::uint64_t seed) {
  std::string text;
  using log = decision_log<string_sink>;
  random_sequence random{seed};
  std::vector<double> due(workers, no_limit);
  double now = 0.0;
  const auto let_go = [&](std::uint32_t w) { due[w] = now + 0.5 + random.uniform() + 0.25 * w; };
  struct sink {
    decltype(let_go)& run;
    void release(std::uint32_t ticket, worker_id, const grant&) { run(ticket); }
    void flush(std::uint64_t, float, std::uint32_t) {}
    void discard(std::uint64_t, std::uint32_t) {}
  };
  controller<any_policy, std::uint32_t, log> host{
      {.capacity = workers}, policy.host, log{string_sink{&text}, policy.host}};
  for (std::uint32_t w = 0; w < workers; ++w) EXPECT_EQ(host.join({w, 0}, now, w, sink{let_go}), errc::ok);
  for (int call = 0; call < 400; ++call) {
    const auto w = static_cast<std::uint32_t>(std::min_element(due.begin(), due.end()) - due.begin());
    if (due[w] == no_limit) break;
    now = std::exchange(due[w], no_limit);
    if (call == 300 && workers > 2) {
      EXPECT_EQ(host.depart({w, 0}, now, cause::death, sink{let_go}), errc::ok);
      continue;
    }
    const push_event event{.worker = {w, 0}, .now = now, .loss = static_cast<float>(2.0 * random.uniform())};
    EXPECT_EQ(host.push(event, w, sink{let_go}), errc::ok);
  }
  return text;
}

/// Asks the device's body for what a log says was asked, and compares what it did with the lines that follow.
class replay {
 public:
  replay(const test::policy_pair& policy, std::uint32_t workers) {
    controller_state<capacity> fresh;
    fresh.policy = policy.device;
    fresh.workers = workers;
    body_.reset(fresh);
  }

  void line(const nlohmann::json& l) {
    if (!l.contains("what")) return;
    const std::string what = l["what"];
    if (what == "join") return void(++joined_);
    if (joined_ == body_.state().workers && !body_.state().started)
      ask({.what = request::kind::start, .now = l["now"]});
    if (what == "admit") {
      const float loss = l["loss"].is_null() ? std::numeric_limits<float>::quiet_NaN() : l["loss"].get<float>();
      ask({.worker = l["worker"], .now = l["now"], .loss = loss});
      EXPECT_EQ(std::string{name(said_.what)}, l["verdict"]);
      EXPECT_EQ(said_.staleness, l["staleness"]);
      EXPECT_EQ(std::string{name(said_.why)}, said_.what == verdict::drop ? l["because"] : "none");
      ++pushes;
    } else if (what == "depart") {
      ask({.what = request::kind::depart, .why = cause::death, .worker = l["worker"], .now = l["now"]});
    } else if (what == "release") {
      ASSERT_LT(released_, said_.released);
      const std::uint32_t w = said_.release[released_++];
      EXPECT_EQ(w, l["worker"]);
      EXPECT_EQ(body_.state().clock[w], l["clock"]);
      EXPECT_EQ(body_.state().lr_scale[w], l["lr_scale"].get<float>());
      EXPECT_EQ(body_.state().granted_version[w], l["version"]);
    } else if (what == "flush") {
      EXPECT_TRUE(std::exchange(said_.flushes, false));
      EXPECT_EQ(said_.adds, l["count"]);
      EXPECT_EQ(said_.flush_scale, l["scale"].get<float>());
    } else if (what == "cancel") {
      ++cancelled_;
    } else {
      EXPECT_TRUE(what == "commit" || what == "adjust" || what == "abandon") << what;
    }
  }
  void end() {
    EXPECT_EQ(released_, said_.released);
    EXPECT_EQ(cancelled_, said_.cancelled);
    EXPECT_FALSE(said_.flushes);
  }

  std::uint32_t pushes = 0;

 private:
  void ask(const request& what) {
    end();
    said_ = body_.decide(what, nullptr);
    released_ = cancelled_ = 0;
  }

  test::body_on_host<capacity> body_;
  decision_record<capacity> said_;
  std::uint32_t joined_ = 0, released_ = 0, cancelled_ = 0;
};

TEST(CudaController, DecidesAsARecordedLog) {
  for (const std::uint32_t workers : {1U, 4U, 9U}) {
    const test::some_q_network q{workers};
    for (const test::policy_pair& policy : all_policies(workers, q)) {
      SCOPED_TRACE(policy.name + ", workers " + std::to_string(workers));
      std::istringstream log{recorded(policy, workers, workers)};
      replay again{policy, workers};
      for (std::string line; std::getline(log, line);) {
        again.line(nlohmann::json::parse(line));
        if (::testing::Test::HasFailure()) FAIL() << line;
      }
      again.end();
      EXPECT_GT(again.pushes, 300u);
    }
  }
}

TEST(CudaController, RefusesAsTheHost) {
  test::body_on_host<4> body;
  controller_state<4> fresh;
  fresh.workers = 3;
  body.reset(fresh);
  EXPECT_EQ(body.decide({.worker = 0}, nullptr).why, reason::unknown_worker);  // nobody has joined
  EXPECT_EQ(body.decide({.what = request::kind::start, .worker = 3}, nullptr).what, verdict::refused);
  EXPECT_EQ(body.decide({.what = request::kind::start, .worker = 1}, nullptr).released, 2u);
  EXPECT_EQ(body.decide({.what = request::kind::start}, nullptr).what, verdict::refused);  // for the second time
  EXPECT_EQ(body.decide({.worker = 3}, nullptr).why, reason::unknown_worker);
  EXPECT_EQ(body.decide({.worker = 2}, nullptr).why, reason::unknown_worker);
  EXPECT_EQ(body.decide({.what = request::kind::join, .worker = 2, .now = 1.0}, nullptr).release[0], 2u);
  EXPECT_EQ(body.decide({.what = request::kind::join, .worker = 2, .now = 1.0}, nullptr).what, verdict::repeated);
  EXPECT_EQ(body.decide({.what = request::kind::depart, .why = cause::push, .worker = 2}, nullptr).why,
            reason::invalid_cause);
  const decision_record<4> refused = body.decide({.worker = 0, .now = no_limit}, nullptr);
  EXPECT_EQ(refused.what, verdict::refused);
  EXPECT_EQ(refused.why, reason::invalid_time);
  EXPECT_EQ(refused.action, release_action::hold);
  EXPECT_EQ(body.state().counted[static_cast<std::size_t>(reason::invalid_time)], 1u);
  EXPECT_EQ(body.state().clock[0], 0u);
  EXPECT_EQ(body.decide({.worker = 0, .now = 0.5}, nullptr).what, verdict::apply);  // time stays at 1
  EXPECT_EQ(body.state().now, 1.0);
  EXPECT_EQ(body.state().counted[static_cast<std::size_t>(reason::time_clamped)], 1u);
}

TEST(CudaController, AnyNumberOfLanesDecidesTheSame) {
  const test::some_q_network q{7};
  controller_state<8> fresh;
  fresh.policy = q.pair<rlp_state>("learned", true, 2.5).device;
  std::vector<request> asked{{.what = request::kind::start}};
  random_sequence random{7};
  for (std::uint32_t n = 1; n < 60; ++n)
    asked.push_back({.worker = static_cast<std::uint32_t>(random.below(8)),
                     .now = 0.25 * n,
                     .loss = 0.1F * static_cast<float>(n % 9)});
  std::vector<decision_record<8>> expected(asked.size());
  controller_state<8> alone = fresh;
  decide_workspace<> space{};
  for (std::size_t n = 0; n < asked.size(); ++n) decide(alone, asked[n], one_lane{}, space, expected[n]);

  for (const unsigned count : {2u, 5u, 32u}) {
    controller_state<8> far = fresh, near;
    std::vector<decision_record<8>> found(asked.size());
    test::on_lanes(count, [&](const auto& lanes) {
      for (std::size_t n = 0; n < asked.size(); ++n) {
        copy_over_lanes(lanes, far, near);
        decide(near, asked[n], lanes, space, found[n]);
        copy_over_lanes(lanes, near, far);
      }
    });
    for (std::size_t n = 0; n < asked.size(); ++n) {
      EXPECT_EQ(found[n].what, expected[n].what);
      EXPECT_EQ(found[n].action, expected[n].action);
      EXPECT_EQ(std::vector(found[n].release, found[n].release + found[n].released),
                std::vector(expected[n].release, expected[n].release + expected[n].released));
    }
    EXPECT_EQ(std::vector(far.clock, far.clock + 8), std::vector(alone.clock, alone.clock + 8));
    EXPECT_EQ(far.version, alone.version);
  }
}

TEST(CudaController, TellsNanosecondsApart) {
  controller_state<2> state;
  constexpr std::uint64_t first = 1'790'000'000'123'456'789;  // since 1970
  EXPECT_EQ(seconds_at(state, first), 0.0);
  EXPECT_EQ(seconds_at(state, first + 1), 1e-9);
  EXPECT_EQ(seconds_at(state, first + 101), 1e-9 * 101.0);  // 238 ns are one number of seconds since 1970
  EXPECT_EQ(seconds_at(state, first - 1), -1e-9);           // should the clock step back
  EXPECT_EQ(seconds_at(state, first + 3'600'000'000'001), 1e-9 * 3'600'000'000'001.0);
}

TEST(CudaController, SaysWhatIsWrongWithAPolicy) {
  const float number = 0;
  using policy = device_policy<>;
  for (const policy& good : {policy::bsp(), policy::ssp(0), policy::asp(), policy::k_sync(4), policy::knee(),
                             policy::learned({&number, {}, {}})})
    EXPECT_EQ(problem(good, 4), "");
  EXPECT_EQ(problem(policy::k_sync(5), 4), "k is 5, expected 1 to the number of workers, 4");
  EXPECT_EQ(problem(policy::k_sync(0), 4), "k is 0, expected 1 to the number of workers, 4");
  EXPECT_EQ(problem(policy::learned({}), 4), "values.parameters is null, expected those of a network");
  policy bad = policy::learned({&number, {}, {}});
  bad.max_idle = 0;
  EXPECT_EQ(problem(bad, 4), "max_idle: expected a number of steps above 0");
  bad = policy::knee();
  bad.threshold = 1.0F;
  EXPECT_EQ(problem(bad, 4), "threshold is 1, expected a number between 0 and 1");
  bad.kind = static_cast<rule>(17);
  EXPECT_EQ(problem(bad, 4), "kind is 17, expected a rule");
}

TEST(CudaController, WordsOfARecord) {
  decision_record<5> record;
  const auto* const begin = reinterpret_cast<const unsigned char*>(&record);
  const auto words_before = [&](const std::uint32_t* at) {
    return static_cast<std::size_t>(reinterpret_cast<const unsigned char*>(at) - begin) / 4;
  };
  record.released = 2;
  EXPECT_EQ(words_of(record), words_before(record.release + 2));
  record.cancelled = 3;
  EXPECT_EQ(words_of(record), words_before(record.cancel + 3));
  record.cancelled = 5;
  EXPECT_EQ(words_of(record), sizeof record / 4);
}

TEST(CudaController, StatisticsScaleAsTheHostsDo) {
  const test::some_q_network q{3};
  device_policy<> policy = device_policy<>::learned(q.view());
  policy.statistics = q.statistics;
  for (std::uint64_t n = 0; n < 20; ++n) {
    std::vector<float> row = test::numbers(40, n);
    if (n == 19) row[0] = std::numeric_limits<float>::quiet_NaN(), row[1] = 1e30F, row[2] = -1e30F;
    detail::learned_memory memory;
    std::copy(row.begin(), row.end(), memory.numbers);
    q.scale.apply(std::span<float, 40>{row.data(), 40});
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(detail::input(memory, policy, 1, i), row[i]);
  }
}

}  // namespace
}  // namespace controller_tests
}  // namespace rubato::cuda
