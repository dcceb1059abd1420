// The assertion mode that the rest of the program is not built in: RUBATO_CHECKED decides, whatever NDEBUG says.
#ifdef NDEBUG
#define RUBATO_CHECKED 1
#else
#define RUBATO_CHECKED 0
#endif
#include "unit_body.hpp"

unit other_mode() { return describe_unit(); }
