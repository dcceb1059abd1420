// expect: RUBATO_CHECKED: expected 0 or 1
// flags: -DRUBATO_CHECKED=ON
enum { OFF, ON };
#include <rubato/config.hpp>
