// `growth tables`: tables of what each way of growing a small perceptron comes to, for agents to learn from.
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "aligned_text.hpp"
#include "commands.hpp"
#include "given.hpp"
#include "growth_models.hpp"
#include "growth_tables.hpp"
#include "growth_tasks.hpp"
#include "interrupt.hpp"
#include "number_text.hpp"
#include "output_file.hpp"
#include "plane_points.hpp"
#include "support/image_files.hpp"
#include "support/name_parts.hpp"
#include "support/parallel.hpp"
#include "support/progress.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

constexpr std::size_t held_out_points = 5'000;
constexpr std::uint64_t points_seed = 0;

// When devices come free, as in the report: 70 to 330 of 400 seconds.
constexpr std::array<std::pair<const char*, double>, 5> scenarios{
    {{"early", 0.175}, {"early_middle", 0.35}, {"middle", 0.5}, {"middle_late", 0.675}, {"late", 0.825}}};

[[nodiscard]] std::vector<std::size_t> widths_in(const std::string& text) {
  std::vector<std::size_t> widths;
  for (const std::string_view part : support::split(text, ',')) {
    const auto width = support::number_in<std::size_t>(part);
    if (!width || *width == 0 || *width > 1'024)
      throw support::user_error{"--hidden: found \"" + std::string{part} + "\" in \"" + text +
                                "\", expected widths from 1 to 1024"};
    widths.push_back(*width);
  }
  if (widths.size() > 8)
    throw support::user_error{"--hidden: found " + std::to_string(widths.size()) + " widths, expected at most 8"};
  return widths;
}

// A table must be one that can be read again, and the widest model one that can be made.
void check_sizes(const growth_tables_arguments& given, const std::vector<std::size_t>& hidden, std::uint32_t actions) {
  std::uint64_t sequences = 1;
  for (std::uint32_t step = 0; step < given.steps; ++step) sequences *= actions;
  if (sequences > most_sequences)
    throw support::user_error{"--steps: found " + std::to_string(given.steps) + ", with " + std::to_string(actions) +
                              " actions " + std::to_string(sequences) + " sequences, expected at most " +
                              std::to_string(most_sequences)};
  if (!given.widen) return;
  for (const std::size_t width : hidden)
    if (width << given.steps > nn::max_hidden_width)
      throw support::user_error{"--hidden: found " + std::to_string(width) + ", doubled " +
                                std::to_string(given.steps) + " times " + std::to_string(width << given.steps) +
                                ", expected at most " + std::to_string(nn::max_hidden_width)};
}

// Owns what the split is of.
struct samples {
  plane_points points{};
  support::image_set images{};
  sim::data_split split{};
};
void read_samples(const growth_tables_arguments& given, samples& to) {
  if (given.data.empty()) {
    to.points = points_of(given.pattern, given.samples + held_out_points, points_seed);
    to.split = sim::split(to.points.view(), given.samples, held_out_points);
    return;
  }
  to.images = support::read_image_set(given.data);
  const sim::dataset all{to.images.pixels, to.images.labels, to.images.inputs, to.images.classes};
  const std::size_t known = to.images.training_samples();
  to.split = {all.slice(0, std::min<std::size_t>(given.samples, known)), all.slice(known, all.samples() - known)};
}

}  // namespace

int run_growth_tables(const growth_tables_arguments& given) {
  const std::string name = !given.name.empty() ? given.name : given.data.empty() ? given.pattern : "images";
  if (name.find_first_of("/\\") != std::string::npos)
    throw support::user_error{"--name: found \"" + name + "\", expected a name of files"};
  samples data;
  read_samples(given, data);
  tabled_job tabled{.job = {.hidden = widths_in(given.hidden),
                            .epochs = given.epochs,
                            .learning_rate = given.learning_rate,
                            .widening_noise = given.widening_noise},
                    .steps = given.steps,
                    .widens = given.widen};
  const adapt::growable_model model = model_of(tabled, data.split);
  const auto actions = static_cast<std::uint32_t>(model.actions());
  check_sizes(given, tabled.job.hidden, actions);
  std::error_code failed;
  std::filesystem::create_directories(given.out, failed);
  if (failed) throw support::user_error{"--out: " + given.out + ": " + failed.message()};
  const std::filesystem::path folder{given.out};
  std::vector<output_file> files;
  files.reserve(1 + scenarios.size());
  files.emplace_back((folder / (name + ".json")).string(), "--out");
  for (const auto& [scenario, at] : scenarios)
    files.emplace_back((folder / (name + "_" + scenario + ".csv")).string(), "--out");

  std::vector<std::vector<std::vector<adapt::growth_outcome>>> outcomes(
      scenarios.size(), std::vector<std::vector<adapt::growth_outcome>>(given.repeats));
  const std::atomic<bool>& stop = catch_interrupt();
  support::progress shown{std::cerr, "training", scenarios.size() * given.repeats, {.quiet = given.quiet}};
  support::share_out(
      scenarios.size() * given.repeats, given_threads(given.threads), stop, [] { return 0; },
      [&](int, std::size_t nth) {
        tabled_job own = tabled;
        const std::size_t scenario = nth % scenarios.size(), repeat = nth / scenarios.size();
        own.at = scenarios[scenario].second;
        outcomes[scenario][repeat] = every_outcome(own, data.split, given.first_seed + repeat);
        shown.advance();
      });
  if (stop) {
    std::cerr << "rubato-lab: interrupted; nothing is written\n";
    return interrupted_status();
  }

  std::vector<std::vector<std::string>> rows{
      {"scenario", "nothing", "by chance", "best", "sequence", "standard error", "of differences"}};
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    const repeated_table made = mean_of(outcomes[s], actions, tabled.job.epochs);
    const adapt::growth_table& table = made.table;
    std::size_t best = 0;
    while (table.rank(best) != 1) ++best;
    std::string sequence;
    for (const std::uint32_t action : table.actions_of(best))
      sequence += (sequence.empty() ? "" : ",") + std::to_string(action);
    rows.push_back({scenarios[s].first, decimals(table.accuracy(table.sequences() - 1), 4), decimals(table.mean(), 4),
                    decimals(table.best(), 4), sequence, decimals(made.standard_error, 4),
                    decimals(made.of_difference, 4)});
    files[s + 1].write(as_csv(table));
  }
  files[0].write(as_json(model));
  std::cout << aligned_text(rows) << "written: " << (folder / name).string() << ".json and " << scenarios.size()
            << " tables\n";
  return 0;
}

}  // namespace rubato::lab
