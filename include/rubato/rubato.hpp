#ifndef RUBATO_RUBATO_HPP
#define RUBATO_RUBATO_HPP

// What decides at each push: core, sync, encode, networks as far as a policy needs them, and learned policies. What
// reads and writes files has a header of its own, io.hpp, as have the rules of the literature, rivals.hpp, and
// simulation, sim.hpp.
#include "encode/action_set.hpp"
#include "encode/cluster_state.hpp"
#include "encode/loss_average.hpp"
#include "encode/mean_metrics.hpp"
#include "encode/normaliser.hpp"
#include "encode/progress_state.hpp"
#include "encode/rlp_state.hpp"
#include "learned/builtin.hpp"
#include "learned/distilled.hpp"
#include "learned/q_policy.hpp"
#include "learned/residual_policy.hpp"
#include "learned/stigmergic.hpp"
#include "nn/dynamic_mlp.hpp"
#include "nn/mlp.hpp"
#include "sync/any_policy.hpp"
#include "sync/asp.hpp"
#include "sync/bsp.hpp"
#include "sync/controller.hpp"
#include "sync/gather.hpp"
#include "sync/knee.hpp"
#include "sync/outbox.hpp"
#include "sync/ssp.hpp"

#endif
