// What a program that uses the library looks like from outside: one include, one object, one result.
#include <cstdio>
#include <rubato/core/rng.hpp>
#include <rubato/version.hpp>

int main() {
  rubato::random_sequence sequence{1};
  std::printf("rubato %d.%d.%d: %.3f\n", RUBATO_VERSION_MAJOR, RUBATO_VERSION_MINOR, RUBATO_VERSION_PATCH,
              sequence.uniform());
  return 0;
}
