#include <cstdio>
#include <rubato/core/rng.hpp>

int main() { std::printf("%.3f\n", rubato::random_sequence{1}.uniform()); }
