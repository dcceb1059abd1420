// `compare`: reads what was asked for, compares, writes what was found.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <rubato/io/atomic_file.hpp>
#include <system_error>
#include <utility>

#include "commands.hpp"
#include "compare.hpp"
#include "given.hpp"
#include "interrupt.hpp"
#include "record_run.hpp"
#include "report.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

/// A result file; opened before anything is computed, so that nobody waits an hour to learn that it cannot be written.
class output {
 public:
  output(const std::string& file, std::string option) : name_{file}, option_{std::move(option)} {
    if (file.empty()) return;
    if (file == "-") throw user_error{option_ + ": found \"-\", expected the name of a file"};
    auto opened = atomic_file::create(file);
    if (!opened) throw user_error{option_ + ": " + opened.error().message};
    file_ = std::move(*opened);
  }

  [[nodiscard]] atomic_file* get() { return file_ ? &*file_ : nullptr; }

  void commit() {
    if (!file_) return;
    if (const auto done = file_->commit(); !done) throw user_error{option_ + ": " + done.error().message};
    std::error_code ignored;
    std::filesystem::remove(partial(), ignored);  // of an earlier call, which was interrupted
  }

  void write(const std::string& text) {
    if (file_) (*file_)(text);
    commit();
  }

  /// In place of write() after an interruption: FILE keeps what it had, FILE.partial gets the text. Its name, or
  /// nothing where no file was asked for.
  [[nodiscard]] std::string write_partial(const std::string& text) {
    if (!file_) return {};
    file_.reset();
    if (const auto done = write_file(partial(), text); !done) throw user_error{option_ + ": " + done.error().message};
    return partial();
  }

 private:
  [[nodiscard]] std::string partial() const { return name_ + ".partial"; }

  std::string name_;
  std::string option_;
  std::optional<atomic_file> file_;
};

// Of two outputs with one name, the second would replace the first.
void check_outputs(const compare_arguments& given) {
  std::map<std::filesystem::path, std::string> options;
  for (const auto& [option, file] : {std::pair<std::string, std::string>{"--json", given.json},
                                     {"--csv", given.csv},
                                     {"--log", given.log},
                                     {"--trace", given.trace}}) {
    if (file.empty() || file == "-") continue;
    std::error_code error;
    std::filesystem::path place = std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
    if (error) continue;  // opening it says what is wrong
    const auto [other, added] = options.emplace(std::move(place), option);
    if (!added)
      throw user_error{option + ": found \"" + file + "\", which " + other->second +
                       " names too, expected a file of its own"};
  }
}

// Says on standard error what an interruption left. Nothing that was complete before is replaced.
void report_interruption(const std::vector<std::string>& files, bool json_to_screen, bool records) {
  std::string said = "rubato-lab: interrupted";
  if (json_to_screen) said += "; --json -: nothing printed";
  for (std::size_t i = 0; i < files.size(); ++i) said += (i == 0 ? "; partial result in " : ", ") + files[i];
  if (records) said += "; no log, no trace";
  std::cerr << said << '\n';
}

[[nodiscard]] compare_options options_of(const compare_arguments& given) {
  compare_options asked{.scenario = support::find_scenario(given.scenario, shipped("examples/lab/scenarios")),
                        .policies = parse_policies(given.policies, given.tune),
                        .seed = given.seed,
                        .seeds = given.seeds,
                        .tune = given.tune,
                        .tuning_seeds = given.tuning_seeds,
                        .clairvoyant = given.clairvoyant};
  support::apply_settings(asked.scenario, given.settings);
  fit_policies(asked.policies, asked.scenario.cluster.workers);
  return asked;
}

}  // namespace

int run_compare(const compare_arguments& given) {
  const compare_options asked = options_of(given);
  const training_data data = given_data(asked.scenario, given.data);
  const bool json_to_screen = given.json == "-";
  check_outputs(given);
  output json{json_to_screen ? "" : given.json, "--json"};
  output every_run{given.csv, "--csv"};
  output log{given.log, "--log"};
  output trace{given.trace, "--trace"};
  const auto cache =
      given.no_cache ? std::make_unique<result_cache>() : std::make_unique<result_cache>(given.cache, code_version());

  const runner run{.data = data,
                   .cache = *cache,
                   .threads = given_threads(given.threads),
                   .stop = catch_interrupt(),
                   .progress = std::cerr,
                   .display = {.quiet = given.quiet}};
  const comparison made = compare(asked, run);

  const std::string document = to_json(made).dump(2) + "\n";
  const bool records = log.get() != nullptr || trace.get() != nullptr;
  if (made.interrupted) {
    std::vector<std::string> files{json.write_partial(document), every_run.write_partial(csv(made))};
    std::erase(files, "");
    if (!json_to_screen) std::cout << table(made, given.by_hidden_layers) << std::flush;
    report_interruption(files, json_to_screen, records);
    return interrupted_status();
  }
  json.write(document);  // files first: whoever reads the table may close the pipe
  every_run.write(csv(made));
  std::cout << (json_to_screen ? document : table(made, given.by_hidden_layers)) << std::flush;

  if (records) {
    record_first_run(made, data, log.get(), trace.get());
    log.commit();
    trace.commit();
    (json_to_screen ? std::cerr : std::cout)
        << "log and trace: the run of " << made.rows.front().name << " with seed " << asked.seed << '\n';
  }
  return 0;
}

}  // namespace rubato::lab
