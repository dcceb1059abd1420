// Pages of metrics, as `rubato-lab watch` reads them of whoever answers. What is read can be shown on a terminal.
#include <string>
#include <string_view>

#include "fuzz_target.hpp"
#include "lab/watch.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_metrics_page {

// A newline between lines, and nothing else that steers a terminal.
void require_showable(std::string_view text) {
  for (const char c : text)
    require(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F), "nothing steers a terminal:", text);
}

void run(input bytes) {
  input_reader in{bytes};
  const std::string before = std::string{"rubato_seconds 1\n"}.append(text_of(in.take_part()));
  const std::string_view after = text_of(in.rest());
  try {
    const lab::watched_job first = lab::job_of_page(before, "URL"), second = lab::job_of_page(after, "URL");
    for (const lab::watched_job* const then : {static_cast<const lab::watched_job*>(nullptr), &first}) {
      require_showable(lab::view_of(second, then));
      require_showable(lab::line_of(second, then));
    }
  } catch (const support::user_error& e) {
    const std::string_view what = e.what();
    require(what.starts_with("URL:") && what.find("expected") != what.npos, "a refusal says where:", what);
    require_showable(what);
    require(what.size() < (1 << 18), "a refusal is not endless");
  }
}

const registered here{"metrics_page", run};

}  // namespace of_metrics_page
}  // namespace rubato::fuzz
