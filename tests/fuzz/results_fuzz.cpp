// Results of `compare --json`, which `rubato-lab report` makes a page of. What is read makes a page on which no text of
// the file is markup.
#include <set>
#include <string>
#include <string_view>

#include "fuzz_target.hpp"
#include "lab/page/article.hpp"
#include "lab/page/report_page.hpp"
#include "lab/page/result_file.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_results {

void run(input bytes) {
  try {
    const lab::page::result_file file = lab::page::read_result(std::string{text_of(bytes)}, "result.json");
    require(!file.rows.empty(), "there is a row");
    std::set<std::string> policies;
    for (const lab::page::result_row& row : file.rows) policies.insert(row.policy);
    require(policies.size() == file.rows.size(), "each policy is there once");
    const std::string page = lab::page::report_page({lab::page::article_about(file, "result-1")});
    require(page.find("<b onx=") == page.npos, "no text of the file is markup");
  } catch (const support::user_error& e) {
    const std::string_view what = e.what();
    require(what.starts_with("result.json: "), "a refusal says where:", what);
    require(what.find('\n') == what.npos && what.size() < 2000, "a refusal is one line:", what);
  }
}

const registered here{"results", run};

}  // namespace of_results
}  // namespace rubato::fuzz
