#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <rubato/sync/extras/gate.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <vector>

namespace rubato {
namespace {

struct late_release {  // nobody goes at once
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    return what.why == cause::deadline ? decision::all() : decision::hold().with_wake_at(what.now + 0.01);
  }
};

TEST(Gate, ALimitThatIsFarAwayHidesNoDeadline) {
  gate<late_release> gate{{.capacity = 1, .guard = {.enabled = false}}, {}};
  ASSERT_EQ(gate.join({0, 0}), errc::ok);
  EXPECT_TRUE(gate.wait_for({0, 0}, std::chrono::hours{24}));
}

struct cancelling {
  std::vector<std::uint32_t> cancelled{};
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
  void cancel(worker_id who) { cancelled.push_back(who.index); }
};

TEST(Gate, TheHostIsToldWhomToCancel) {
  gate<k_sync, cancelling> gate{{.capacity = 2}, {.k = 1}};
  for (const std::uint32_t w : {0u, 1u}) ASSERT_EQ(gate.join({w, 0}), errc::ok);
  EXPECT_EQ(gate.commit(gate.admit({.worker = {0, 0}}).work), errc::ok);
  EXPECT_EQ(gate.host().cancelled, std::vector{1u});
}

}  // namespace
}  // namespace rubato
