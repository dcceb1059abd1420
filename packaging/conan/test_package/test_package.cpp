// A server in this process, whose only worker joins, pulls what it has, and leaves.
#include <cstdio>
#include <rubato/rubato.hpp>
#include <rubato/threads_ps/server.hpp>
#include <vector>

int main() {
  using server = rubato::threads_ps::server<rubato::ssp>;
  auto made = server::make({.sync = {.capacity = 1}, .shards = 1}, std::vector<float>{1.0F}, rubato::ssp{.staleness = 2},
                           rubato::threads_ps::sgd{{.learning_rate = 0.05F}});
  if (!made) return 1;
  auto me = (*made)->join({0});
  if (!me) return 1;
  std::vector<float> parameters(1);
  (*me)->pull(parameters);
  std::printf("%.0f\n", static_cast<double>(parameters[0]));
  return (*me)->finish() == rubato::errc::ok ? 0 : 1;
}
