#ifndef RUBATO_EXAMPLES_LAB_GROWTH_TASKS_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_TASKS_HPP

#include <filesystem>
#include <rubato/adapt/growth/growable_model.hpp>
#include <rubato/adapt/growth/growth_table.hpp>
#include <string>
#include <vector>

namespace rubato::lab {

/// A model that grows when devices come free at some time, and what each way of growing it comes to.
struct growth_task {
  std::string model;     ///< such as "convnet2"
  std::string scenario;  ///< when devices come free: "early", "early_middle", "middle", "middle_late", "late"
  adapt::growable_model start;
  adapt::growth_table table;
};

/// Of one table.
inline constexpr std::size_t most_sequences = 100'000;

/// A table as CSV: columns "a1,a2,a3,final_test_acc,rank,totaltime_s,timeleft1_s,timeleft2_s,timeleft3_s" (one a and
/// one timeleft for each step), a row for each sequence of actions, in any order. The budget is the longest total time.
/// Errors  user_error, naming the file and the line: it cannot be read, a line of more than 4096 bytes, other columns,
///         a field that is no number, a sequence twice or missing, more than most_sequences, what growth_table refuses,
///         or ranks that are not those of the accuracies
/// Tests   tests/examples/growth_eval_test.cpp: FindsTheTablesOfAFolder, SaysWhatIsWrongWithATable,
///         ARowThatIsTooLongIsRefused, ATableOfTooManySequencesIsRefused, ALongFieldIsNotRepeatedWhole
[[nodiscard]] adapt::growth_table read_growth_table(const std::filesystem::path& file);

/// Such a text.
/// Tests   tests/examples/growth_tables_test.cpp: ATableIsReadAgain
[[nodiscard]] std::string as_csv(const adapt::growth_table& table);

/// Where a growth_task stands.
struct growth_file {
  std::string model, scenario;
  std::filesystem::path table;      ///< MODEL_SCENARIO.csv
  std::filesystem::path described;  ///< MODEL.json, empty for a published model without one
};

/// The tables MODEL_SCENARIO.csv in this folder, of the published models and of those with a file MODEL.json; by
/// models, each from its earliest scenario on. None where the folder cannot be read.
[[nodiscard]] std::vector<growth_file> growth_files(const std::filesystem::path& folder);

/// All growth_files() of this folder, read.
/// Errors  those of read_growth_table and read_growable_model; user_error where there is none
/// Tests   tests/examples/growth_eval_test.cpp: FindsTheTablesOfAFolder
[[nodiscard]] std::vector<growth_task> read_growth_tasks(const std::filesystem::path& folder);

}  // namespace rubato::lab

#endif
