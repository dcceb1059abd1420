// `report`: results and logs as one page.
#include <filesystem>
#include <iostream>
#include <list>
#include <set>

#include "commands.hpp"
#include "log_draft.hpp"
#include "output_file.hpp"
#include "page/log_article.hpp"
#include "page/report_page.hpp"
#include "support/regular_file.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

namespace fs = std::filesystem;
using support::user_error;

constexpr std::size_t largest_result = std::size_t{1} << 26;

constexpr const char* expected_input = "a result or a decision log";

[[nodiscard]] support::regular_file input_file(const std::string& name) {
  expect_log(name, expected_input);
  return support::regular_file{name};
}

void refuse_twice(const std::vector<std::string>& files) {
  std::set<fs::path> seen;
  for (const std::string& each : files) {
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(each, error)).second)
      throw user_error{each + ": found twice, expected each file once"};
  }
}

[[nodiscard]] page::article result_article(const std::string& name, const std::string& id) {
  const std::string text = input_file(name).content(largest_result);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw user_error{name + ": found an empty file, expected " + expected_input};
  return article_about(page::read_result(text, name), id);
}

// What is positional is a log if it begins like one.
[[nodiscard]] std::vector<page::article> articles_of(const report_arguments& given) {
  std::vector<std::string> results, logs;
  for (const std::string& each : given.files)
    (page::looks_like_log(input_file(each).text(4'096)) ? logs : results).push_back(each);
  logs.insert(logs.end(), given.logs.begin(), given.logs.end());
  std::vector<page::article> made;
  for (std::size_t i = 0; i < results.size(); ++i)
    made.push_back(result_article(results[i], "result-" + std::to_string(i + 1)));
  for (std::size_t i = 0; i < logs.size(); ++i)
    made.push_back(article_about(page::read_story(logs[i]), "log-" + std::to_string(i + 1)));
  if (logs.empty())
    made.back().missing("Who is slow, who is missing, what happened to the gradients",
                        "a decision log says that, of a run in the lab or on your machines; give one with",
                        "rubato-lab report ... --log LOG");
  return made;
}

// The figures of a page, each a file that is not there before all of it is.
class drawings {
 public:
  drawings(const std::string& folder, const std::vector<page::article>& articles) : folder_{folder} {
    if (folder.empty()) return;
    for (const page::article& each : articles)
      for (const page::figure& one : each.figures)
        texts_.emplace_back((fs::path{folder} / (one.id + ".svg")).string(), as_svg(one));
  }
  void add_names(std::vector<named_file>& to) const {
    for (const auto& each : texts_) to.push_back({"--svg", each.first});
  }
  void open() {
    if (folder_.empty()) return;
    std::error_code error;
    fs::create_directory(folder_, error);
    if (error) throw user_error{"--svg: " + folder_ + ": cannot be created: " + error.message()};
    for (const auto& each : texts_) files_.emplace_back(each.first, "--svg");
  }
  void write() {
    auto text = texts_.begin();
    for (output_file& each : files_) each.write((text++)->second);
  }
  [[nodiscard]] std::size_t count() const { return texts_.size(); }

 private:
  std::string folder_;
  std::vector<std::pair<std::string, std::string>> texts_;  // by name
  std::list<output_file> files_;
};

}  // namespace

int run_report(const report_arguments& given) {
  std::vector<std::string> all = given.files;
  all.insert(all.end(), given.logs.begin(), given.logs.end());
  if (all.empty()) throw user_error{"report: found neither a result nor a log, expected at least one of them"};
  refuse_twice(all);
  std::vector<named_file> inputs, outputs{{"--out", given.out}};
  for (const std::string& each : all) inputs.push_back({each, each});
  check_outputs(inputs, outputs);
  output_file written{given.out, "--out"};

  const std::vector<page::article> articles = articles_of(given);
  drawings figures{given.svg, articles};
  figures.add_names(outputs);
  check_outputs(inputs, outputs);
  figures.open();
  figures.write();
  written.write(page::report_page(articles));
  std::cout << "written: " << given.out;
  if (figures.count() > 0) std::cout << ", and " << figures.count() << " figures in " << given.svg;
  std::cout << '\n';
  return 0;
}

}  // namespace rubato::lab
