#ifndef RUBATO_EXAMPLES_LAB_HTTP_GET_HPP
#define RUBATO_EXAMPLES_LAB_HTTP_GET_HPP

#include <cstddef>
#include <string>

#include "support/user_error.hpp"

namespace rubato::lab {

/// Nobody listens there.
struct no_server : support::user_error {
  using user_error::user_error;
};

inline constexpr std::size_t largest_page = std::size_t{1} << 26;  ///< bytes

/// What a server answers to GET, where it answers 200. `url`: http://HOST[:PORT][/PATH]; without a path: /metrics.
///
/// Errors  no_server: the connection is refused; another user_error: it is no URL, there is no answer within five
///         seconds, another status, a page above largest_page; or this lab was built without cpp-httplib. Each begins
///         with the URL
/// Tests   tests/examples/watch_test.cpp: PageIsReadOverHttp, WhatIsNoPageIsSaid
[[nodiscard]] std::string http_get(const std::string& url);

}  // namespace rubato::lab

#endif
