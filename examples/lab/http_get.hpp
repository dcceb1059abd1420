#ifndef RUBATO_EXAMPLES_LAB_HTTP_GET_HPP
#define RUBATO_EXAMPLES_LAB_HTTP_GET_HPP

#include <cstddef>
#include <string>

namespace rubato::lab {

inline constexpr std::size_t largest_page = std::size_t{1} << 26;  ///< bytes

/// What a server answers to GET, where it answers 200. `url`: http://HOST[:PORT][/PATH]; without a path: /metrics.
///
/// Errors  user_error that begins with the URL: it is none, nobody answers within five seconds, another status, a page
///         above largest_page; or this lab was built without cpp-httplib
/// Tests   tests/examples/watch_test.cpp: PageIsReadOverHttp, WhatIsNoPageIsSaid
[[nodiscard]] std::string http_get(const std::string& url);

}  // namespace rubato::lab

#endif
