// Where there is no cpp-httplib.
#include "http_get.hpp"

namespace rubato::lab {

std::string http_get(const std::string& url, std::chrono::milliseconds) {
  throw support::user_error{url + ": this lab was built without cpp-httplib (Debian: libcpp-httplib-dev)"};
}

}  // namespace rubato::lab
