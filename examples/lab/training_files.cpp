#include "training_files.hpp"

#include <algorithm>
#include <rubato/io/safetensors.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "given.hpp"
#include "output_file.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;
using support::value_or_refuse;

// NAME.PID.N.tmp, what a program that was killed was about to write, see atomic_file.
[[nodiscard]] bool is_leftover(std::string_view file, std::string_view name) {
  constexpr std::string_view digits = "0123456789", end = ".tmp";
  if (!file.starts_with(name) || !file.ends_with(end) || file.size() < name.size() + end.size()) return false;
  file.remove_prefix(name.size());
  file.remove_suffix(end.size());
  for (int number = 0; number < 2; ++number) {
    if (file.size() < 2 || file[0] != '.') return false;
    const std::size_t rest = std::min(file.find_first_not_of(digits, 1), file.size());
    if (rest == 1) return false;
    file.remove_prefix(rest);
  }
  return file.empty();
}

// The first option in which two commands differ, of each of them; empty if it has no more.
[[nodiscard]] std::pair<std::string_view, std::string_view> first_difference(std::string_view a, std::string_view b) {
  const auto next = [](std::string_view& rest) {
    const std::size_t end = std::min(rest.find(" --"), rest.size());
    const std::string_view option = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return option;
  };
  while (!a.empty() || !b.empty()) {
    const std::string_view of_a = next(a), of_b = next(b);
    if (of_a != of_b) return {of_a, of_b};
  }
  return {};
}

void remove_leftovers(const training_files& files) {
  const std::filesystem::path folder = std::filesystem::path{files.result}.parent_path();
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator{folder.empty() ? "." : folder})
    for (const std::string& file : {files.result, files.start, files.training})
      if (is_leftover(entry.path().filename().string(), std::filesystem::path{file}.filename().string()))
        leftovers.push_back(entry.path());
  std::error_code ignored;
  for (const auto& each : leftovers) std::filesystem::remove(each, ignored);
}

}  // namespace

training_files::training_files(const std::filesystem::path& result_file, std::string curve_file)
    : start{result_file.string() + ".start"},
      training{result_file.string() + ".training"},
      lock{result_file.string() + ".lock"},
      result{result_file.string()},
      curve{std::move(curve_file)} {}

bool exists(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

support::file_lock training_files::lock_them() const {
  static_cast<void>(output_file{result, "--out"});
  static_cast<void>(output_file{curve, "--curve"});
  return support::file_lock{lock, "another training writes " + result};
}

bool training_files::are_complete(const policy_card& expected, bool resume) const {
  remove_leftovers(*this);
  if (exists(result)) {
    if (!resume) throw user_error{"--out: found " + result + ", expected a new file, or that you remove it"};
    check_card(result, expected);
    if (!curve.empty() && !exists(curve))
      throw user_error{"--curve: found " + result +
                       " complete, expected no --curve: its evaluations went with its checkpoint"};
    remove_progress();
    return true;
  }
  for (const std::string& file : {start, training})
    if (!resume && exists(file))
      throw user_error{"--out: found " + file + " of an unfinished training, expected --resume, or that you remove it"};
  return false;
}

void training_files::write_curve(const std::string& csv) const { output_file{curve, "--curve"}.write(csv); }

// The checkpoint last: without the start it is nothing.
void training_files::remove_progress() const {
  for (const std::string& file : {start, training}) std::filesystem::remove(file);
}

void check_card(const std::string& file, const policy_card& expected) {
  const policy_card found = value_or_refuse(read_policy_card(value_or_refuse(safetensors::load(file))));
  const auto refuse = [&](std::string_view was, std::string_view is) {
    throw user_error{"--resume: " + file + ": found \"" + std::string{was} + "\", expected \"" + std::string{is} +
                     "\""};
  };
  for (const auto member : {&policy_card::kind, &policy_card::rubato, &policy_card::trained_on})
    if (found.*member != expected.*member) refuse(found.*member, expected.*member);
  const auto [was, is] = first_difference(found.command, expected.command);
  if (was != is) refuse(was, is);
}

training_files files_of(const std::string& out, const std::string& curve, const std::vector<named_file>& inputs) {
  training_files files{out, curve};
  check_outputs(inputs, {{"--out", files.result},
                         {"--out", files.start},
                         {"--out", files.training},
                         {"--out", files.lock},
                         {"--curve", curve}});
  return files;
}

std::vector<named_file> training_inputs(const std::string& initial, const std::string& scenario,
                                        const std::string& data) {
  std::vector<named_file> inputs = given_files(scenario, data);
  inputs.push_back({"--initial", initial});
  return inputs;
}

}  // namespace rubato::lab
