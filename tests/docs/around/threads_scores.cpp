#include <cstdio>
#include <rubato/rubato.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <rubato/threads_ps/server.hpp>
#include <vector>

void watch(const std::vector<float>& initial) {
  // BLOCK
}
