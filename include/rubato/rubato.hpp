#ifndef RUBATO_RUBATO_HPP
#define RUBATO_RUBATO_HPP

// Everything that an embedding host needs: core, sync and io. Training and simulation have their own headers (sim.hpp).
#include "sync/any_policy.hpp"
#include "sync/asp.hpp"
#include "sync/bsp.hpp"
#include "sync/controller.hpp"
#include "sync/gather.hpp"
#include "sync/outbox.hpp"
#include "sync/ssp.hpp"

#endif
