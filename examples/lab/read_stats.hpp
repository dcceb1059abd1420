#ifndef RUBATO_EXAMPLES_LAB_READ_STATS_HPP
#define RUBATO_EXAMPLES_LAB_READ_STATS_HPP

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "log_lines.hpp"
#include "log_stats.hpp"

namespace rubato::lab {

/// Takes in a line of a log. What contradicts the ones before, as "found ..., expected ..."; then nothing has changed.
[[nodiscard]] std::string take_in(log_stats&, const log_line&);

/// Takes a log in, as far as it is sound. Each line that was taken in is also given to `each`, as by read_log.
/// Errors: those of read_log.
[[nodiscard]] log_reading read_stats(const std::filesystem::path& file, log_stats&,
                                     const std::function<std::string(const log_line&)>& each = {});

/// Gives those lines that were sound, and their numbers, to `each` once more.
void read_again(const std::filesystem::path& file, const log_reading&,
                const std::function<void(const log_line&, std::uint64_t number)>& each);

/// How much was not read: "3 lines", "at least 1 line".
[[nodiscard]] std::string unread_text(const log_reading&);
/// Its problem, and what that costs, in a sentence. Precondition: there is one.
[[nodiscard]] std::string left_out(const log_reading&);

}  // namespace rubato::lab

#endif
