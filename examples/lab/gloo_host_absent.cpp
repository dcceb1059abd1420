// In place of the Gloo host where Gloo is not installed.
#include <stdexcept>

#include "gloo_host.hpp"

namespace rubato::lab {
namespace {

constexpr const char* no_gloo = "this lab was built without Gloo (Debian: libgloo-dev)";

}  // namespace

std::string not_on_gloo(const support::scenario&) { return no_gloo; }

std::optional<measurement> run_on_gloo(const setting&, const training_data&, const any_policy&, std::uint64_t,
                                       const std::atomic<bool>&, any_observer*, const std::filesystem::path&) {
  throw std::logic_error{no_gloo};
}

int run_gloo_worker(const std::vector<std::string>&) { throw std::runtime_error{no_gloo}; }

}  // namespace rubato::lab
