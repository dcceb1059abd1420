#include "output_file.hpp"

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

template <class Result>
void check(const Result& done, const std::string& option) {
  if (!done) throw user_error{option + ": " + done.error().message};
}

}  // namespace

output_file::output_file(const std::string& file, std::string option) : name_{file}, option_{std::move(option)} {
  if (file.empty()) return;
  if (file == "-") throw user_error{option_ + ": found \"-\", expected the name of a file"};
  auto opened = atomic_file::create(file);
  check(opened, option_);
  file_ = std::move(*opened);
}

void output_file::commit() {
  if (file_) check(file_->commit(), option_);
}

void output_file::write(const std::string& text) {
  if (file_) (*file_)(text);
  commit();
}

std::string output_file::write_partial(const std::string& text) {
  if (!file_) return {};
  file_.reset();
  check(write_file(partial(), text), option_);
  return partial();
}

void output_file::remove_partial() const {
  std::error_code ignored;
  if (file_) std::filesystem::remove(partial(), ignored);
}

void check_outputs(const std::vector<named_file>& inputs, const std::vector<named_file>& outputs) {
  std::map<std::filesystem::path, std::string> needed_by;
  // The option that is there already, if any; opening says what is wrong with a path that has no place.
  const auto take = [&](const named_file& file) -> const std::string* {
    if (file.name.empty() || file.name == "-") return nullptr;
    std::error_code error;
    std::filesystem::path place = std::filesystem::weakly_canonical(std::filesystem::absolute(file.name, error), error);
    if (error) return nullptr;
    const auto [found, added] = needed_by.emplace(std::move(place), file.option);
    return added ? nullptr : &found->second;
  };
  for (const named_file& each : inputs) static_cast<void>(take(each));
  for (const named_file& each : outputs)
    if (const std::string* const other = take(each))
      throw user_error{each.option + ": found \"" + each.name + "\", which " + *other +
                       " needs, expected a file of its own"};
}

}  // namespace rubato::lab
