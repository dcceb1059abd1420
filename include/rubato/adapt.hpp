#ifndef RUBATO_ADAPT_HPP
#define RUBATO_ADAPT_HPP

// Fitting a policy to a job, before it runs and while it does. Hosts need it for batches that a policy sets only.
#include "adapt/batch_policy_file.hpp"
#include "adapt/batch_size.hpp"
#include "adapt/batch_sizers/goodput.hpp"
#include "adapt/batch_sizers/random.hpp"
#include "adapt/batch_sizers/speed_proportional.hpp"
#include "adapt/batch_sizers/warm_up.hpp"
#include "adapt/growth/block_agent.hpp"
#include "adapt/growth/growth_agent.hpp"
#include "adapt/growth/growth_table.hpp"
#include "adapt/growth/scheduler.hpp"
#include "adapt/online.hpp"
#include "adapt/stigmergy.hpp"
#include "adapt/switch_replay.hpp"
#include "adapt/switch_timing.hpp"
#include "adapt/welch.hpp"

#endif
