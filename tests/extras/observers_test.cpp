#include <gtest/gtest.h>

#include <memory>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/extras/observers.hpp>
#include <vector>

namespace rubato {
namespace {

template <int number>
struct numbered {
  std::vector<int>* told;
  void operator()(const record&) noexcept { told->push_back(number); }
};

TEST(Observers, EachIsToldEverythingInOrder) {
  std::vector<int> told;
  controller<asp, int, observers<numbered<1>, numbered<2>>> sync{
      {.capacity = 1}, asp{}, {numbered<1>{&told}, numbered<2>{&told}}};
  ASSERT_EQ(sync.join({0, 0}, 0.0, 7, [](int, worker_id, const grant&) {}), errc::ok);  // a join and a release
  EXPECT_EQ(told, (std::vector{1, 2, 1, 2}));
  EXPECT_EQ(sync.watcher().get<numbered<2>>().told, &told);
  EXPECT_EQ(sync.watcher().get<0>().told, &told);
}

TEST(Observers, MayBeMovedOnly) {
  struct owner {
    std::unique_ptr<int> count = std::make_unique<int>(0);
    void operator()(const record&) noexcept { ++*count; }
  };
  observers all{owner{}, no_observer{}};
  all(record{});
  EXPECT_EQ(*all.get<owner>().count, 1);
}

}  // namespace
}  // namespace rubato
