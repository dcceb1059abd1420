#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <rubato/gloo_ps/loopback.hpp>
#include <thread>

namespace gloo_ps_loopback_test {
namespace {

namespace ps = rubato::gloo_ps;
using status = ps::transfer::status;

ps::bytes text(const char* words) {
  ps::bytes b;
  for (; *words != 0; ++words) b.push_back(static_cast<std::byte>(*words));
  return b;
}

TEST(Loopback, InOrder) {
  auto [here, there] = ps::loopback_link::pair();
  EXPECT_FALSE(there.poll(ps::after(0)));
  EXPECT_TRUE(here.send(text("one"), ps::after(1)));
  EXPECT_TRUE(here.send(text("two"), ps::after(1)));
  EXPECT_TRUE(there.poll(ps::after(1)));
  ps::bytes got;
  EXPECT_TRUE(there.recv(got, 10, ps::after(1)));
  EXPECT_EQ(got, text("one"));
  EXPECT_TRUE(there.recv(got, 10, ps::after(1)));
  EXPECT_EQ(got, text("two"));
}

TEST(Loopback, SilenceIsBounded) {
  auto [here, there] = ps::loopback_link::pair({.silent_from = 1});
  EXPECT_TRUE(here.send(text("heard"), ps::after(1)));
  EXPECT_TRUE(here.send(text("lost"), ps::after(1)));
  ps::bytes got;
  EXPECT_TRUE(there.recv(got, 10, ps::after(1)));
  EXPECT_EQ(there.recv(got, 10, ps::after(0.02)).how, status::timed_out);
  EXPECT_TRUE(there.alive()) << "silence is not death";
}

TEST(Loopback, TruncationIsNoticed) {
  auto [here, there] = ps::loopback_link::pair({.truncated = 0});
  EXPECT_TRUE(here.send(text("half of it"), ps::after(1)));
  ps::bytes got;
  EXPECT_EQ(there.recv(got, 10, ps::after(1)).how, status::damaged);
}

TEST(Loopback, CloseWakes) {
  auto [here, there] = ps::loopback_link::pair();
  std::thread closer{[&h = here] {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    h.close();
  }};
  ps::bytes got;
  EXPECT_EQ(there.recv(got, 10, ps::after(10)).how, status::closed);
  EXPECT_FALSE(there.alive());
  EXPECT_EQ(there.send(text("x"), ps::after(1)).how, status::closed);
  closer.join();
}

TEST(Loopback, WhatWasSentBeforeTheEndArrives) {
  auto [here, there] = ps::loopback_link::pair();
  EXPECT_TRUE(here.send(text("bye"), ps::after(1)));
  here.close();
  ps::bytes got;
  EXPECT_TRUE(there.recv(got, 10, ps::after(1)));
  EXPECT_EQ(there.recv(got, 10, ps::after(1)).how, status::closed);
}

TEST(Loopback, OversizedIsRefused) {
  auto [here, there] = ps::loopback_link::pair();
  EXPECT_TRUE(here.send(text("too long"), ps::after(1)));
  ps::bytes got;
  EXPECT_EQ(there.recv(got, 7, ps::after(1)).how, status::oversized);
  EXPECT_TRUE(got.empty());
}

TEST(Loopback, DelayedMessagesArriveLater) {
  auto [here, there] = ps::loopback_link::pair({.delay = std::chrono::milliseconds{30}});
  const auto start = ps::steady::now();
  EXPECT_TRUE(here.send(text("late"), ps::after(1)));
  ps::bytes got;
  EXPECT_TRUE(there.recv(got, 10, ps::after(5)));
  EXPECT_GE(ps::steady::now() - start, std::chrono::milliseconds{30});
}

}  // namespace
}  // namespace gloo_ps_loopback_test
