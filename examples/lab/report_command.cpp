// `report`: results and logs as one page.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <list>
#include <set>

#include "commands.hpp"
#include "output_file.hpp"
#include "page/report_page.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

namespace fs = std::filesystem;
using support::user_error;

constexpr std::size_t largest_result = std::size_t{1} << 26;

[[nodiscard]] std::string content_of(const std::string& name, std::size_t most) {
  std::error_code error;
  if (!fs::exists(name, error)) throw user_error{name + ": found no such file, expected a result or a decision log"};
  if (fs::is_directory(name, error)) throw user_error{name + ": found a directory, expected a result or a decision log"};
  std::ifstream stream{name, std::ios::binary};
  if (!stream) throw user_error{name + ": cannot be opened: " + std::strerror(errno)};
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw user_error{name + ": cannot be read"};
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

void refuse_twice(const std::vector<std::string>& files) {
  std::set<fs::path> seen;
  for (const std::string& each : files) {
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(each, error)).second)
      throw user_error{each + ": found twice, expected each file once"};
  }
}

[[nodiscard]] page::article result_article(const std::string& name, std::size_t number) {
  const std::string text = content_of(name, largest_result + 1);
  if (text.empty()) throw user_error{name + ": found an empty file, expected a result or a decision log"};
  if (text.size() > largest_result)
    throw user_error{name + ": found more than " + std::to_string(largest_result) + " bytes, expected at most that"};
  return article_about(page::read_result(text, name), "result-" + std::to_string(number));
}

}  // namespace

int run_report(const report_arguments& given) {
  std::vector<std::string> results;
  for (const std::string& each : given.files) results.push_back(each);
  std::vector<std::string> all = results;
  if (all.empty()) throw user_error{"found neither a result nor a log, expected at least one of them"};
  refuse_twice(all);

  std::vector<page::article> articles;
  for (const std::string& each : results) articles.push_back(result_article(each, articles.size() + 1));

  std::vector<named_file> inputs, outputs{{"--out", given.out}};
  for (const std::string& each : all) inputs.push_back({each, each});
  struct drawing {
    output_file file;
    std::string text;
  };
  std::vector<std::pair<std::string, std::string>> drawings;
  if (!given.svg.empty())
    for (const page::article& each : articles)
      for (const page::figure& one : each.figures) {
        drawings.emplace_back((fs::path{given.svg} / (one.id + ".svg")).string(), as_svg(one));
        outputs.push_back({"--svg", drawings.back().first});
      }
  check_outputs(inputs, outputs);
  output_file written{given.out, "--out"};
  if (!given.svg.empty()) {
    std::error_code error;
    fs::create_directory(given.svg, error);
    if (error) throw user_error{"--svg: " + given.svg + ": cannot be created: " + error.message()};
  }
  std::list<drawing> opened;
  for (auto& [name, text] : drawings) opened.push_back({{name, "--svg"}, std::move(text)});
  for (drawing& each : opened) each.file.write(each.text);
  written.write(page::report_page(articles));
  std::cout << "written: " << given.out;
  if (!opened.empty()) std::cout << " and " << opened.size() << " figures in " << given.svg;
  std::cout << '\n';
  return 0;
}

}  // namespace rubato::lab
