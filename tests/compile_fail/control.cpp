// expect success
#include <rubato/core/rng.hpp>

double draw(std::uint64_t seed) { return rubato::random_sequence{seed}.uniform(); }
