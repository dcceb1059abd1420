#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <rubato/mpi_ps/mpi_link.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace mpi_ps_link_test {
namespace {

namespace ps = rubato::mpi_ps;
using status = ps::transfer::status;
using rubato::gloo_ps::after;
using rubato::gloo_ps::bytes;

// One rank, which talks to itself: it needs no mpirun.
ps::mpi_process& process() {
  static const auto the_only_one = [] {
    int argc = 0;
    char** argv = nullptr;
    auto made = ps::mpi_process::start(argc, argv);
    if (!made) throw std::runtime_error{made.error().message};  // every test says so
    return std::move(*made);
  }();
  return *the_only_one;
}

class MpiLink : public testing::Test {
 protected:
  std::pair<ps::mpi_link, ps::mpi_link> connected() {
    auto here = ps::mpi_connector{process(), 0}({}, after(1));
    auto there = doors_.accept(after(1));
    if (!here || !there) throw std::runtime_error{"no connection"};
    return {std::move(*here), std::move(*there)};
  }

 private:
  ps::mpi_doors doors_{process()};
};

bytes some(std::size_t size, unsigned seed = 1) {
  bytes all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<std::byte>((i * 7 + seed) & 255);
  return all;
}

TEST_F(MpiLink, LongAndShort) {
  auto [here, there] = connected();
  for (const std::size_t size : {0U, 1U, 2U, 200U, 4096U, 70'000U, 5'000'000U}) {
    const bytes sent = some(size);
    std::thread sender{[&, &h = here] { EXPECT_TRUE(h.send(sent, after(10))) << size; }};
    bytes got = some(3);
    EXPECT_TRUE(there.recv(got, size, after(10))) << size;
    sender.join();
    EXPECT_EQ(got, sent) << size;
  }
}

// Short messages need no receiver; long ones are for a protocol in which one side listens.
TEST_F(MpiLink, ShortOnesBothWaysAtOnce) {
  auto [here, there] = connected();
  const auto talk = [](ps::mpi_link& link, unsigned mine, unsigned other) {
    bytes got;
    for (unsigned i = 0; i < 200; ++i) {
      EXPECT_TRUE(link.send(some(100 + 4 * i, mine), after(10)));
      EXPECT_TRUE(link.recv(got, 1'000'000, after(10)));
      EXPECT_EQ(got, some(100 + 4 * i, other));
    }
  };
  std::thread other{[&, &t = there] { talk(t, 2, 1); }};
  talk(here, 1, 2);
  other.join();
}

TEST_F(MpiLink, PollDoesNoHarm) {
  auto [here, there] = connected();
  EXPECT_FALSE(there.poll(after(0)));
  EXPECT_FALSE(there.poll(after(0.01)));
  EXPECT_TRUE(here.send(some(5), after(1)));
  EXPECT_TRUE(here.send({}, after(1)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(there.poll(after(1)));
  bytes got;
  EXPECT_TRUE(there.recv(got, 10, after(1)));
  EXPECT_EQ(got, some(5));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(there.poll(after(1)));
  EXPECT_TRUE(there.recv(got, 10, after(1)));
  EXPECT_TRUE(got.empty());
  EXPECT_FALSE(there.poll(after(0)));
}

TEST_F(MpiLink, CloseIsNoticed) {
  auto [here, there] = connected();
  EXPECT_TRUE(there.alive());
  EXPECT_TRUE(here.send(some(9), after(1)));
  here.close();
  EXPECT_EQ(here.send(some(1), after(1)).how, status::closed);
  bytes got;
  EXPECT_TRUE(there.recv(got, 10, after(1))) << "what was sent before the end arrives";
  EXPECT_EQ(there.recv(got, 10, after(10)).how, status::closed);
  EXPECT_FALSE(there.alive());
  EXPECT_FALSE(there.poll(after(10)));
  EXPECT_EQ(there.send(some(1), after(1)).how, status::closed);
}

TEST_F(MpiLink, LettingGoIsAnEndToo) {
  auto [here, there] = connected();
  { const ps::mpi_link gone = std::move(here); }
  bytes got;
  EXPECT_EQ(there.recv(got, 10, after(10)).how, status::closed);
}

TEST_F(MpiLink, OversizedIsRefusedBeforeAllocation) {
  auto [here, there] = connected();
  EXPECT_TRUE(here.send(some(100), after(1)));
  bytes got;
  const ps::transfer no = there.recv(got, 99, after(1));
  EXPECT_EQ(no.how, status::oversized);
  EXPECT_EQ(no.why, "a message of 100 bytes, expected at most 99");
  EXPECT_EQ(got.capacity(), 0U);
  EXPECT_FALSE(there.alive());
}

TEST_F(MpiLink, SilentPeerIsBounded) {
  auto [here, there] = connected();
  const std::size_t before = process().in_flight();
  bytes got;
  const auto begin = ps::steady::now();
  EXPECT_EQ(there.recv(got, 10, after(0.05)).how, status::timed_out);
  EXPECT_TRUE(there.alive()) << "silence is not death";
  EXPECT_EQ(here.send(some(5'000'000), after(0.05)).how, status::closed) << "nobody takes so much";
  EXPECT_LT(ps::steady::now() - begin, std::chrono::seconds{5});
  EXPECT_EQ(process().in_flight(), before + 1) << "its bytes are MPI's until it has done with them";
  EXPECT_TRUE(there.recv(got, 5'000'000, after(10))) << "and it may still arrive";
  EXPECT_EQ(process().in_flight(), before);
}

// A long message is taken only by who listens.
TEST_F(MpiLink, CloseEndsASend) {
  auto [here, there] = connected();
  const std::size_t before = process().in_flight();
  const auto begin = ps::steady::now();
  std::thread closer{[&t = there] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_TRUE(t.send(some(5), after(1)));  // its last word hides nothing
    t.close();
  }};
  const ps::transfer no = here.send(some(5'000'000), after(30));
  closer.join();
  EXPECT_EQ(no.how, status::closed);
  EXPECT_EQ(no.why, "the peer has ended the connection");
  EXPECT_LT(ps::steady::now() - begin, std::chrono::seconds{10});
  EXPECT_FALSE(here.alive());
  EXPECT_EQ(process().in_flight(), before + 1) << "and stays with MPI";
}

TEST_F(MpiLink, ConnectionsOfARankAreApart) {
  auto [a, b] = connected();
  auto [c, d] = connected();
  EXPECT_TRUE(a.send(some(1, 1), after(1)));
  EXPECT_TRUE(c.send(some(1, 2), after(1)));
  a.close();
  bytes got;
  EXPECT_TRUE(d.recv(got, 10, after(1)));
  EXPECT_EQ(got, some(1, 2));
  EXPECT_TRUE(d.alive());
  EXPECT_TRUE(b.recv(got, 10, after(1)));
  EXPECT_EQ(got, some(1, 1));
  EXPECT_FALSE(b.poll(after(1)));
}

// Two that hang up at the same time leave two ends that nobody reads.
TEST_F(MpiLink, TagsThatComeAgainMayBringAnOldEnd) {
  {
    auto [here, there] = connected();
    here.close();
    there.close();
  }
  for (int others = 0; others < 8'190; ++others) static_cast<void>(process().next_number());
  auto [here, there] = connected();
  EXPECT_FALSE(here.alive());
  EXPECT_FALSE(there.alive());
  auto [a, b] = connected();
  EXPECT_TRUE(a.send(some(5), after(1)));
  bytes got;
  EXPECT_TRUE(b.recv(got, 10, after(1)));
  EXPECT_EQ(got, some(5));
}

TEST_F(MpiLink, ModelsOfTooLargeShardsAreToldApart) {
  constexpr std::uint64_t fits = (ps::mpi_process::longest_message - rubato::gloo_ps::small_message) / sizeof(float);
  EXPECT_EQ(ps::problem({.parameters = 3 * fits, .shards = 3}), "");
  EXPECT_EQ(ps::problem({.parameters = 3 * fits + 1, .shards = 3}),
            "a shard has 536870784 parameters, more than fit into the 2 GiB of an MPI message: expected more shards "
            "than 3");
}

// MPI has no wait with a time limit, so who waits looks again and again, and must not take a core for it.
TEST_F(MpiLink, WhoWaitsSleeps) {
  auto [here, there] = connected();
  const auto used = [] {
    rusage all{};
    getrusage(RUSAGE_SELF, &all);
    return static_cast<double>(all.ru_utime.tv_sec + all.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(all.ru_utime.tv_usec + all.ru_stime.tv_usec);
  };
  const double before = used();
  EXPECT_FALSE(there.poll(after(1)));
  EXPECT_LT(used() - before, 0.3);
}

}  // namespace
}  // namespace mpi_ps_link_test
