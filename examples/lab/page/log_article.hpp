#ifndef RUBATO_EXAMPLES_LAB_PAGE_LOG_ARTICLE_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_LOG_ARTICLE_HPP

#include <string>

#include "../log_lines.hpp"
#include "../log_stats.hpp"
#include "article.hpp"
#include "log_timeline.hpp"

namespace rubato::lab::page {

/// What a page needs of a decision log.
struct log_story {
  std::string name;  ///< of the file
  log_stats stats{};
  log_timeline timeline{};
  log_reading reading{};
};

/// Reads a log as far as it is sound. Errors  user_error of read_log(); a log without any step
[[nodiscard]] log_story read_story(const std::string& file);

/// Who is slow, who is missing, what happened to the gradients; and what happened when.
[[nodiscard]] article article_about(const log_story&, const std::string& id);

// Its figures, in the order of the page.
[[nodiscard]] figure slow_figure(const log_story&, const std::string& id);
[[nodiscard]] figure fate_figure(const log_story&, const std::string& id);
[[nodiscard]] figure histogram_figure(const log_story&, const std::string& id);
[[nodiscard]] figure waiting_figure(const log_story&, const std::string& id);
[[nodiscard]] figure stale_figure(const log_story&, const std::string& id);
[[nodiscard]] figure strip_figure(const log_story&, const std::string& id);

}  // namespace rubato::lab::page

#endif
