#include "../../examples/lab/growth_tables.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../examples/lab/growth_models.hpp"
#include "../../examples/lab/growth_tasks.hpp"
#include "../../examples/lab/plane_points.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_program.hpp"
#include "temporary_directory.hpp"

namespace rubato::lab::growth_tables_test {
namespace {

using rubato::support::user_error;
using rubato::test::message_of;

const plane_points& spirals() {
  static const plane_points points = points_of("spirals", 700, 1);
  return points;
}
sim::data_split few() { return sim::split(spirals().view(), 400, 300); }
const growth_job_options small{.hidden = {6, 4}, .epochs = 10, .batch = 32};

std::vector<float> outputs_of(const growth_job& job) {
  std::vector<float> outputs;
  for (std::size_t n = 0; n < 20; ++n) {
    const auto pixels = spirals().view().image(n);
    const std::vector<float> input{static_cast<float>(pixels[0]) / 255, static_cast<float>(pixels[1]) / 255};
    std::vector<float> output(2);
    job.network().evaluate(input, output);
    outputs.insert(outputs.end(), output.begin(), output.end());
  }
  return outputs;
}
std::vector<float> parameters_of(const growth_job& job) {
  const auto all = job.network().parameters();
  return {all.begin(), all.end()};
}

TEST(PlanePoints, PointsAreOfTheirPattern) {
  const plane_points checkers = points_of("checkers", 500, 3);
  for (std::size_t n = 0; n < 500; ++n) {
    const auto at = checkers.view().image(n);
    const double x = at[0] / 63.75, y = at[1] / 63.75;
    if (std::abs(x - std::round(x)) < 0.02 || std::abs(y - std::round(y)) < 0.02) continue;  // rounded across a line
    EXPECT_EQ(checkers.labels[n], (static_cast<int>(x) + static_cast<int>(y)) % 2);
  }
  EXPECT_EQ(points_of("spirals", 50, 3).coordinates, points_of("spirals", 50, 3).coordinates);
  EXPECT_NE(points_of("spirals", 50, 3).coordinates, points_of("spirals", 50, 4).coordinates);
  EXPECT_TRUE(spirals().view().consistent());
  const auto ones = std::ranges::count(spirals().labels, 1);
  EXPECT_GT(ones, 250);
  EXPECT_LT(ones, 450);
  EXPECT_EQ(message_of<user_error>([] { return points_of("rings", 5, 1).labels.size(); }),
            "pattern \"rings\": expected checkers or spirals");
}

TEST(GrowthJob, LearnsAndStopsAtTheBudget) {
  growth_job job{few(), {.hidden = {16, 16}, .epochs = 60, .batch = 16}, 1};
  const double before = job.accuracy();
  int epochs = 0;
  while (job.train()) ++epochs;
  EXPECT_EQ(epochs, 60);
  EXPECT_NEAR(job.time_left(), 0, 1e-9);
  EXPECT_GT(job.accuracy(), before + 0.1);
  const std::vector<float> last = parameters_of(job);
  EXPECT_FALSE(job.train());
  EXPECT_EQ(parameters_of(job), last);
}

// An epoch of the grown model takes a number that no double is, and the budget is so many of them: sums are rounded.
TEST(GrowthJob, TimeLeftIsNeverBelowZero) {
  const double epoch = (2 * 2 + 2 * 2 + 2 * 2) / (2 * 2 + 2 * 2.0);
  bool is_zero = false;
  for (int epochs = 1; epochs < 20; ++epochs)
    for (const double slack : {0.0, 4e-10}) {
      growth_job job{few(), {.hidden = {2}, .epochs = epoch * epochs - slack}, 1};
      job.deepen(0);
      while (job.train()) {
      }
      EXPECT_GE(job.time_left(), 0) << epochs;
      is_zero = is_zero || job.time_left() == 0;
    }
  EXPECT_TRUE(is_zero);
}

TEST(GrowthJob, DeepeningKeepsTheOutputs) {
  growth_job job{few(), small, 1};
  job.train();
  const std::vector<float> before = outputs_of(job);
  for (const std::size_t block : {1U, 0U, 1U, 0U}) {
    job.deepen(block);
    EXPECT_EQ(outputs_of(job), before);
  }
  std::vector<std::size_t> widths;
  for (const auto& layer : job.network().layers()) widths.push_back(layer.outputs);
  EXPECT_EQ(widths, (std::vector<std::size_t>{6, 6, 6, 4, 4, 4, 2}));
  job.train();
  EXPECT_NE(outputs_of(job), before) << "it learns on";
}

float farthest(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST(GrowthJob, WideningKeepsTheOutputsButForNoise) {
  const auto moved = [](double noise) {
    growth_job_options options = small;
    options.widening_noise = noise;
    growth_job job{few(), options, 1};
    job.train();
    float most = 0;
    for (const std::size_t block : {1U, 0U, 1U}) {
      const std::vector<float> before = outputs_of(job);
      job.widen(block);
      most = std::max(most, farthest(outputs_of(job), before));
    }
    return most;
  };
  EXPECT_LT(moved(0), 1e-6F);
  EXPECT_LT(moved(0.01), 0.05F);
  EXPECT_GT(moved(0.01), 1e-5F) << "copies differ a little";
  EXPECT_GT(moved(1), 4 * moved(0.01));
}

TEST(GrowthJob, WideningTakesInsertionsAlong) {
  growth_job_options options = small;
  options.widening_noise = 0;
  growth_job job{few(), options, 1};
  job.train();
  job.deepen(0), job.deepen(1);
  const std::vector<float> before = outputs_of(job);
  job.widen(0), job.widen(1);
  EXPECT_LT(farthest(outputs_of(job), before), 1e-6F);
  std::vector<std::size_t> widths;
  for (const auto& layer : job.network().layers()) widths.push_back(layer.outputs);
  EXPECT_EQ(widths, (std::vector<std::size_t>{12, 12, 8, 8, 2}));
  const double left = job.time_left();
  job.train();
  EXPECT_DOUBLE_EQ(job.time_left(), left - (2 * 12 + 12 * 12 + 12 * 8 + 8 * 8 + 8 * 2) / (2 * 6 + 6 * 4 + 4 * 2.0));
}

TEST(GrowthJob, DeeperTakesLonger) {
  growth_job job{few(), small, 1};
  job.train();
  EXPECT_DOUBLE_EQ(job.time_left(), 9);
  job.deepen(0);
  job.train();
  EXPECT_DOUBLE_EQ(job.time_left(), 9 - (2 * 6 + 6 * 6 + 6 * 4 + 4 * 2) / (2 * 6 + 6 * 4 + 4 * 2.0));
}

TEST(GrowthJob, ACopyGoesOnByItself) {
  growth_job job{few(), small, 1};
  job.train();
  growth_job copy = job, other = job;
  copy.deepen(0);
  while (copy.train()) {
  }
  EXPECT_DOUBLE_EQ(job.time_left(), 9);
  job.train();
  other.train();
  EXPECT_EQ(parameters_of(job), parameters_of(other));
}

TEST(GrowthJob, SameSeedSameAccuracy) {
  const auto weights_of = [](std::uint64_t seed) {
    growth_job job{few(), small, seed};
    job.train();
    return parameters_of(job);
  };
  EXPECT_EQ(weights_of(1), weights_of(1));
  EXPECT_NE(weights_of(1), weights_of(2));
}

TEST(GrowthTables, EachSequenceIsATraining) {
  const tabled_job of{.job = small, .at = 0.35, .steps = 2};
  const auto all = every_outcome(of, few(), 7);
  ASSERT_EQ(all.size(), 9U);
  for (std::size_t number = 0; number < 9; ++number) {
    growth_job job{few(), small, 7};
    for (int e = 0; e < 4; ++e) job.train();
    const std::size_t first = number / 3, second = number % 3;
    EXPECT_EQ(all[number].time_left.at(0), job.time_left());
    if (first < 2) job.deepen(first);
    job.train();
    EXPECT_EQ(all[number].time_left.at(1), job.time_left());
    if (second < 2) job.deepen(second);
    while (job.train()) {
    }
    EXPECT_EQ(all[number].accuracy, job.accuracy()) << number;
  }
}

TEST(GrowthTables, WideningIsAnAction) {
  const tabled_job of{.job = small, .at = 0.35, .steps = 1, .widens = true};
  const auto all = every_outcome(of, few(), 7);
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t action = 0; action < 5; ++action) {
    growth_job job{few(), small, 7};
    for (int e = 0; e < 4; ++e) job.train();
    if (action < 2) job.deepen(action);
    if (action == 2 || action == 3) job.widen(action - 2);
    while (job.train()) {
    }
    EXPECT_EQ(all[action].accuracy, job.accuracy()) << action;
  }
}

TEST(GrowthTables, RepeatsAreAveraged) {
  const std::vector<adapt::growth_outcome> one{{0.25, {5}}, {0.5, {5}}}, two{{0.75, {5}}, {0.5, {5}}};
  const repeated_table made = mean_of({one, two}, 2, 10);
  EXPECT_EQ(made.table.accuracy(0), 0.5);
  EXPECT_EQ(made.table.accuracy(1), 0.5);
  EXPECT_EQ(made.table.budget(), 10);
  EXPECT_DOUBLE_EQ(made.standard_error, std::sqrt((0.25 * 0.25 + 0) / 2)) << "0.25 of the first, 0 of the second";
  EXPECT_DOUBLE_EQ(made.of_difference, 0.125) << "from the means 0.375 and 0.625";
  EXPECT_TRUE(std::isnan(mean_of({one}, 2, 10).standard_error));
}

TEST(GrowthTables, ATableIsReadAgain) {
  const test::temporary_directory files;
  const adapt::growth_table table =
      mean_of({every_outcome({.job = small, .at = 0.35, .steps = 2}, few(), 7)}, 3, small.epochs).table;
  std::ofstream{files.path() / "t.csv"} << as_csv(table);
  const adapt::growth_table again = read_growth_table(files.path() / "t.csv");
  ASSERT_EQ(again.sequences(), table.sequences());
  EXPECT_EQ(again.budget(), table.budget());
  for (std::size_t n = 0; n < table.sequences(); ++n) {
    EXPECT_EQ(again.accuracy(n), table.accuracy(n));
    EXPECT_EQ(again.outcome(n).time_left, table.outcome(n).time_left);
  }
}

TEST(GrowthModels, APerceptronIsWhatTheJobTrains) {
  adapt::growable_model model = perceptron(2, {6, 4}, 2, true);
  growth_job job{few(), small, 1};
  for (const std::size_t block : {1U, 0U, 1U})
    model.deepen(block), job.deepen(block), model.widen(block), job.widen(block);
  std::vector<std::string> expected;
  for (const auto& layer : job.network().layers()) {
    expected.push_back("Linear(in_features=" + std::to_string(layer.inputs) +
                       ", out_features=" + std::to_string(layer.outputs) + ", bias=True)");
    expected.push_back("ReLU()");
  }
  expected.pop_back();
  EXPECT_EQ(std::vector<std::string>(model.layers().begin(), model.layers().end()), expected);
}

TEST(GrowthModels, AModelIsReadAgain) {
  const test::temporary_directory files;
  for (const adapt::growable_model& model :
       {published_model("convnet2"), perceptron(2, {6, 4}, 2), perceptron(2, {6}, 2, true)}) {
    std::ofstream{files.path() / "model.json"} << as_json(model);
    const adapt::growable_model again = read_growable_model(files.path() / "model.json");
    EXPECT_EQ(as_json(again), as_json(model));
    EXPECT_EQ(again.actions(), model.actions());
  }
}

TEST(GrowthModels, SaysWhatIsWrongWithAModel) {
  const test::temporary_directory files;
  const std::filesystem::path path = files.path() / "model.json";
  const auto refusal = [&](const std::string& text) {
    std::ofstream{path} << text;
    const std::string said = message_of<user_error>([&] { return read_growable_model(path).insertions(); });
    return said.substr(std::min(said.size(), path.string().size() + 2));
  };
  EXPECT_EQ(refusal(R"({"layers": ["a"], "blocks": [{"first": 0, "layers": 1, "insertion": ["b"]}]})"), "");
  EXPECT_EQ(refusal("[1]"), "found no JSON object, expected one");
  EXPECT_EQ(refusal(R"({"layers": "a"})"), "found no array \"layers\", expected one");
  EXPECT_EQ(refusal(R"({"layers": [1], "blocks": []})"), "layers: found 1, expected strings");
  EXPECT_EQ(refusal(R"({"layers": ["a"]})"), "found no array \"blocks\", expected one");
  EXPECT_EQ(refusal(R"({"layers": ["a"], "blocks": [], "name": 1})"), "found \"name\", which is no part of a model");
  EXPECT_EQ(refusal(R"({"layers": ["a"], "blocks": [3]})"), "block 0: found 3, expected an object");
  EXPECT_EQ(refusal(R"({"layers": ["a"], "blocks": [{"first": -1}]})"),
            "block 0: found no \"first\" from 0 to 1000000, expected one");
  EXPECT_EQ(refusal(R"({"layers": ["a"], "blocks": [{"first": 0, "layers": 1, "insertion": ["b"], "widens": 1}]})"),
            "block 0: widens: found 1, expected true or false");
  EXPECT_EQ(refusal(R"({"layers": ["a"], "blocks": []})"),
            "growable_model: found no block that can be deepened, expected at least 1");
}

// What a model's file is refused with, but for its name.
std::string refusal_of_model(const std::string& text) {
  const test::temporary_directory files;
  const std::filesystem::path path = files.path() / "model.json";
  files.write("model.json", text);
  const std::string said = message_of<user_error>([&] { return read_growable_model(path).insertions(); });
  EXPECT_TRUE(said.empty() || said.starts_with(path.string() + ": ")) << said.substr(0, 500);
  return said.substr(std::min(said.size(), path.string().size() + 2));
}
std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(GrowthModels, AModelThatIsNestedTooDeepIsRefused) {
  const std::string refusal = "found nesting deeper than 64 levels, expected a document of few";
  for (const char* const before : {R"({"layers":[)", R"({"layers":["a"],"blocks":[)",
                                   R"({"layers":["a"],"blocks":[{"widens":[)", R"({"layers":["a"],"blocks":[],"a":[)"})
    EXPECT_EQ(refusal_of_model(before + nested(500'000) + (std::string{before}.ends_with("s\":[") ? "]}" : "]}]}")),
              refusal)
        << before;
  EXPECT_EQ(refusal_of_model(std::string(1'000'000, '[')), refusal) << "that nobody closes";
  EXPECT_EQ(refusal_of_model(R"({"layers":[)" + nested(63) + "]}"), refusal);
  EXPECT_EQ(refusal_of_model(R"({"layers":[)" + nested(62) + "]}").substr(0, 18), "layers: found [[[[");
}

TEST(GrowthModels, AModelThatIsTooLargeIsRefused) {
  std::string text = R"({"layers": ["a"], "blocks": [{"first": 0, "layers": 1, "insertion": ["b"]}]})";
  text.resize(std::size_t{1} << 20, ' ');
  EXPECT_EQ(refusal_of_model(text), "");
  EXPECT_EQ(refusal_of_model(text + ' '), "found more than 1048576 bytes, expected at most that");
  EXPECT_EQ(message_of<user_error>([] { return read_growable_model("/dev/zero").insertions(); }),
            "/dev/zero: found a device or pipe, expected a regular file");
}

TEST(GrowthModels, AFolderIsNoModel) {
  const test::temporary_directory files;
  EXPECT_EQ(message_of<user_error>([&] { return read_growable_model(files.path()).insertions(); }),
            files.path().string() + ": found a directory, expected a regular file");
}

TEST(GrowthModels, NobodyWaitsForAPipe) {
  const test::temporary_directory files;
  const std::string pipe = (files.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message_of<user_error>([&] { return read_growable_model(pipe).insertions(); }),
            pipe + ": found a device or pipe, expected a regular file");
}

TEST(GrowthModels, AKeyThatIsRepeatedIsRefused) {
  const std::string refusal = refusal_of_model(R"({"layers": ["a"], "layers": ["b"], "blocks": []})");
  EXPECT_NE(refusal.find("layers"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("once"), std::string::npos) << refusal;
}

TEST(GrowthModels, ALongValueOfAModelIsNotRepeatedWhole) {
  const std::string longest = std::string(1'000'000, 'x'), shown = '"' + std::string(56, 'x') + "...";
  const auto one_block = [&](const std::string& members) { return R"({"layers":["a"],"blocks":[{)" + members + "}]}"; };
  EXPECT_EQ(refusal_of_model(R"({"layers":[{"a":")" + longest + R"("}]})").substr(0, 25),
            R"(layers: found {"a":"xxxxx)");
  EXPECT_EQ(refusal_of_model(R"({"layers":["a"],"blocks":[")" + longest + R"("]})"),
            "block 0: found " + shown + ", expected an object");
  EXPECT_EQ(refusal_of_model(one_block(R"("widens":")" + longest + '"')),
            "block 0: widens: found " + shown + ", expected true or false");
  EXPECT_EQ(refusal_of_model(one_block('"' + longest + "\":1")),
            "block 0: found " + shown + ", which is no part of a model");
  EXPECT_EQ(refusal_of_model("{\"" + longest + "\":1}"), "found " + shown + ", which is no part of a model");
  EXPECT_LT(refusal_of_model(R"({"layers":[{"a":")" + longest + R"("}]})").size(), 500U);
}

TEST(GrowthProgram, MakesTablesAndLearnsFromThem) {
  const test::lab_program lab;
  const std::string small_ones = "growth tables --samples 60 --hidden 3,3 --epochs 8 --steps 2 --repeats 2 --quiet ";
  EXPECT_EQ(lab.run(small_ones + "--threads 1 --out one").status, 0);
  EXPECT_EQ(lab.run(small_ones + "--threads 3 --out two/three").status, 0);
  for (const char* const file : {"checkers.json", "checkers_early.csv", "checkers_late.csv"})
    EXPECT_EQ(lab.content("one/" + std::string{file}), lab.content("two/three/" + std::string{file})) << file;
  EXPECT_EQ(read_growth_tasks(lab.folder.path() / "one").size(), 5U);
  EXPECT_EQ(lab.run("growth train --tables one --updates 2 --quiet").status, 0);

  EXPECT_EQ(lab.run(small_ones + "--widen --widening-noise 0.5 --name wide --out one").status, 0);
  const auto both = read_growth_tasks(lab.folder.path() / "one");
  ASSERT_EQ(both.size(), 10U);
  EXPECT_EQ(both.front().start.actions(), 3U);
  EXPECT_EQ(both.back().start.actions(), 5U);
  EXPECT_EQ(lab.run("growth train --tables one --network blocks --updates 2 --quiet --save agent.json").status, 0);
  EXPECT_EQ(lab.run("growth eval agent.json --tables one").status, 0);
  const auto of_wide = lab.run("growth train --tables one --reinforce wide:5 --quiet --json -");
  EXPECT_EQ(of_wide.status, 0);
  EXPECT_EQ(nlohmann::json::parse(of_wide.text)["agents"][0]["scenarios"].size(), 5U) << "those that it can be asked";
}

TEST(GrowthProgram, ImpossibleTablesAreOneLineAndStatus2) {
  const test::lab_program lab;
  const auto refusal = [&](const std::string& options) {
    const auto made = lab.run("growth tables --quiet " + options + " 2>&1");
    EXPECT_EQ(made.status, 2) << options;
    EXPECT_EQ(std::ranges::count(made.text, '\n'), 1) << made.text;
    return made.text;
  };
  EXPECT_NE(refusal("--hidden 3,x --out o").find("--hidden: found \"x\" in \"3,x\", expected widths from 1 to 1024"),
            std::string::npos);
  EXPECT_NE(refusal("--name a/b --out o").find("--name: found \"a/b\", expected a name of files"), std::string::npos);
  EXPECT_NE(refusal("--data nowhere --out o").find("nowhere"), std::string::npos);
  EXPECT_NE(refusal("--out quick.json").find("--out: quick.json"), std::string::npos);
  EXPECT_NE(
      refusal("--hidden 300 --widen --out o").find("--hidden: found 300, doubled 3 times 2400, expected at most 2048"),
      std::string::npos);
  EXPECT_NE(refusal("--hidden 1,1,1,1,1,1,1,1 --steps 6 --out o")
                .find("--steps: found 6, with 9 actions 531441 sequences, expected at most 100000"),
            std::string::npos);
  EXPECT_NE(refusal("--widening-noise 1 --out o").find("--widen"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "o"));
}

}  // namespace
}  // namespace rubato::lab::growth_tables_test
