#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <latch>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <rubato/gloo_ps/open_files.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/ssp.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../support/folder_test.hpp"
#include "harness.hpp"

namespace gloo_ps_many_workers_test {
namespace {

namespace ps = rubato::gloo_ps;

class ManyWorkers : public rubato::test::folder_test {
 protected:
  void SetUp() override {
    folder_test::SetUp();
    std::signal(SIGPIPE, SIG_IGN);
  }
  std::shared_ptr<gloo::rendezvous::Store> store() {
    const auto opened = ps::open_store("file:" + folder.string());
    EXPECT_TRUE(opened) << opened.error().message;
    return *opened;
  }
};

// All of them come at once, over real links, push under a rule that makes them wait for each other, and leave.
TEST_F(ManyWorkers, AHundredJoinPushAndLeaveWithExactSums) {
  constexpr std::uint32_t workers = 100, steps = 10, parameters = 64;
  auto device = ps::gloo_device::open("127.0.0.1");
  ASSERT_TRUE(device) << device.error().message;
  ps::server<> server{{.job = {.job = 5,
                               .model = {parameters, 2},
                               .workers = workers,
                               .nominal_samples = 1,
                               .rule = rubato::threads_ps::sgd{{.learning_rate = 1}},
                               .limits = {.floor = 30, .ceiling = 60, .hello = 30}}},
                      {"ssp:1", rubato::ssp{.staleness = 1}},
                      std::vector<float>(parameters)};
  auto doors = ps::gloo_doors::open(*device, store(), 5, 30);
  ASSERT_TRUE(doors);
  std::atomic<std::uint32_t> pushed = 0, running = workers;
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      ps::worker self{ps::worker_options{.job = 5, .id = {w, 0}, .model = {parameters, 2}, .reply_limit = 30},
                      ps::gloo_connector{*device, store(), 5, 30}};
      std::vector<float> values(parameters), gradient(parameters);
      gradient[w % parameters] = 1;
      for (std::uint32_t i = 0; i < steps; ++i) {
        const auto step = self.begin(values);
        if (!step || !*step || !self.push(gradient, 1, 0)) break;
        ++pushed;
      }
      static_cast<void>(self.begin(values));  // the last push is in once its grant has come
      self.leave();
      --running;
    });
  std::vector<std::thread> sessions;
  for (const auto until = ps::after(60); running > 0 && ps::steady::now() < until;)
    if (auto knock = doors->accept(ps::after(0.02)))
      sessions.emplace_back([&server, k = std::move(*knock)]() mutable {
        if (auto link = std::move(k).finish()) server.serve(*link);
      });
  if (running > 0) server.close();
  for (std::thread& t : threads) t.join();
  for (std::thread& t : sessions) t.join();
  EXPECT_EQ(pushed, workers * steps);
  EXPECT_EQ(server.ends(ps::session_end::done), workers);
  EXPECT_EQ(server.decide().version(), workers * steps);
  std::vector<float> sums(parameters);
  for (std::uint32_t w = 0; w < workers; ++w) sums[w % parameters] -= steps;
  EXPECT_EQ(server.parameters(), sums);
}

TEST_F(ManyWorkers, KeysAreWrittenOnce) {
  constexpr std::size_t writers = 8, keys = 50;
  std::vector<std::atomic<int>> written(keys);
  std::vector<std::atomic<std::size_t>> by(keys);
  std::latch go{writers};
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < writers; ++w)
    threads.emplace_back([&, mine = store(), w] {
      go.arrive_and_wait();
      for (std::size_t k = 0; k < keys; ++k) try {
          mine->set("key" + std::to_string(k), std::vector<char>(20 + w, static_cast<char>('a' + w)));
          ++written[k], by[k] = w;
        } catch (const std::exception&) {  // somebody else was first
        }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t k = 0; k < keys; ++k) {
    EXPECT_EQ(written[k], 1) << k;
    EXPECT_EQ(store()->get("key" + std::to_string(k)), std::vector<char>(20 + by[k], static_cast<char>('a' + by[k])));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder}, {}), std::ptrdiff_t{keys})
      << "something else is left in the folder";
}

// A store that keeps what it has in memory and counts how often it is asked.
struct counting_store final : gloo::rendezvous::Store {
  void set(const std::string& key, const std::vector<char>&) override { keys.insert(key); }
  std::vector<char> get(const std::string&) override { return {'x'}; }
  void wait(const std::vector<std::string>& of) override { wait(of, std::chrono::milliseconds{1}); }
  void wait(const std::vector<std::string>& of, const std::chrono::milliseconds&) override {
    ++asked;
    if (!keys.contains(of.front())) throw gloo::IoException("not there");
  }
  std::set<std::string> keys;
  int asked = 0;
};

TEST_F(ManyWorkers, FirstFreeKeyIsFound) {
  const auto key = [](std::uint64_t n) { return "knock/" + std::to_string(n); };
  for (const std::uint64_t taken : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 100U, 1000U, 1023U, 1024U})
    for (const std::uint64_t from : {std::uint64_t{0}, taken / 2, taken}) {
      const auto counting = std::make_shared<counting_store>();
      ps::detail::board board{counting, 1};
      for (std::uint64_t n = 0; n < taken; ++n) counting->keys.insert("rubato/1/" + key(n));
      EXPECT_EQ(board.first_free(from, key), taken) << "from " << from;
      EXPECT_LE(counting->asked, 22) << taken << " keys from " << from;
    }
}

// The process may open no more files than it has now, until the end of the scope.
struct no_more_files {
  no_more_files() {
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int next = ::dup(0);
    ::close(next);
    rlimit low = before;
    low.rlim_cur = static_cast<rlim_t>(next);
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  ~no_more_files() { ::setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before{};
};

TEST_F(ManyWorkers, TooManyOpenFilesAreTold) {
  auto device = ps::gloo_device::open("127.0.0.1");
  ASSERT_TRUE(device);
  auto doors = ps::gloo_doors::open(*device, store(), 5);
  ASSERT_TRUE(doors);
  EXPECT_FALSE(doors->accept(ps::after(0.01)));
  EXPECT_EQ(doors->take_trouble(), "") << "that nobody knocks is none";
  {
    const no_more_files limit;
    EXPECT_FALSE(doors->accept(ps::after(0.01)));
  }
  const std::string trouble = doors->take_trouble();
  EXPECT_NE(trouble.find("Too many open files"), std::string::npos) << trouble;
  EXPECT_EQ(doors->take_trouble(), "") << "it is told once";
  std::optional<ps::gloo_link> far;
  std::jthread worker{[&] {  // ends by itself
    ps::gloo_connector connect{*device, store(), 5};
    if (auto link = connect({0, 0}, ps::after(10))) far.emplace(std::move(*link));
  }};
  auto knock = doors->accept(ps::after(10));
  ASSERT_TRUE(knock);
  const auto near = std::move(*knock).finish();
  worker.join();
  EXPECT_TRUE(near && far) << "the doors are open again";
}

TEST_F(ManyWorkers, LimitOnOpenFiles) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GE(before.rlim_max, 256U);
  rlimit low = before;
  low.rlim_cur = 128;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto raised = ps::allow_open_files(200), kept = ps::allow_open_files(100),
             beyond = ps::allow_open_files(std::uint64_t{1} << 60);
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(raised && kept);
  EXPECT_EQ(*raised, 200U);
  EXPECT_EQ(*kept, 200U) << "it is not lowered";
  EXPECT_EQ(now.rlim_cur, 200U);
  if (before.rlim_max == RLIM_INFINITY) return;
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, rubato::errc::io);
  EXPECT_NE(beyond.error().message.find("the limit is 200"), std::string::npos) << beyond.error().message;
}

// A watcher may ask how long decisions take: it is told once for each push, also for one that is dropped.
struct timing_watcher {
  std::vector<double>* heard;
  void operator()(const rubato::record&) noexcept {}
  void decided(double seconds) noexcept { heard->push_back(seconds); }
};

TEST_F(ManyWorkers, TimesOfDecisionsAreTold) {
  std::vector<double> heard;
  ps::decision_maker<timing_watcher> maker{
      {.model = {1, 1}, .workers = 1}, {"asp", rubato::asp{}}, std::vector<float>(1), timing_watcher{&heard}};
  const auto box = std::make_shared<ps::mailbox>();
  ASSERT_EQ(maker.join({0, 0}, box), rubato::errc::ok);
  const auto start = ps::steady::now();
  for (std::uint64_t step = 1; step <= 20; ++step) {
    const auto letter = box->take(ps::after(10));
    ASSERT_TRUE(letter && letter->granted);
    const float loss = step % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
    maker.push({.worker = {0, 0}, .step = step, .samples = 1, .loss = loss}, letter->terms, {{1.0F}}, box);
    EXPECT_EQ(heard.size(), step);
  }
  const std::chrono::duration<double> all = ps::steady::now() - start;
  for (const double seconds : heard) EXPECT_GT(seconds, 0);
  EXPECT_LE(std::accumulate(heard.begin(), heard.end(), 0.0), all.count());
}

// That a session asks whether its worker is there must not cost the message that has come meanwhile.
TEST_F(ManyWorkers, AliveTakesNoFrame) {
  auto device = ps::gloo_device::open("127.0.0.1");
  ASSERT_TRUE(device);
  auto a = ps::gloo_link::make(*device, 0, 5), b = ps::gloo_link::make(*device, 1, 5);
  ASSERT_TRUE(a && b);
  std::thread other{[&] { EXPECT_TRUE(b->connect(a->address())); }};
  EXPECT_TRUE(a->connect(b->address()));
  other.join();
  std::thread sender{[&] {
    for (std::uint8_t i = 0; i < 200; ++i) EXPECT_TRUE(a->send(ps::bytes{std::byte{i}}, ps::after(10)));
  }};
  for (std::uint8_t i = 0; i < 200; ++i) {
    for (int n = 0; n < 20; ++n) EXPECT_TRUE(b->alive());
    ps::bytes got;
    ASSERT_TRUE(b->recv(got, 10, ps::after(10)));
    EXPECT_EQ(got, ps::bytes{std::byte{i}});
  }
  sender.join();
  a->close();
  EXPECT_TRUE(rubato::test::eventually([&] { return !b->alive(); }));
}

}  // namespace
}  // namespace gloo_ps_many_workers_test
