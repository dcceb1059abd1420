#ifndef RUBATO_RUBATO_HPP
#define RUBATO_RUBATO_HPP

// Everything that an embedding host needs: core, sync, encode, networks as far as a policy needs them, learned and io.
// Simulation has a header of its own: sim.hpp.
#include "encode/action_set.hpp"
#include "encode/cluster_state.hpp"
#include "encode/loss_average.hpp"
#include "encode/normaliser.hpp"
#include "encode/rlp_state.hpp"
#include "io/atomic_file.hpp"
#include "io/chrome_trace.hpp"
#include "io/decision_log.hpp"
#include "io/policy_card.hpp"
#include "io/safetensors_writer.hpp"
#include "learned/loader.hpp"
#include "learned/q_policy.hpp"
#include "nn/dynamic_mlp.hpp"
#include "nn/mlp.hpp"
#include "sync/any_policy.hpp"
#include "sync/asp.hpp"
#include "sync/bsp.hpp"
#include "sync/controller.hpp"
#include "sync/gather.hpp"
#include "sync/knee.hpp"
#include "sync/outbox.hpp"
#include "sync/rivals/backup_workers.hpp"
#include "sync/rivals/buffered.hpp"
#include "sync/rivals/capped.hpp"
#include "sync/rivals/k_async.hpp"
#include "sync/rivals/k_batch_async.hpp"
#include "sync/rivals/k_batch_sync.hpp"
#include "sync/rivals/k_sync.hpp"
#include "sync/rivals/m_fastest.hpp"
#include "sync/rivals/rennala.hpp"
#include "sync/rivals/ringmaster.hpp"
#include "sync/ssp.hpp"

#endif
