#ifndef RUBATO_SYNC_HPP
#define RUBATO_SYNC_HPP

// The controller and the rules to start with, for hosts that want nothing else: quick to compile. rivals.hpp has the
// rules of the literature; rubato.hpp has encoders, networks and learned policies, too.
#include "sync/any_policy.hpp"
#include "sync/asp.hpp"
#include "sync/bsp.hpp"
#include "sync/controller.hpp"
#include "sync/gather.hpp"
#include "sync/knee.hpp"
#include "sync/outbox.hpp"
#include "sync/ssp.hpp"

#endif
