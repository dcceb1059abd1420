#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/rivals/batched.hpp>
#include <vector>

#include "recorder.hpp"

namespace {

using namespace rubato;
using test::bench;

struct counting {
  int asked = 0;
  decision release(const cluster_view&, const event&) noexcept { return ++asked, decision::all(); }
  void state(archive& bytes) { bytes(asked); }
  static constexpr std::string_view kind = "counting";
};

TEST(AnyPolicy, DecidesAsThePolicyItHolds) {
  bench<ssp> direct{{.staleness = 1}, 3};
  bench<> erased{ssp{.staleness = 1}, 3};
  for (const std::uint32_t w : {0u, 0u, 1u, 2u, 1u, 0u}) EXPECT_EQ(direct.push(w), erased.push(w));
  EXPECT_EQ(erased.sync.policy().clock_bound(), 1u);
  EXPECT_EQ(erased.sync.policy().describe().json, R"({"kind":"ssp","staleness":1})");
}

TEST(AnyPolicy, CopiesAreIndependent) {
  any_policy a{counting{}};
  bench<> b{a, 1};
  b.push(0);
  archive of_original, of_copy;
  a.state(of_original);
  any_policy{b.sync.policy()}.state(of_copy);
  EXPECT_EQ(std::to_integer<int>(of_original.bytes()[0]), 0);
  EXPECT_EQ(std::to_integer<int>(of_copy.bytes()[0]), 2);
}

TEST(AnyPolicy, KindIsThatOfThePolicy) {
  EXPECT_EQ(any_policy{bsp{}}.kind(), "bsp");
  EXPECT_EQ(kind_of(any_policy{counting{}}), "counting");
  EXPECT_EQ(any_policy{counting{}}.describe().json, R"({"kind":"counting"})");
}

TEST(AnyPolicy, ShowsThePolicyItHolds) {
  any_policy held{counting{}};
  ASSERT_NE(held.target<counting>(), nullptr);
  EXPECT_EQ(held.target<ssp>(), nullptr);
  bench<> b{held, 1};
  b.push(0);
  EXPECT_EQ(b.sync.policy().target<counting>()->asked, 2);
  held = ssp{.staleness = 4};
  EXPECT_EQ(held.target<ssp>()->staleness, 4u);
}

struct batches_of_five : any_policy {
  void shape(const cluster_view&, std::uint32_t, grant& terms) noexcept { terms.batch = 5; }
};

TEST(AnyPolicy, ShapesWhereThePolicyDoes) {
  EXPECT_FALSE(shapes_of(counting{}));
  EXPECT_FALSE(shapes_of(any_policy{counting{}}));
  EXPECT_TRUE(shapes_of(any_policy{batched<bsp>{bsp{}, 5}}));
  EXPECT_TRUE(shapes_of(batched<any_policy>{any_policy{counting{}}, 5}));  // what it inherits says no
  EXPECT_FALSE(shapes_of(any_policy{any_policy{counting{}}}));
  EXPECT_TRUE(shapes_of(batches_of_five{counting{}}));
}

struct measuring : counting {
  float latest = 0;
  void measured(std::uint32_t, const step_metrics& step) noexcept { latest = step.compute_time; }
};
struct measuring_anything : any_policy {
  void measured(std::uint32_t, const step_metrics&) noexcept {}
};

TEST(AnyPolicy, MeasuresWhereThePolicyDoes) {
  EXPECT_FALSE(measures_of(counting{}));
  EXPECT_TRUE(measures_of(measuring{}));
  EXPECT_FALSE(measures_of(any_policy{counting{}}));
  EXPECT_TRUE(measures_of(any_policy{any_policy{measuring{}}}));
  EXPECT_FALSE(measures_of(batched<any_policy>{any_policy{counting{}}, 5}));
  EXPECT_TRUE(measures_of(measuring_anything{counting{}}));  // what it inherits says no
}

TEST(AnyPolicy, IsToldWhatWasMeasured) {
  controller<any_policy, int> sync{{.capacity = 1}, measuring{}};
  test::recorder host;
  EXPECT_EQ(sync.measured({0, 0}, {.compute_time = 3}), errc::unknown_worker) << "it has not joined";
  EXPECT_EQ(sync.join({0, 0}, 0, 1, host), errc::ok);
  EXPECT_EQ(sync.measured({0, 0}, {.compute_time = 4}), errc::ok);
  EXPECT_EQ(sync.policy().target<measuring>()->latest, 4);
}

TEST(AnyPolicy, LacksNothingThatAPolicyLacks) {
  EXPECT_EQ(any_policy{counting{}}.clock_bound(), unbounded);
  EXPECT_EQ(any_policy{counting{}}.max_legal_wait(0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(max_legal_wait_of(knee{}, 0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(max_legal_wait_of(bsp{}, 0), 1.0);
}

}  // namespace
