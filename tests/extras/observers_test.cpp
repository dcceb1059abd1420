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

// Of those who want to know; the others are passed over.
TEST(Observers, TellsOfAnswersWhoWantsToKnow) {
  struct curious {
    std::vector<release_verb>* answers;
    void operator()(const record&) noexcept {}
    void answered(const event&, const decision& answer, const insight& by) noexcept {
      answers->push_back(answer.verb);
      EXPECT_EQ(by.names.size(), 0u) << "asp has nothing to show";
    }
  };
  static_assert(AnswerObserver<observers<numbered<1>, curious>> && !AnswerObserver<observers<numbered<1>>>);
  std::vector<int> told;
  std::vector<release_verb> answers;
  controller<asp, int, observers<numbered<1>, curious>> sync{{.capacity = 1}, asp{}, {numbered<1>{&told}, {&answers}}};
  const auto release = [](int, worker_id, const grant&) {};
  ASSERT_EQ(sync.join({0, 0}, 0.0, 7, release), errc::ok);
  ASSERT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, 7, release), errc::ok);
  EXPECT_EQ(answers, (std::vector{release_verb::all, release_verb::submitter}));
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
