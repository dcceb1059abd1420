#include <cstdio>

#include "unit.hpp"

namespace {

int failures = 0;

void expect(bool condition, const char* promise) {
  if (condition) return;
  std::printf("failed: %s\n", promise);
  ++failures;
}

}  // namespace

int main() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 77;  // cannot run optimised()
#endif
  const unit a = plain();
  const unit b = optimised();
  const unit other = other_mode();
  expect(a.definition == b.definition, "units with different flags share one definition");
  expect(a.draws == b.draws && a.normal == b.normal, "units with different flags agree");
  expect(a.definition != other.definition, "a unit in the other assertion mode has definitions of its own");
  expect(a.draws == other.draws, "both assertion modes draw the same");
  expect(times_told() == 1, "a RUBATO_ASSERT of the host's is told of what fails, and of nothing else");
  return failures;
}
