// expect: (conversion from 'int' to non-scalar|no viable conversion from 'int' to) .*random_sequence
#include <rubato/core/rng.hpp>

const rubato::random_sequence sequence = 1;  // the seed is named: random_sequence{1}
