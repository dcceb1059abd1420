#ifndef RUBATO_RUBATO_HPP
#define RUBATO_RUBATO_HPP

// Everything that an embedding host needs: core, sync, encode, networks as far as a policy needs them, learned and io.
// The rules of the literature have a header of their own, rivals.hpp, as has simulation: sim.hpp.
#include "encode/action_set.hpp"
#include "encode/cluster_state.hpp"
#include "encode/loss_average.hpp"
#include "encode/normaliser.hpp"
#include "encode/progress_state.hpp"
#include "encode/rlp_state.hpp"
#include "io/atomic_file.hpp"
#include "io/chrome_trace.hpp"
#include "io/decision_log.hpp"
#include "io/policy_card.hpp"
#include "io/safetensors_writer.hpp"
#include "learned/builtin.hpp"
#include "learned/distilled.hpp"
#include "learned/loader.hpp"
#include "learned/q_policy.hpp"
#include "learned/residual_policy.hpp"
#include "nn/dynamic_mlp.hpp"
#include "nn/lstm.hpp"
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
