#include <cstdio>
#include <rubato/sync/asp.hpp>
#include <rubato/threads_ps/server.hpp>

int main() {
  std::printf("threads_ps: %d\n", static_cast<int>(rubato::threads_ps::slice{{}, rubato::threads_ps::sgd{}}.size()));
}
