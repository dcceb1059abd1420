// A RUBATO_ASSERT of the host's may call any function of its own. Some of the functions that assert are constexpr, so
// the call stands behind the condition.
extern void tell_host(bool holds, const char* message);
#define RUBATO_ASSERT(condition, message) ((condition) ? static_cast<void>(0) : ::tell_host(false, message))
#include <all_headers.hpp>

#include "unit.hpp"

static int told = 0;
static_assert(rubato::ssp_rlp(2).staleness == 1);

void tell_host(bool holds, const char*) { told += holds ? 0 : 1; }

int times_told() {
  told = 0;
  static_cast<void>(rubato::ssp_rlp(1));
  static_cast<void>(rubato::ssp_rlp(0));
  return told;
}
