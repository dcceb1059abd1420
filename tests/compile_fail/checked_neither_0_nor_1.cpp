// expect: RUBATO_CHECKED: expected 0 or 1
// flags: -DRUBATO_CHECKED=2
#include <rubato/config.hpp>
