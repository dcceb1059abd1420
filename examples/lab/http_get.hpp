#ifndef RUBATO_EXAMPLES_LAB_HTTP_GET_HPP
#define RUBATO_EXAMPLES_LAB_HTTP_GET_HPP

#include <chrono>
#include <cstddef>
#include <string>

#include "support/user_error.hpp"

namespace rubato::lab {

/// Nobody listens there.
struct no_server : support::user_error {
  using user_error::user_error;
};

inline constexpr std::size_t largest_page = std::size_t{1} << 26;  ///< bytes
inline constexpr std::size_t largest_head = std::size_t{1} << 16;  ///< of headers, before them
inline constexpr std::chrono::milliseconds longest_answer{10'000};  ///< from the connection to the last byte

/// What a server answers to GET, where it answers 200. `url`: http://HOST[:PORT][/PATH]; without a path: /metrics.
///
/// Errors  no_server: nobody listens there; another user_error: it is no URL, there is no connection for another
///         reason, no whole answer within the limit, another status, headers above largest_head, or a page above
///         largest_page. Each begins with the URL
/// Tests   tests/examples/watch_test.cpp: PageIsReadOverHttp, WhatIsNoPageIsSaid, PageThatIsTooLargeIsRefused,
///         EndlessHeadersAreRefused, AnAnswerByDripsHasADeadline, AServerThatIsBusyIsNotGone
[[nodiscard]] std::string http_get(const std::string& url, std::chrono::milliseconds limit = longest_answer);

}  // namespace rubato::lab

#endif
