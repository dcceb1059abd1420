// `compare`: reads what was asked for, compares, writes what was found.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <rubato/io/atomic_file.hpp>
#include <thread>

#include "commands.hpp"
#include "compare.hpp"
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
  output(const std::string& file, std::string option) : option_{std::move(option)} {
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
  }

  void write(const std::string& text) {
    if (file_) (*file_)(text);
    commit();
  }

 private:
  std::string option_;
  std::optional<atomic_file> file_;
};

[[nodiscard]] compare_options options_of(const compare_arguments& given) {
  compare_options asked{.scenario = support::find_scenario(given.scenario, shipped("examples/lab/scenarios")),
                        .policies = parse_policies(given.policies, given.tune),
                        .seed = given.seed,
                        .seeds = given.seeds,
                        .tune = given.tune,
                        .tuning_seeds = given.tuning_seeds};
  support::apply_settings(asked.scenario, given.settings);
  return asked;
}

}  // namespace

int run_compare(const compare_arguments& given) {
  const compare_options asked = options_of(given);
  const training_data data =
      load_data(asked.scenario, given.data.empty() ? shipped("examples/data") : std::filesystem::path{given.data});
  const bool json_to_screen = given.json == "-";
  output json{json_to_screen ? "" : given.json, "--json"};
  output every_run{given.csv, "--csv"};
  output log{given.log, "--log"};
  output trace{given.trace, "--trace"};
  const auto cache =
      given.no_cache ? std::make_unique<result_cache>() : std::make_unique<result_cache>(given.cache, code_version());

  const runner run{.data = data,
                   .cache = *cache,
                   .threads = given.threads > 0 ? given.threads : std::max(1U, std::thread::hardware_concurrency()),
                   .stop = catch_interrupt(),
                   .progress = std::cerr,
                   .display = {.quiet = given.quiet}};
  const comparison made = compare(asked, run);

  const std::string document = to_json(made).dump(2) + "\n";
  std::cout << (json_to_screen ? document : table(made, given.by_hidden_layers)) << std::flush;
  json.write(document);
  every_run.write(csv(made));
  if (made.interrupted) return interrupted_status;

  if (log.get() != nullptr || trace.get() != nullptr) {
    record_first_run(made, data, log.get(), trace.get());
    log.commit();
    trace.commit();
    (json_to_screen ? std::cerr : std::cout)
        << "log and trace: the run of " << made.rows.front().name << " with seed " << asked.seed << '\n';
  }
  return 0;
}

}  // namespace rubato::lab
