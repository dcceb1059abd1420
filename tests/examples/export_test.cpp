#include "../../examples/lab/export.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <rubato/learned/loader.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/lab/shipped.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_program.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using lab::shipped;
using test::message_of;
using test::temporary_directory;
using correction_of_knee = residual_policy<progress_state, nn::dynamic_mlp>;

nn::dynamic_mlp numbered_correction() {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make(
      {progress_state::dim, 3, corrections}, {.hidden = {.kind = nn::activation_kind::leaky_relu, .slope = 0.25}});
  float next = 1.0F / 3;
  for (float& w : network.parameters()) w = next, next *= -1.1F;
  network.parameters()[1] = 2;
  return network;
}

trained_range<progress_state::dim> some_range() {
  trained_range<progress_state::dim> range;
  range.least.fill(-2.5F), range.most.fill(3);
  return range;
}

// The numbers of an array in a header.
std::vector<float> numbers_of(const std::string& header, const std::string& name) {
  std::string list = header.substr(header.find("> " + name + "{") + name.size() + 3);
  list.resize(list.find('}'));
  std::vector<float> numbers;
  std::istringstream words{list};
  for (std::string word; words >> word;) numbers.push_back(std::stof(word));
  return numbers;
}

TEST(Export, TheHeaderHoldsThePolicy) {
  const temporary_directory folder;
  const std::string file = (folder.path() / "policy").string();
  policy_card about;
  about.command =
      "rubato-lab train --agent es --scenario random --and so on, which makes a line of more than 120 columns: "
      "it goes on in the next one";
  ASSERT_TRUE(save_residual_policy(file, correction_of_knee{numbered_correction(), some_range()}, about));
  const std::string header = lab::as_header(file);
  const auto expected = numbered_correction();
  EXPECT_EQ(numbers_of(header, "parameters"),
            (std::vector<float>{expected.parameters().begin(), expected.parameters().end()}));
  EXPECT_EQ(numbers_of(header, "least"), std::vector<float>(progress_state::dim, -2.5F));
  EXPECT_EQ(numbers_of(header, "most"), std::vector<float>(progress_state::dim, 3.0F));
  EXPECT_NE(header.find("using network = rubato::nn::mlp<9, 3, 2>;"), std::string::npos) << header;
  EXPECT_NE(header.find("activation_kind::leaky_relu, 0.25}"), std::string::npos) << header;
  EXPECT_NE(header.find(" 2.0F,"), std::string::npos) << "a literal of C++";
  std::istringstream lines{header};
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
}

// With the activation that it was trained with.
TEST(Export, TheHeaderMakesTheNetwork) {
  const temporary_directory folder;
  const std::string file = (folder.path() / "policy").string();
  const nn::dynamic_mlp expected = numbered_correction();
  ASSERT_TRUE(save_residual_policy(file, correction_of_knee{expected, some_range()}));
  folder.write("my_weights.hpp", lab::as_header(file));
  folder.write("host.cpp", R"(#include "my_weights.hpp"
#include <cstdio>
int main() {
  const exported::network made = exported::trained();
  std::array<float, 9> seen;
  for (int i = 0; i < 9; ++i) seen[i] = 0.25F * static_cast<float>(i) - 1.0F;
  std::array<float, 2> answers;
  made.evaluate(seen, answers);
  std::printf("%.9g %.9g", answers[0], answers[1]);
}
)");
  const test::outcome got = test::shell("cd '" + folder.path().string() +
                                        "' && " RUBATO_CXX " -std=c++20 -O2 -Wall -Wextra -Werror -I '" RUBATO_SOURCE_DIR
                                        "/include' host.cpp -o host 2>&1 && ./host");
  ASSERT_EQ(got.status, 0) << got.text;
  std::array<float, progress_state::dim> seen;
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = 0.25F * static_cast<float>(i) - 1.0F;
  std::array<float, corrections> answers;
  expected.evaluate(seen, answers);
  std::istringstream words{got.text};
  for (const float answer : answers) {
    float made = 0.0F;
    words >> made;
    EXPECT_FLOAT_EQ(made, answer) << got.text;
  }
}

TEST(Export, ALinearPolicyHasNoActivation) {
  const std::string header = lab::as_header(shipped("examples/lab/policies/learned.safetensors").string());
  EXPECT_NE(header.find("using network = rubato::nn::mlp<9, 2>;"), std::string::npos) << header;
  EXPECT_EQ(header.find("hidden"), std::string::npos) << header;
}

// Its weights and range, as the library has them.
TEST(Export, TheLibraryHasWhatItPrints) {
  const std::string header = lab::as_header(shipped("examples/lab/policies/learned.safetensors").string());
  const std::string arrays = header.substr(header.find("inline constexpr"));
  const std::string printed = arrays.substr(0, arrays.find("\n\n"));
  std::ifstream stream{shipped("include/rubato/learned/builtin_weights.hpp")};
  const std::string in_library{std::istreambuf_iterator<char>{stream}, {}};
  EXPECT_NE(in_library.find(printed), std::string::npos) << printed;
}

TEST(Export, ABackslashTakesInNothing) {
  const temporary_directory folder;
  const std::string file = (folder.path() / "policy").string();
  for (const char* command : {"train \\", "train \\ ", "train \\  "}) {  // compilers look behind spaces, too
    policy_card about;
    about.command = command;
    ASSERT_TRUE(save_residual_policy(file, correction_of_knee{numbered_correction(), some_range()}, about));
    EXPECT_TRUE(lab::as_header(file).starts_with("// Trained by: train \\.\n#pragma once\n")) << lab::as_header(file);
  }
}

TEST(Export, RefusesOtherPolicies) {
  const temporary_directory folder;
  const std::string file = (folder.path() / "policy").string();
  ASSERT_TRUE(save_q_policy(
      file, q_policy<cluster_state, nn::dynamic_mlp>{*nn::dynamic_mlp::make({cluster_state::dim, group_actions})}));
  EXPECT_NE(message_of<support::user_error>([&] { return lab::as_header(file); }).find("expected \"progress\""),
            std::string::npos);
}

TEST(Export, RefusesAFileWithoutARange) {
  const temporary_directory folder;
  const std::string file = (folder.path() / "policy").string();
  ASSERT_TRUE(save_residual_policy(file, correction_of_knee{numbered_correction()}));
  EXPECT_EQ(message_of<support::user_error>([&] { return lab::as_header(file); }),
            file + ": found no obs_range/, expected a policy that knows what it was trained on");
}

}  // namespace
