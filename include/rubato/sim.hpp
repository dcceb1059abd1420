#ifndef RUBATO_SIM_HPP
#define RUBATO_SIM_HPP

// Clusters and training in virtual time, and the policies that are compared there. Embedding hosts need rubato.hpp
// only.
#include "sim/cluster.hpp"
#include "sim/dataset.hpp"
#include "sim/environment.hpp"
#include "sim/expert_trace.hpp"
#include "sim/quadratic.hpp"
#include "sim/sgd.hpp"
#include "sync/any_policy.hpp"
#include "sync/asp.hpp"
#include "sync/bsp.hpp"
#include "sync/ssp.hpp"

#endif
