// Two levels of controllers (docs/scaling.md): leaves admit and aggregate, the root sees each leaf as one worker. What
// the page states of clocks and staleness holds under random schedules, is attained, and fails without the rule that
// makes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/sync.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rubato {
namespace {

struct tree_options {
  std::uint32_t leaves = 4, workers = 4;  ///< of each leaf; a power of two, so that means are exact
  any_policy leaf = bsp{};
  any_policy root = ssp{.staleness = 2};
  bool by_minimum = true;  ///< a leaf's round ends when its slowest has finished another step; else when it flushes
  bool held = true;        ///< a leaf that waits at the root starts nobody
  double slow = 0.0;       ///< share of its turns at which worker 0 of leaf 0 stands still; 1: it hangs
  std::uint64_t seed = 0;
};

struct tree_report {
  std::uint64_t starts = 0;
  std::uint64_t lead = 0;              ///< largest, in steps, of a worker that starts over the slowest of all
  std::uint64_t root_staleness = 0;    ///< largest, in updates of the root that a push of a leaf had not seen
  std::uint64_t worker_staleness = 0;  ///< largest, in updates of the root by others between a worker's start and the
                                       ///< push that carries its gradient
  std::uint64_t round_lead = 0;  ///< largest, in rounds, of the leaf of a worker that starts over the slowest leaf
  double applied = 0.0, waiting = 0.0, pushed = 0.0;  ///< gradients at the root, still at leaves, and made
  double dropped = 0.0;
  bool stuck = false;
};

// The host. Each gradient is 1, so sums are counts.
class tree {
 public:
  explicit tree(const tree_options& o)
      : o_{o}, random_{o.seed, 17}, root_{{.capacity = o.leaves}, o.root}, steps_(o.leaves * o.workers) {
    for (std::uint32_t l = 0; l < o.leaves; ++l) {
      leaves_.push_back({.sync = leaf_controller{{.capacity = o.workers}, o.leaf}});
      leaves_[l].sums.resize(2);
    }
    for (std::uint32_t l = 0; l < o.leaves; ++l) check(root_.join({l, 0}, now_, l, root_sink{*this}));
    for (std::uint32_t l = 0; l < o.leaves; ++l)
      for (std::uint32_t w = 0; w < o.workers; ++w) {
        check(leaves_[l].sync.join({w, 0}, now_, w, leaf_sink{*this, l}));
      }
    for (std::uint32_t l = 0; l < o.leaves; ++l) settle(l);
  }

  // A leaf and all its workers are gone: one death at the root.
  void lose(std::uint32_t l) {
    leaves_[l].running.clear();
    check(root_.depart({l, 0}, now_, cause::death, root_sink{*this}));
    for (std::uint32_t w = 0; w < o_.workers; ++w) steps_[l * o_.workers + w].finished = gone;
    leaves_[l].rounds = gone;
    settle_all();
  }

  tree_report run(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      std::vector<std::pair<std::uint32_t, std::uint32_t>> busy;
      for (std::uint32_t l = 0; l < o_.leaves; ++l)
        for (const std::uint32_t w : leaves_[l].running) busy.emplace_back(l, w);
      if (busy.empty()) {
        report_.stuck = true;
        break;
      }
      const auto [l, w] = busy[random_.below(busy.size())];
      if (l == 0 && w == 0 && (busy.size() > 1 || o_.slow == 1.0) && random_.uniform() < o_.slow) continue;
      push(l, w);
    }
    for (const leaf& each : leaves_) report_.waiting += each.carried + each.sums[0] + each.sums[1];
    return report_;
  }

 private:
  static constexpr std::uint64_t gone = std::uint64_t{1} << 40;  // steps and rounds that hold nobody back
  using leaf_controller = controller<any_policy, std::uint32_t>;
  struct step {
    std::uint64_t finished = 0;
    std::uint64_t others = 0;  ///< updates at the root by other leaves that its leaf had seen when the step began
  };
  struct leaf {
    leaf_controller sync;
    std::vector<std::uint32_t> running{};
    std::vector<std::uint32_t> held{};    ///< released here, while the root has not released the leaf
    std::vector<std::uint64_t> aboard{};  ///< what the gradients that it carries had seen of other leaves
    std::vector<double> sums{};           ///< of rounds, even and odd
    double carried = 0.0;                 ///< aggregated, and not at the root yet
    std::uint64_t flushes = 0;
    std::uint64_t rounds = 0;          ///< pushed to the root
    std::uint64_t seen_of_others = 0;  ///< updates at the root by other leaves, at its last grant
    bool waits = true;                 ///< at the root
  };
  struct leaf_sink {
    tree& self;
    std::uint32_t l;
    void release(std::uint32_t w, worker_id, const grant&) const { self.leaves_[l].held.push_back(w); }
    void flush(std::uint64_t round, float scale, std::uint32_t n) const {
      leaf& here = self.leaves_[l];
      // The mean of the round, as many times as it has gradients: the root gets a sum.
      here.carried += std::exchange(here.sums[round % 2], 0.0) * static_cast<double>(scale) * n;
      ++here.flushes;
    }
    void discard(std::uint64_t round, std::uint32_t) const { self.leaves_[l].sums[round % 2] = 0.0; }
  };
  struct root_sink {
    tree& self;
    void release(std::uint32_t l, worker_id, const grant&) const { self.freed_.push_back(l); }
    void flush(std::uint64_t, float, std::uint32_t) const {}
    void discard(std::uint64_t, std::uint32_t) const {}
  };
  static void check(errc code) { EXPECT_EQ(code, errc::ok); }

  void push(std::uint32_t l, std::uint32_t w) {
    leaf& here = leaves_[l];
    here.running.erase(std::find(here.running.begin(), here.running.end(), w));
    step& mine = steps_[l * o_.workers + w];
    const admitted what = here.sync.admit({.worker = {w, 0}, .now = now_ += 1.0, .samples = 1});
    if (what.what.what == verdict::accumulate)
      here.sums[what.round % 2] += 1.0;
    else if (what.what.what == verdict::apply)
      here.carried += 1.0;
    else
      report_.dropped += 1.0;
    report_.pushed += 1.0;
    ++mine.finished;
    here.aboard.push_back(mine.others);
    check(here.sync.commit(what.work, now_, outcome::done, w, leaf_sink{*this, l}));
    settle(l);
  }

  // What the leaf's slowest worker has finished goes to the root, one round at a time; then whoever may start does.
  void settle(std::uint32_t l) {
    freed_.push_back(l);
    settle_all();
  }
  void settle_all() {
    while (!freed_.empty()) {
      const std::uint32_t l = freed_.back();
      freed_.pop_back();
      leaf& here = leaves_[l];
      if (here.waits && root_.workers()[l].state == worker_state::running) granted(here);
      while (!here.waits && (o_.by_minimum ? here.sync.workers().clock().minimum() : here.flushes) > here.rounds)
        carry(l);
      if (here.waits && o_.held) continue;
      for (const std::uint32_t w : std::exchange(here.held, {})) start(l, w);
    }
  }
  void carry(std::uint32_t l) {
    leaf& here = leaves_[l];
    report_.root_staleness = std::max(report_.root_staleness, updates_ - here.rounds - here.seen_of_others);
    for (const std::uint64_t read : std::exchange(here.aboard, {}))
      report_.worker_staleness = std::max(report_.worker_staleness, updates_ - here.rounds - read);
    report_.applied += std::exchange(here.carried, 0.0);
    ++here.rounds, ++updates_;
    here.waits = true;
    const admitted what = root_.admit({.worker = {l, 0}, .now = now_, .samples = 1});
    check(root_.commit(what.work, now_, outcome::done, l, root_sink{*this}));
    if (root_.workers()[l].state == worker_state::running) granted(here);
  }
  void granted(leaf& here) const {
    here.waits = false;
    here.seen_of_others = updates_ - here.rounds;
  }
  void start(std::uint32_t l, std::uint32_t w) {
    step& mine = steps_[l * o_.workers + w];
    mine.others = leaves_[l].seen_of_others;
    std::uint64_t slowest = mine.finished;
    for (const step& each : steps_) slowest = std::min(slowest, each.finished);
    report_.lead = std::max(report_.lead, mine.finished - slowest);
    std::uint64_t fewest = leaves_[l].rounds;
    for (const leaf& each : leaves_) fewest = std::min(fewest, each.rounds);
    report_.round_lead = std::max(report_.round_lead, leaves_[l].rounds - fewest);
    ++report_.starts;
    leaves_[l].running.push_back(w);
  }

  tree_options o_;
  random_sequence random_;
  controller<any_policy, std::uint32_t> root_;
  std::vector<leaf> leaves_;
  std::vector<step> steps_;
  std::vector<std::uint32_t> freed_;
  std::uint64_t updates_ = 0;  ///< at the root
  double now_ = 0.0;
  tree_report report_;
};

struct bounds {
  std::uint64_t root, leaf, leaves;
  [[nodiscard]] std::uint64_t lead() const { return root + leaf; }
  [[nodiscard]] std::uint64_t root_staleness() const { return (2 * root + 1) * (leaves - 1); }
  [[nodiscard]] std::uint64_t worker_staleness() const { return (2 * root + leaf + 1) * (leaves - 1); }
};

tree_report worst(tree_options o, int schedules = 60) {
  tree_report most;
  for (int i = 0; i < schedules; ++i) {
    o.seed = static_cast<std::uint64_t>(i);
    o.slow = i % 3 == 0 ? 0.0 : i % 3 == 1 ? 0.9 : 0.997;
    const tree_report r = tree{o}.run(3'000);
    EXPECT_FALSE(r.stuck) << "seed " << i << ": nobody runs";
    EXPECT_EQ(r.applied + r.waiting + r.dropped, r.pushed) << "seed " << i;
    EXPECT_GT(r.starts, 500u);
    most.lead = std::max(most.lead, r.lead);
    most.round_lead = std::max(most.round_lead, r.round_lead);
    most.dropped += r.dropped;
    most.root_staleness = std::max(most.root_staleness, r.root_staleness);
    most.worker_staleness = std::max(most.worker_staleness, r.worker_staleness);
  }
  return most;
}

TEST(TwoLevels, SspOfBspLeavesHasTheBoundOfTheRoot) {
  for (const std::uint64_t s : {0u, 1u, 3u}) {
    const bounds stated{.root = s, .leaf = 0, .leaves = 4};
    const tree_report r = worst({.leaf = bsp{}, .root = ssp{.staleness = s}});
    EXPECT_EQ(r.lead, stated.lead()) << "s " << s;
    EXPECT_LE(r.root_staleness, stated.root_staleness()) << "s " << s;
    EXPECT_LE(r.worker_staleness, stated.worker_staleness()) << "s " << s;
  }
}

TEST(TwoLevels, SspOfSspLeavesHasTheSumOfBothBounds) {
  for (const std::uint64_t root : {0u, 2u})
    for (const std::uint64_t leaf : {0u, 1u, 3u}) {
      const bounds stated{.root = root, .leaf = leaf, .leaves = 4};
      const tree_report r = worst({.leaf = ssp{.staleness = leaf}, .root = ssp{.staleness = root}});
      EXPECT_EQ(r.lead, stated.lead()) << "root " << root << ", leaf " << leaf;
      EXPECT_LE(r.root_staleness, stated.root_staleness());
      EXPECT_LE(r.worker_staleness, stated.worker_staleness()) << "root " << root << ", leaf " << leaf;
    }
}

TEST(TwoLevels, RoundsOfKSyncLeavesAreBoundedAndStepsAreNot) {
  const tree_report r = worst({.leaf = k_sync{.k = 2}, .root = ssp{.staleness = 2}, .by_minimum = false});
  EXPECT_EQ(r.round_lead, 2u);
  EXPECT_LE(r.root_staleness, (bounds{.root = 2, .leaf = 0, .leaves = 4}).root_staleness());
  EXPECT_GT(r.lead, 20u) << "a leaf goes on without its slowest worker";
  EXPECT_GT(r.dropped, 0.0);
}

TEST(TwoLevels, ALostLeafHoldsNobodyBack) {
  for (const any_policy& root : {any_policy{bsp{}}, any_policy{ssp{.staleness = 2}}}) {
    tree t{{.leaf = bsp{}, .root = root, .slow = 1.0}};
    const tree_report before = t.run(3'000);
    EXPECT_LT(before.starts, 100u) << "a worker of leaf 0 hangs, and all wait for it";
    t.lose(0);
    const tree_report after = t.run(3'000);
    EXPECT_FALSE(after.stuck);
    EXPECT_GT(after.starts, before.starts + 2'500u);
  }
}

TEST(TwoLevels, BspOfBspIsBsp) {
  const tree_report r = worst({.leaf = bsp{}, .root = bsp{}});
  EXPECT_EQ(r.lead, 0u);
}

TEST(TwoLevels, ALeafThatDoesNotWaitForTheRootBreaksTheBound) {
  for (const any_policy& leaf : {any_policy{bsp{}}, any_policy{ssp{.staleness = 1}}})
    EXPECT_GT(worst({.leaf = leaf, .root = ssp{.staleness = 2}, .held = false}).lead, 20u);
}

TEST(TwoLevels, TheBoundsOfStalenessAreAttained) {
  const tree_report of_bsp = worst({.leaves = 2, .workers = 2, .leaf = bsp{}, .root = ssp{.staleness = 2}}, 200);
  EXPECT_EQ(of_bsp.root_staleness, (bounds{.root = 2, .leaf = 0, .leaves = 2}).root_staleness());
  EXPECT_EQ(of_bsp.worker_staleness, (bounds{.root = 2, .leaf = 0, .leaves = 2}).worker_staleness());
  const tree_report of_ssp =
      worst({.leaves = 2, .workers = 2, .leaf = ssp{.staleness = 1}, .root = ssp{.staleness = 1}}, 200);
  EXPECT_EQ(of_ssp.worker_staleness, (bounds{.root = 1, .leaf = 1, .leaves = 2}).worker_staleness());
}

}  // namespace
}  // namespace rubato
