// Random workers that push twice, read in between, die, come back and are sent twice by the network: every request is
// answered once, but for those of the dead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <rubato/core/rng.hpp>
#include <string>
#include <vector>

#include "../../support/all_policies.hpp"
#include "../../support/scaled.hpp"
#include "bench.hpp"

namespace rubato::test {
namespace {

struct sent {
  server_bench::request request;
  bool push, pull;
};

class EveryRequest : public ::testing::TestWithParam<named_policy> {};
INSTANTIATE_TEST_SUITE_P(PsLite, EveryRequest, ::testing::ValuesIn(all_policies()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(EveryRequest, IsAnsweredOnce) {
  constexpr int ranks = 6;
  for (std::uint64_t seed = 0; seed < scaled(8); ++seed) {
    random_sequence random{seed, 3};
    const ps_lite::handler_options options{.capacity = ranks,
                                           .quorum = 1 + static_cast<std::uint32_t>(random.below(ranks)),
                                           .park = seed % 2 == 0 ? park_on::push : park_on::pull,
                                           .pushes_per_step = 1 + static_cast<std::uint32_t>(seed / 2 % 2)};
    server_bench b{options, GetParam().policy};
    std::vector<std::optional<sent>> last(ranks);
    std::uint64_t requests = 0, of_the_dead = 0;
    const auto speak = [&](int w, bool push, bool pull) {
      last[static_cast<std::size_t>(w)] = sent{b.send(w, push, pull, push ? b.of(1.0) : b.key()), push, pull};
      ++requests;
    };
    const auto check = [&] {
      for (const auto& [request, times] : b.answers) EXPECT_LE(times, 1) << "timestamp " << request[2];
    };
    const auto forget = [&](int w) {  // the answers that the dead did not get
      std::erase_if(b.answers, [&](const auto& a) { return a.first[0] == b.node(w); });
      b.restart(w);
      last[static_cast<std::size_t>(w)].reset();
    };
    for (int turn = 0; turn < 600; ++turn) {
      b.time += 0.1;
      const int w = static_cast<int>(random.below(ranks));
      auto& mine = last[static_cast<std::size_t>(w)];
      const bool waits = mine && !b.answered(mine->request);
      const double what = random.uniform();
      if (what < 0.02) {
        const std::uint64_t before = b.sync.counts().unanswered;
        check();  // before: what was repeated last is answered now, as it may be of a successor
        static_cast<void>(b.sync.depart(b.name(w), cause::death));
        of_the_dead += b.sync.counts().unanswered - before;
        forget(w);
      } else if (what < 0.03) {
        if (b.sync.depart(b.name(w), cause::done) != errc::ok) continue;
        EXPECT_TRUE(!mine || b.answered(mine->request));
        check();
        forget(w);
      } else if (what < 0.04) {
        EXPECT_EQ(b.sync.switch_to(GetParam().policy,
                                   random.uniform() < 0.5 ? pending_gradients::flush : pending_gradients::discard),
                  errc::ok);
      } else if (what < 0.14 && mine) {
        b.resend(mine->request, mine->push, mine->pull, mine->push ? b.of(1.0) : b.key());
        ++requests;
      } else if (what < 0.2) {
        b.sync.poll();
      } else if (!waits || what < 0.25) {
        const std::uint64_t kind = random.below(3);
        speak(w, kind != 0, kind != 1);
      }
    }
    const auto answered_so_far = b.sync.counts().answers;
    b.sync.close();
    const ps_lite::handler_counts n = b.sync.counts();
    EXPECT_EQ(n.requests, requests);
    EXPECT_EQ(n.unanswered, of_the_dead);
    EXPECT_EQ(n.requests, n.answers + n.duplicates + n.unanswered) << "seed " << seed;
    EXPECT_GT(answered_so_far, n.requests / 4);
    EXPECT_GT(n.duplicates, 0u);
    for (const auto& [request, times] : b.answers)
      EXPECT_EQ(times, 1) << "timestamp " << request[2] << ", seed " << seed;
  }
}

// Where nobody goes, however old a request is that the network repeats.
TEST_P(EveryRequest, IsAnsweredOnceHoweverLateItIsRepeated) {
  constexpr int ranks = 6;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    random_sequence random{seed, 5};
    server_bench b{{.capacity = ranks, .park = seed % 2 == 0 ? park_on::push : park_on::pull}, GetParam().policy};
    std::vector<std::vector<sent>> all(ranks);
    std::uint64_t requests = 0, repeats = 0, most_below = 0;
    for (int turn = 0; turn < 4'000; ++turn) {
      b.time += 0.1;
      const int w = static_cast<int>(random.below(ranks));
      auto& mine = all[static_cast<std::size_t>(w)];
      const bool waits = !mine.empty() && !b.answered(mine.back().request);
      if (!mine.empty() && random.uniform() < 0.1) {
        const std::uint64_t below = random.below(mine.size());
        const sent& old = mine[mine.size() - 1 - below];
        b.resend(old.request, old.push, old.pull, old.push ? b.of(1.0) : b.key());
        most_below = std::max(most_below, below);
        ++requests, ++repeats;
      } else if (!waits || random.uniform() < 0.05) {
        const std::uint64_t kind = random.below(3);
        const bool push = kind != 0, pull = kind != 1;
        mine.push_back({b.send(w, push, pull, push ? b.of(1.0) : b.key()), push, pull});
        ++requests;
      } else {
        b.sync.poll();
      }
    }
    for (std::uint32_t w = 0; w < ranks; ++w)
      EXPECT_EQ(b.sync.inspect([&](const auto& c) { return c.workers().id(w).incarnation; }), 0u);
    b.sync.close();
    const ps_lite::handler_counts n = b.sync.counts();
    EXPECT_EQ(n.requests, requests);
    EXPECT_EQ(n.answers, requests - repeats);
    EXPECT_EQ(n.duplicates, repeats);
    EXPECT_GT(most_below, 64u) << "else this tests nothing";
    for (const auto& sent_by_one : all)
      for (const sent& s : sent_by_one) EXPECT_EQ(b.answers[s.request], 1) << "timestamp " << s.request[2];
  }
}

// Where nobody goes, each gradient is in, or was counted as pushed by a worker that waits.
TEST(PsLiteGradients, AreInOrCounted) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      random_sequence random{seed, 4};
      server_bench b{{.capacity = 4, .park = park}, ssp{.staleness = seed % 4}};
      std::uint64_t pushes = 0;
      for (int turn = 0; turn < 500; ++turn) {
        const int w = static_cast<int>(random.below(4));
        const std::uint64_t kind = random.below(3);
        b.send(w, kind != 0, kind != 1, kind != 0 ? b.of(1.0) : b.key());
        pushes += kind != 0;
      }
      const auto version = b.sync.inspect([](const auto& c) { return c.version(); });
      EXPECT_EQ(b.store.values[0], static_cast<double>(version));
      EXPECT_EQ(version + b.count(reason::repeated), pushes);
      EXPECT_GT(version, 30u);
    }
  }
}

}  // namespace
}  // namespace rubato::test
