// Where there is no cpp-httplib.
#include "metrics_endpoint.hpp"

struct metrics_endpoint::listener {
  std::string url;
};

rubato::result<metrics_endpoint> metrics_endpoint::open(const std::string&, std::uint16_t,
                                                        std::function<std::string()>) {
  return rubato::error{rubato::errc::io,
                       "--metrics: this program was built without cpp-httplib (Debian: "
                       "libcpp-httplib-dev)"};
}

metrics_endpoint::metrics_endpoint(std::unique_ptr<listener> at) noexcept : at_{std::move(at)} {}
metrics_endpoint::metrics_endpoint(metrics_endpoint&&) noexcept = default;
metrics_endpoint& metrics_endpoint::operator=(metrics_endpoint&&) noexcept = default;
metrics_endpoint::~metrics_endpoint() = default;
const std::string& metrics_endpoint::url() const noexcept { return at_->url; }
