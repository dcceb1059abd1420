// As in a real server: one thread of the customer handles requests, workers wait for answers, a timer polls and
// switches.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bench.hpp"

namespace rubato::test {
namespace {

using std::chrono::seconds;
constexpr int callers = 6;
constexpr int calls = 300;

// A queue between threads; what is taken from it comes within a deadline, or the test has failed.
template <class Item>
class channel {
 public:
  void put(Item item) {
    const std::lock_guard lock{mutex_};
    items_.push_back(std::move(item));
    arrival_.notify_one();
  }
  std::optional<Item> take() {
    std::unique_lock lock{mutex_};
    if (!arrival_.wait_for(lock, seconds{30}, [&] { return !items_.empty(); })) return std::nullopt;
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrival_;
  std::deque<Item> items_;
};

struct letter {
  ps::KVMeta meta;
  kv_pairs data;
};

struct cluster {
  sums store;
  ps::KVServer<double> server{0};
  ps_lite::request_handler<ps::KVServer<double>, sums> sync;
  channel<std::optional<letter>> requests;
  std::array<channel<letter>, callers> answers;
  std::atomic<std::uint64_t> pushed = 0;
  std::thread customer;

  cluster(const ps_lite::handler_options& o, any_policy policy) : sync{o, std::move(policy), store} {
    server.set_request_handle(std::ref(sync));
    server.sent = [this](const ps::KVMeta& to, const kv_pairs& values) {
      answers[static_cast<std::size_t>((to.sender - 9) / 2)].put({to, values});
    };
    customer = std::thread{[this] {
      while (const auto item = requests.take()) {
        if (!*item) return;
        if ((*item)->meta.cmd == 1) {  // as a handler around the adapter does it
          EXPECT_EQ(sync.depart({(*item)->meta.sender, 0}, cause::done), errc::ok);
          server.Response((*item)->meta);
        } else {
          server.Process((*item)->meta, (*item)->data);
        }
      }
      ADD_FAILURE() << "nothing came for half a minute";
    }};
  }
  ~cluster() {
    requests.put(std::nullopt);
    customer.join();
  }

  // False if the answer is not the one to this request, or does not come.
  bool ask(int rank, int timestamp, int cmd, bool push, bool pull) {
    requests.put(letter{{cmd, push, pull, server_bench::node(rank), timestamp, 0},
                        push ? server_bench::of(1.0) : server_bench::key()});
    const auto answer = answers[static_cast<std::size_t>(rank)].take();
    return answer && answer->meta.timestamp == timestamp && answer->meta.push == push;
  }
  void work(int rank, int count) {
    int timestamp = 0;
    if (!ask(rank, timestamp++, 0, false, true)) return ADD_FAILURE() << "worker " << rank << " did not start";
    for (int i = 0; i < count; ++i) {
      if (!ask(rank, timestamp++, 0, true, false)) return ADD_FAILURE() << "worker " << rank << ", step " << i;
      ++pushed;
      if (!ask(rank, timestamp++, 0, false, true)) return ADD_FAILURE() << "worker " << rank << ", pull " << i;
    }
    EXPECT_TRUE(ask(rank, timestamp, 1, true, false));
  }
};

TEST(PsLiteThreads, AJobEndsWithExactSumsWhileRulesChange) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    cluster c{{.capacity = callers, .park = park}, ssp{.staleness = 2}};
    std::vector<std::thread> all;
    std::atomic<int> left = callers;
    for (int w = 0; w < callers; ++w) all.emplace_back([&c, &left, w] { c.work(w, calls), --left; });
    std::thread timer{[&] {
      for (std::uint32_t i = 0; left > 0; ++i) {
        c.sync.poll();
        EXPECT_EQ(c.sync.switch_to(i % 2 == 0 ? any_policy{asp{}} : any_policy{ssp{.staleness = i % 3}}), errc::ok);
        EXPECT_FALSE(c.sync.describe().empty());
        std::this_thread::yield();
      }
    }};
    for (std::thread& t : all) t.join();
    timer.join();
    EXPECT_EQ(c.pushed, callers * calls);
    EXPECT_EQ(c.store.values[0], callers * calls);
    const auto n = c.sync.counts();
    EXPECT_EQ(n.requests, n.answers);
  }
}

TEST(PsLiteThreads, ADeathInTheMiddleFreesTheOthers) {
  cluster c{{.capacity = callers}, bsp{.aggregate = bsp::sum}};
  std::vector<std::thread> all;
  for (int w = 0; w < callers - 1; ++w) all.emplace_back([&c, w] { c.work(w, calls); });
  std::thread mortal{[&c] {
    bool alive = c.ask(callers - 1, 0, 0, false, true);
    for (int i = 1; alive && i <= 20; ++i) alive = c.ask(callers - 1, i, 0, true, false);
    EXPECT_TRUE(alive);
  }};
  mortal.join();  // its last push was answered: it dies while it computes
  EXPECT_EQ(c.sync.depart_node(server_bench::node(callers - 1), cause::death), errc::ok);
  for (std::thread& t : all) t.join();
  EXPECT_EQ(c.store.values[0], (callers - 1) * calls + 20);
}

}  // namespace
}  // namespace rubato::test
