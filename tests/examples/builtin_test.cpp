// The learned policy that ships: its file, and that it is as good as it was when it was shipped.
#include <rubato/learned/builtin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <rubato/io/policy_card.hpp>
#include <rubato/io/safetensors.hpp>
#include <rubato/learned/residual_file.hpp>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "../../examples/lab/compare.hpp"
#include "../../examples/lab/shipped.hpp"
#include "../../examples/lab/summary.hpp"
#include "../../examples/support/scenario_files.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;

const std::string file_of_learned = shipped("examples/lab/policies/learned.safetensors").string();

TEST(LearnedPolicy, IsWhatItsFileHolds) {
  const auto in_file = load_residual_policy(file_of_learned);
  ASSERT_TRUE(in_file) << in_file.error().message;
  const learned_policy built_in;
  EXPECT_TRUE(std::ranges::equal(built_in.network().parameters(), in_file->network().parameters()));
  EXPECT_EQ(built_in.range().least, in_file->range().least);
  EXPECT_EQ(built_in.range().most, in_file->range().most);
}

TEST(LearnedPolicy, SaysHowItWasMade) {
  const auto tensors = safetensors::load(file_of_learned);
  ASSERT_TRUE(tensors) << tensors.error().message;
  const auto card = read_policy_card(*tensors);
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->command,
            "rubato-lab train --scenario random --agent es --generations 32 --population 32 --clusters 16 --rounds 1 "
            "--hidden 0 --select-every 8 --selection-clusters 200 --seed 1 --licence Apache-2.0");
}

// Time of knee+decay over its time, with one hidden layer, on seeds of no table.
TEST(LearnedPolicy, IsAsGoodAsRecorded) {
  const std::atomic<bool> stop = false;
  std::ostringstream nowhere;
  for (const auto& [name, recorded] : {std::pair{"shared4", 1.41}, std::pair{"link", 1.07}, std::pair{"ideal", 1.54}}) {
    compare_options asked;
    asked.scenario = support::find_scenario(name, shipped("examples/lab/scenarios"));
    asked.scenario.hidden_layers = {1};
    asked.policies = parse_policies("knee+decay,learned", false);
    asked.seed = 600'001;
    asked.seeds = 40;
    const training_data data = load_data(asked.scenario, shipped("examples/data"));
    result_cache nothing;
    const comparison made = compare(
        asked,
        {.data = data, .cache = nothing, .threads = 2, .stop = stop, .progress = nowhere, .display = {.quiet = true}});
    const comparison_summary found = summarise(made);
    ASSERT_TRUE(found.rows[0].reliable() && found.rows[1].reliable()) << name;
    const double ratio = found.rows[0].time.value / found.rows[1].time.value;
    EXPECT_GE(ratio, 0.9 * recorded) << name << ": " << ratio;
  }
}

}  // namespace
