#include "unit_body.hpp"

unit optimised() { return describe_unit(); }
