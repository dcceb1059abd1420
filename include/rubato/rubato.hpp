#ifndef RUBATO_RUBATO_HPP
#define RUBATO_RUBATO_HPP

// Everything that an embedding host needs: core, sync and io. Simulation has a header of its own: sim.hpp.
#include "io/atomic_file.hpp"
#include "io/chrome_trace.hpp"
#include "io/decision_log.hpp"
#include "sync/any_policy.hpp"
#include "sync/asp.hpp"
#include "sync/bsp.hpp"
#include "sync/controller.hpp"
#include "sync/gather.hpp"
#include "sync/outbox.hpp"
#include "sync/ssp.hpp"

#endif
