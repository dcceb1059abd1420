#include <cstdio>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/straggler_eviction.hpp>
#include <rubato/sync/extras/straggler_detector.hpp>
#include <vector>

namespace ps = rubato::gloo_ps;

void watch(const ps::server_options& options, ps::named_policy policy, const std::vector<float>& initial,
           void (*log)(const std::string&)) {
  // BLOCK
}
