// How a conversation ends while its worker waits.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <rubato/sync/bsp.hpp>
#include <thread>
#include <vector>

#include "harness.hpp"

namespace gloo_ps_goodbye_test {
namespace {

namespace ps = rubato::gloo_ps;
using rubato::test::eventually;

// Makes departures take a moment: who waits hears of them, and looks around, before the call that caused them is over.
struct leisurely {
  void operator()(const rubato::record& r) noexcept {
    if (r.what == rubato::record::kind::depart) std::this_thread::sleep_for(std::chrono::milliseconds{30});
  }
};

TEST(Goodbye, WhoWaitsWhenTheJobEndsIsTold) {
  rubato::test::watched_loopback_host<leisurely> host{
      {.job = {.job = 9, .model = {2, 1}, .workers = 2, .limits = {.floor = 5, .ceiling = 5, .hello = 0.5}}},
      {"bsp", rubato::bsp{}}};
  ps::worker waits{ps::worker_options{.job = 9, .id = {0, 0}, .model = {2, 1}, .give_up = 2},
                   [&host](rubato::worker_id, ps::steady::time_point) { return std::optional{host.connect()}; }};
  std::thread other{[&host] {
    ASSERT_TRUE(eventually([&] { return host.ps.connected() == 1; }));
    host.ps.close();
  }};
  std::vector<float> parameters(2);
  const auto step = waits.begin(parameters);  // the quorum is two
  other.join();
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_FALSE(*step);
  EXPECT_EQ(waits.farewell(), "the job has ended");
  waits.leave();
  EXPECT_TRUE(eventually([&] { return host.ps.ends(ps::session_end::closed) == 1; }));
  EXPECT_EQ(host.ps.ends(ps::session_end::died), 0U);
}

}  // namespace
}  // namespace gloo_ps_goodbye_test
