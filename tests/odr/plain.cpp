#include "unit_body.hpp"

unit plain() { return describe_unit(); }
