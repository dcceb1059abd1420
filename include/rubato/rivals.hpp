#ifndef RUBATO_RIVALS_HPP
#define RUBATO_RIVALS_HPP

// The rules of the literature, all of them. Each has a header of its own: who runs one rule needs no more than that.
#include "sync/rivals/aap.hpp"
#include "sync/rivals/ada_sync.hpp"
#include "sync/rivals/aimd.hpp"
#include "sync/rivals/backup_workers.hpp"
#include "sync/rivals/batched.hpp"
#include "sync/rivals/buffered.hpp"
#include "sync/rivals/capped.hpp"
#include "sync/rivals/concurrency_scaled.hpp"
#include "sync/rivals/dc_asgd.hpp"
#include "sync/rivals/dssp.hpp"
#include "sync/rivals/k_async.hpp"
#include "sync/rivals/k_batch_async.hpp"
#include "sync/rivals/k_batch_sync.hpp"
#include "sync/rivals/k_sync.hpp"
#include "sync/rivals/loss_decayed.hpp"
#include "sync/rivals/m_fastest.hpp"
#include "sync/rivals/rennala.hpp"
#include "sync/rivals/ringmaster.hpp"
#include "sync/rivals/scaled.hpp"
#include "sync/rivals/switch_configuration.hpp"
#include "sync/rivals/sync_switch.hpp"
#include "sync/rivals/zipline.hpp"

#endif
