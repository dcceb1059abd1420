#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <rubato/gloo_ps/gloo_link.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <rubato/sync/asp.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../support/folder_test.hpp"
#include "../../support/sanitizers.hpp"
#include "harness.hpp"

namespace gloo_ps_gloo_link_test {
namespace {

namespace ps = rubato::gloo_ps;
using rubato::test::eventually;
using status = ps::transfer::status;

class GlooLink : public rubato::test::folder_test {
 protected:
  void SetUp() override {
    folder_test::SetUp();
    std::signal(SIGPIPE, SIG_IGN);
    auto opened = ps::gloo_device::open("127.0.0.1");
    ASSERT_TRUE(opened) << opened.error().message;
    device = *opened;
  }
  std::shared_ptr<gloo::rendezvous::Store> store() {
    const auto opened = ps::open_store("file:" + folder.string());
    EXPECT_TRUE(opened) << opened.error().message;
    return *opened;
  }
  // Two connected ends.
  std::pair<ps::gloo_link, ps::gloo_link> pair() {
    auto a = ps::gloo_link::make(device, 0, 5), b = ps::gloo_link::make(device, 1, 5);
    EXPECT_TRUE(a && b);
    std::thread other{[&] { EXPECT_TRUE(b->connect(a->address())); }};
    EXPECT_TRUE(a->connect(b->address()));
    other.join();
    return {std::move(*a), std::move(*b)};
  }
  static ps::bytes some(std::size_t n) {
    ps::bytes b(n);
    for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<std::byte>(i * 31 + n);
    return b;
  }

  std::shared_ptr<ps::gloo_device> device;
};

TEST_F(GlooLink, LongAndShort) {
  auto both = pair();
  std::thread sender{[&] {
    for (const std::size_t n : {0U, 1U, 239U, 240U, 241U, 1000U, 3'000'000U})
      EXPECT_TRUE(both.first.send(some(n), ps::after(10))) << n;
  }};
  for (const std::size_t n : {0U, 1U, 239U, 240U, 241U, 1000U, 3'000'000U}) {
    ps::bytes got;
    const ps::transfer end = both.second.recv(got, 4'000'000, ps::after(10));
    ASSERT_TRUE(end) << n << ": " << end.why;
    EXPECT_EQ(got, some(n)) << n;
  }
  sender.join();
}

TEST_F(GlooLink, PollDoesNoHarm) {
  auto both = pair();
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(both.second.poll(ps::after(i % 2 == 0 ? 0 : 0.002)));
  ps::bytes got;
  EXPECT_EQ(both.second.recv(got, 100, ps::after(0.01)).how, status::timed_out);
  EXPECT_TRUE(both.second.alive());
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(both.first.send(some(10), ps::after(1)));
    EXPECT_TRUE(both.second.poll(ps::after(5)));
    EXPECT_TRUE(both.second.poll(ps::after(0))) << "it is still there";
    EXPECT_TRUE(both.second.recv(got, 100, ps::after(1)));
    EXPECT_FALSE(both.second.poll(ps::after(0)));
  }
}

TEST_F(GlooLink, CloseIsNoticed) {
  auto both = pair();
  both.first.close();
  EXPECT_TRUE(eventually([&] { return !both.second.alive(); }));
  ps::bytes got;
  EXPECT_EQ(both.second.recv(got, 100, ps::after(1)).how, status::closed);
  EXPECT_EQ(both.second.send(some(5), ps::after(1)).how, status::closed);
  EXPECT_EQ(both.first.send(some(5), ps::after(1)).how, status::closed);
}

TEST_F(GlooLink, WhatWasSentBeforeTheEndArrives) {
  auto both = pair();
  EXPECT_TRUE(both.first.send(some(50), ps::after(1)));
  ps::bytes got;
  EXPECT_TRUE(both.second.poll(ps::after(5)));
  both.first.close();
  EXPECT_TRUE(both.second.recv(got, 100, ps::after(1)));
  EXPECT_EQ(got, some(50));
}

TEST_F(GlooLink, OversizedIsRefusedBeforeAllocation) {
  auto both = pair();
  std::thread sender{[&] { static_cast<void>(both.first.send(some(5000), ps::after(10))); }};
  ps::bytes got;
  EXPECT_EQ(both.second.recv(got, 4999, ps::after(5)).how, status::oversized);
  EXPECT_EQ(got.capacity(), 0U);
  both.second.close();  // nobody takes the rest
  sender.join();
}

// Says by Gloo what a link would not: a frame of its own making, and less than it announces.
TEST_F(GlooLink, DamageIsNoticed) {
  const auto frame_of = [](std::uint64_t size, const ps::bytes& sum_of) {
    ps::bytes frame(256);
    const std::uint64_t sum = ps::checksum(sum_of);
    std::memcpy(frame.data(), &size, 8);
    std::memcpy(frame.data() + 8, &sum, 8);
    return frame;
  };
  const ps::bytes whole = some(1000);
  struct lie {
    ps::bytes frame;
    std::size_t rest;  // bytes that follow
  };
  lie lies[] = {{frame_of(100, some(100)), 0}, {frame_of(1000, whole), 500}};
  std::memcpy(lies[1].frame.data() + 16, whole.data(), 240);
  for (lie& l : lies) {
    auto honest = ps::gloo_link::make(device, 0, 5);
    ASSERT_TRUE(honest);
    const auto context = device->device->createContext(1, 2);
    context->setTimeout(std::chrono::milliseconds{2000});
    gloo::transport::Pair& pair = *context->createPair(0);
    std::thread liar{[&] {
      pair.connect(honest->address());
      const auto frame = context->createUnboundBuffer(l.frame.data(), l.frame.size());
      frame->send(0, 0);
      EXPECT_TRUE(frame->waitSend(nullptr, std::chrono::milliseconds{2000}));
      ps::bytes rest(whole.begin() + 240, whole.end());
      const auto body = context->createUnboundBuffer(rest.data(), rest.size());
      if (l.rest == 0) return;
      body->send(0, 1, 0, l.rest);
      EXPECT_TRUE(body->waitSend(nullptr, std::chrono::milliseconds{2000}));
    }};
    EXPECT_TRUE(honest->connect(pair.address().bytes()));
    ps::bytes got;
    EXPECT_EQ(honest->recv(got, 2000, ps::after(5)).how, status::damaged);
    liar.join();
  }
}

TEST_F(GlooLink, SilentPeerIsBounded) {
  auto both = pair();
  ps::bytes got;
  const auto start = ps::steady::now();
  EXPECT_EQ(both.second.recv(got, 100, ps::after(0.05)).how, status::timed_out);
  // A long message needs the receiver's help: whoever does not take it is bounded too.
  EXPECT_EQ(both.first.send(some(5000), ps::after(0.05)).how, status::closed);
  EXPECT_LT(ps::steady::now() - start, std::chrono::seconds{5});
}

TEST_F(GlooLink, NobodyConnectsIsBounded) {
  auto a = ps::gloo_link::make(device, 0, 0.2);
  auto b = ps::gloo_link::make(device, 1, 0.2);
  ASSERT_TRUE(a && b);
  const std::vector<char> other = b->address();
  const auto start = ps::steady::now();
  // One of two sides listens and the other connects; where it connects to somebody who does not answer it, it is told.
  const bool connected = static_cast<bool>(a->connect(other));
  EXPECT_LT(ps::steady::now() - start, std::chrono::seconds{5});
  ps::bytes got;
  EXPECT_NE(connected ? a->recv(got, 10, ps::after(0.05)).how : status::closed, status::done);
}

TEST_F(GlooLink, WorkersMeetTheServer) {
  auto doors = ps::gloo_doors::open(device, store(), 5);
  ASSERT_TRUE(doors) << doors.error().message;
  EXPECT_EQ(doors->life(), 1U);
  std::thread worker{[&] {
    ps::gloo_connector connect{device, store(), 5};
    auto link = connect({0, 0}, ps::after(10));
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->send(some(20), ps::after(1)));
    ps::bytes got;
    EXPECT_TRUE(link->recv(got, 100, ps::after(5)));
  }};
  auto knock = doors->accept(ps::after(10));
  ASSERT_TRUE(knock);
  auto link = std::move(*knock).finish();
  ASSERT_TRUE(link);
  ps::bytes got;
  EXPECT_TRUE(link->recv(got, 100, ps::after(5)));
  EXPECT_TRUE(link->send(got, ps::after(1)));
  worker.join();
  EXPECT_FALSE(doors->accept(ps::after(0.02)));
}

// As where a machine is told its own loopback address.
TEST_F(GlooLink, WhoIsNotReachedIsNamed) {
  std::vector<char> nowhere;
  if (const auto gone = ps::gloo_link::make(device, 0, 5)) nowhere = gone->address();
  ASSERT_TRUE(ps::gloo_doors::open(device, store(), 5));
  std::thread worker{[&] {
    ps::gloo_connector connect{device, store(), 5, 0.5};
    EXPECT_EQ(connect.take_trouble(), "");
    EXPECT_FALSE(connect({0, 0}, ps::after(10)));
    const std::string why = connect.take_trouble();
    EXPECT_EQ(why.find("the server says it is at [127.0.0.1]:"), 0U) << why;
    EXPECT_NE(why.find(", this worker at [127.0.0.1]:"), std::string::npos) << why;
    EXPECT_EQ(connect.take_trouble(), "") << "it is told once";
  }};
  ps::detail::board board{store(), 5};
  const auto knock = board.read(ps::detail::knock_key(1, 0), ps::after(10));
  std::uint64_t nonce = 0;
  if (knock) std::memcpy(&nonce, knock->data(), 8);
  EXPECT_TRUE(knock && board.write(ps::detail::answer_key(1, 0), ps::detail::note_of(nowhere, nonce)));
  worker.join();
}

TEST_F(GlooLink, NewLifeIsFound) {
  auto first = ps::gloo_doors::open(device, store(), 5);
  ASSERT_TRUE(first);
  ps::gloo_connector connect{device, store(), 5, 1.0};
  EXPECT_FALSE(connect({0, 0}, ps::after(0.5))) << "this server answers nobody";
  auto second = ps::gloo_doors::open(device, store(), 5);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->life(), 2U);
  EXPECT_TRUE(first->superseded());
  EXPECT_FALSE(second->superseded());
  std::optional<ps::gloo_link> far;
  std::thread worker{[&] {
    if (auto link = connect({0, 0}, ps::after(10))) far.emplace(std::move(*link));
  }};
  auto knock = second->accept(ps::after(10));
  ASSERT_TRUE(knock);
  const auto near = std::move(*knock).finish();
  worker.join();
  EXPECT_TRUE(near);
  EXPECT_TRUE(far);
}

TEST_F(GlooLink, WhetherAServerAnswers) {
  EXPECT_FALSE(ps::server_answers(device, store(), 6, 60)) << "at once: there was none";
  auto doors = ps::gloo_doors::open(device, store(), 6, 2);
  ASSERT_TRUE(doors);
  EXPECT_FALSE(ps::server_answers(device, store(), 6, 0.2)) << "it does not look at its doors";
  std::atomic<bool> over = false;
  std::thread server{[&] {
    while (!over)
      if (auto knock = doors->accept(ps::after(0.05)))
        if (auto link = std::move(*knock).finish()) {  // it is for the one who asks to hang up, as with any worker
          ps::bytes none;
          EXPECT_FALSE(link->recv(none, 10, ps::after(10)));
        }
  }};
  EXPECT_TRUE(ps::server_answers(device, store(), 6, 10));
  over = true;
  server.join();
}

TEST_F(GlooLink, StoresByName) {
  EXPECT_TRUE(ps::open_store("file:" + folder.string()));
  EXPECT_EQ(ps::open_store("file:").error().code, rubato::errc::invalid_option);
  EXPECT_EQ(ps::open_store("zookeeper:x").error().code, rubato::errc::invalid_option);
  EXPECT_EQ(ps::open_store("file:" + at("missing")).error().code, rubato::errc::io);
  EXPECT_EQ(ps::open_store("file:" + at("missing")).error().message,
            "store file:" + at("missing") + ": there is no such folder, expected one made for this job");
  if (!rubato::test::address_sanitized) {  // Gloo's store leaves its connection behind when nobody is there
    EXPECT_FALSE(ps::open_store("redis:127.0.0.1:1")) << "nobody there, or no Redis in this build";
  }
  EXPECT_EQ(ps::open_store("redis:localhost:12x").error().code, rubato::errc::invalid_option);
}

TEST_F(GlooLink, TwoKnockAtOnce) {
  auto doors = ps::gloo_doors::open(device, store(), 5, 1.0);
  ASSERT_TRUE(doors);
  constexpr int count = 8;
  std::atomic<int> met = 0, attempts = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < count; ++i)
    workers.emplace_back([&] {
      ps::gloo_connector connect{device, store(), 5, 1.0};
      for (int attempt = 0; attempt < 5; ++attempt) {  // one that lost a race for a key knocks again
        ++attempts;
        if (auto link = connect({0, 0}, ps::after(10))) {
          ++met;
          ps::bytes end;
          static_cast<void>(link->recv(end, 10, ps::after(10)));
          return;
        }
      }
    });
  std::vector<std::thread> servers;
  std::mutex lock;
  std::vector<ps::gloo_link> links;
  while (met < count && attempts < 5 * count)
    if (auto knock = doors->accept(ps::after(0.1)))
      servers.emplace_back([&, k = std::move(*knock)]() mutable {
        if (auto link = std::move(k).finish()) {
          const std::lock_guard guard{lock};
          links.push_back(std::move(*link));
        }
      });
  for (std::thread& t : servers) t.join();
  for (ps::gloo_link& l : links) static_cast<void>(l.send({}, ps::after(1)));
  for (std::thread& t : workers) t.join();
  EXPECT_EQ(met, count);
}

// A store in which another worker seems to have won the race for a key that was written all the same.
class racy_store final : public gloo::rendezvous::Store {
 public:
  explicit racy_store(std::shared_ptr<gloo::rendezvous::Store> real) : real_{std::move(real)} {}
  void set(const std::string& key, const std::vector<char>& content) override {
    real_->set(key, content);
    if (key.find("/knock/") == std::string::npos) return;
    announced.push_back(content);
    if (announced.size() == 1) throw std::runtime_error{"somebody else renamed the file"};
  }
  std::vector<char> get(const std::string& key) override { return real_->get(key); }
  void wait(const std::vector<std::string>& keys) override { real_->wait(keys); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& limit) override {
    real_->wait(keys, limit);
  }
  std::vector<std::vector<char>> announced;  // by knocks

 private:
  std::shared_ptr<gloo::rendezvous::Store> real_;
};

TEST_F(GlooLink, AnAddressIsAnnouncedOnce) {
  auto doors = ps::gloo_doors::open(device, store(), 5, 0.5);
  ASSERT_TRUE(doors);
  const auto racy = std::make_shared<racy_store>(store());
  std::jthread worker{[&] {  // ends by itself, whatever the server does
    ps::gloo_connector connect{device, racy, 5};
    auto link = connect({0, 0}, ps::after(10));
    if (!link) return;
    EXPECT_TRUE(link->send(some(20), ps::after(5)));
    EXPECT_TRUE(link->send(some(30), ps::after(5)));
    ps::bytes end;
    static_cast<void>(link->recv(end, 10, ps::after(10)));
  }};
  // The first knock is of a pair that is no more; the second one's talks to one server only.
  auto orphan = doors->accept(ps::after(10)), right = doors->accept(ps::after(10));
  ASSERT_TRUE(orphan && right);
  EXPECT_FALSE(std::move(*orphan).finish());
  auto link = std::move(*right).finish();
  ASSERT_TRUE(link);
  ps::bytes got;
  EXPECT_TRUE(link->recv(got, 100, ps::after(5)));
  EXPECT_TRUE(link->recv(got, 100, ps::after(5)));
  EXPECT_EQ(got, some(30));
  link->close();
  worker.join();
  ASSERT_EQ(racy->announced.size(), 2U);
  EXPECT_NE(racy->announced[0], racy->announced[1]);
}

TEST_F(GlooLink, WholeJobOverGloo) {
  constexpr std::uint32_t workers = 3, steps = 100;
  ps::server<> server{{.job = {.job = 5,
                               .model = {5000, 3},
                               .workers = workers,
                               .nominal_samples = 1,
                               .rule = rubato::threads_ps::sgd{{.learning_rate = 1}},
                               .limits = {.floor = 5, .ceiling = 20}}},
                      {"asp", rubato::asp{}},
                      std::vector<float>(5000)};
  auto doors = ps::gloo_doors::open(device, store(), 5);
  ASSERT_TRUE(doors);
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      ps::worker self{ps::worker_options{.job = 5, .id = {w, 0}, .model = {5000, 3}},
                      ps::gloo_connector{device, store(), 5}};
      std::vector<float> parameters(5000), ones(5000, 1.0F);
      for (std::uint32_t i = 0; i < steps; ++i) {
        const auto step = self.begin(parameters);
        ASSERT_TRUE(step) << step.error().message;
        ASSERT_TRUE(*step);
        ASSERT_TRUE(self.push(ones, 1, 0));
      }
      ASSERT_TRUE(self.begin(parameters));
      self.leave();
    });
  // Who loses a race for a key knocks again, so the doors are open until all have finished.
  std::atomic<bool> open = true;
  std::vector<std::thread> sessions;
  std::thread porter{[&] {
    while (open)
      if (auto knock = doors->accept(ps::after(0.05)))
        sessions.emplace_back([&server, k = std::move(*knock)]() mutable {
          if (auto link = std::move(k).finish()) server.serve(*link);
        });
  }};
  for (std::thread& t : threads) t.join();
  open = false;
  porter.join();
  for (std::thread& t : sessions) t.join();
  EXPECT_EQ(server.ends(ps::session_end::done), workers);
  EXPECT_EQ(server.parameters(), std::vector<float>(5000, -float{workers * steps}));
}

}  // namespace
}  // namespace gloo_ps_gloo_link_test
