#include "../../examples/lab/batch_training.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <rubato/adapt/batch_policy_file.hpp>
#include <sstream>
#include <string>

#include "../../examples/support/user_error.hpp"
#include "../support/folder_test.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;

class BatchTraining : public test::folder_test {
 protected:
  static inline const batch_training_request short_one{
      .updates = 0, .generations = 2, .population = 2, .tasks = 2, .select_every = 1, .selection_tasks = 2};

  [[nodiscard]] search_report train(const std::string& file, const batch_training_request& asked, unsigned threads = 1,
                                    bool resume = false) const {
    std::ostringstream said;
    return train_batches(asked, training_files{at(file.c_str())}, resume, threads, stop, said, {.quiet = true});
  }
  [[nodiscard]] std::string content_of(const std::string& name) const {
    std::ifstream in{at(name.c_str()), std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  std::atomic<bool> stop = false;
};

TEST_F(BatchTraining, SameSeedSameBytes) {
  batch_training_request asked = short_one;
  EXPECT_EQ(train("one", asked).generations, 2U);
  EXPECT_EQ(train("two", asked, 3).generations, 2U);
  EXPECT_EQ(content_of("one"), content_of("two")) << "for any number of threads";
  asked.seed = 2;
  EXPECT_EQ(train("other", asked).generations, 2U);
  EXPECT_NE(content_of("one"), content_of("other"));
  const auto policy = adapt::load_batch_policy(at("one"));
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_FALSE(std::filesystem::exists(at("one.training")));
}

TEST_F(BatchTraining, LearnsByPpoFirst) {
  batch_training_request asked = short_one;
  asked.generations = 0;
  EXPECT_FALSE(train("untaught", asked).interrupted);
  asked.updates = 1;
  EXPECT_FALSE(train("taught", asked).interrupted);
  EXPECT_NE(content_of("taught"), content_of("untaught"));
}

TEST_F(BatchTraining, ResumesFromTheSearch) {
  batch_training_request asked = short_one;
  EXPECT_EQ(train("whole", asked).generations, 2U);
  stop = true;
  EXPECT_TRUE(train("halted", asked).interrupted);
  stop = false;
  EXPECT_EQ(train("halted", asked, 1, true).generations, 2U);
  EXPECT_EQ(content_of("whole"), content_of("halted"));
}

TEST_F(BatchTraining, CompleteIsComplete) {
  EXPECT_FALSE(train("one", short_one).complete);
  EXPECT_TRUE(train("one", short_one, 1, true).complete);
}

}  // namespace
