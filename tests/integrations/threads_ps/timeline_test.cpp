// The timeline of a run of real threads is one that an importer takes as it is.
#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/io/chrome_trace.hpp>
#include <rubato/rubato.hpp>
#include <rubato/threads_ps/server.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../../support/crew.hpp"
#include "../../support/trace_check.hpp"

namespace rubato::threads_ps {
namespace {

TEST(Timeline, OfRealThreadsIsWhole) {
  constexpr std::uint32_t workers = 4;
  constexpr int steps = 50;
  for (const any_policy& policy : {any_policy{bsp{}}, any_policy{ssp{.staleness = 1}}, any_policy{knee{}}}) {
    SCOPED_TRACE(policy.describe().line);
    using timed = server<any_policy, sgd, chrome_trace>;
    const std::vector<float> initial(64);
    timed ps{{.sync = {.capacity = workers}, .shards = 2}, initial, policy, sgd{}, chrome_trace{{.workers = workers}}};
    {
      test::crew threads;
      for (std::uint32_t w = 0; w < workers; ++w)
        threads.start([&, w] {
          auto me = ps.join({w});
          ASSERT_TRUE(me);
          std::vector<float> parameters(64), gradient(64, 0.25F);
          for (int n = 0; n < steps && (*me)->here(); ++n) {
            (*me)->pull(parameters);
            static_cast<void>((*me)->push(gradient));
          }
          static_cast<void>((*me)->finish());
        });
    }
    std::string text;
    ps.inspect([&](auto&, auto& seen) {
      const auto sink = [&](std::string_view bytes) noexcept { text += bytes; };
      auto to = sink;
      seen.write(to);
    });
    const test::read_trace seen = test::check_trace(text, workers);
    for (int thread = 1; thread <= static_cast<int>(workers); ++thread) {
      EXPECT_GE(seen.of(thread, "compute").size(), std::size_t{steps});
      EXPECT_EQ(seen.of(thread, "apply").size(), std::size_t{steps});
    }
    EXPECT_EQ(seen.arrows.size(), std::size_t{workers * steps});
    EXPECT_EQ(seen.names.at(workers + 1), "policy");
    EXPECT_FALSE(seen.marks.at(workers + 1).empty()) << "the policy's answers";
    EXPECT_EQ(seen.other.at("events_dropped"), 0);
  }
}

}  // namespace
}  // namespace rubato::threads_ps
