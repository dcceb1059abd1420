#include "../../examples/lab/training_curves.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "../../examples/support/user_error.hpp"
#include "../support/folder_test.hpp"

namespace {

using namespace rubato;
using lab::training_curves;

class TrainingCurves : public test::folder_test {
 protected:
  [[nodiscard]] std::string curves() const { return at("curves"); }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator{curves()}) all.insert(entry.path().filename());
    return all;
  }
};

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST_F(TrainingCurves, EpisodesAndEvaluations) {
  training_curves written{curves(), false};
  written.begin(0);
  written.note(rl::evaluation{.mean = -3});
  written.note(rl::episode_report{.episode = 0, .steps = 7, .reward = -2, .elapsed = 2});
  written.note(rl::episode_report{.episode = 1, .steps = 7, .reward = -2, .elapsed = 2, .updates = 5, .mean_loss = 1});
  std::ifstream stream{curves() + "/events.out.tfevents.0000000000.rubato", std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};  // while it is still open
  EXPECT_EQ(count_of(text, "brain.Event:2"), 1U);
  EXPECT_EQ(count_of(text, "episode/reward"), 2U);
  EXPECT_EQ(count_of(text, "episode/loss"), 1U) << "nothing was learned in the other";
  EXPECT_EQ(count_of(text, "evaluation/mean_reward"), 1U);
}

TEST_F(TrainingCurves, AFileForEachResume) {
  training_curves{curves(), false}.begin(0);
  training_curves{curves(), true}.begin(20);
  EXPECT_EQ(names(), (std::set<std::string>{"events.out.tfevents.0000000000.rubato",
                                            "events.out.tfevents.0000000020.rubato"}));
}

TEST_F(TrainingCurves, RefusesTheCurvesOfAnotherTraining) {
  training_curves{curves(), false}.begin(0);
  try {
    training_curves{curves(), false};
    ADD_FAILURE() << "it was not refused";
  } catch (const support::user_error& e) {
    EXPECT_NE(std::string{e.what()}.find("--tensorboard: found "), std::string::npos) << e.what();
  }
}

TEST_F(TrainingCurves, NoFolderIsNoFile) {
  training_curves nowhere{"", false};
  nowhere.begin(0);
  nowhere.note(rl::evaluation{});
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
