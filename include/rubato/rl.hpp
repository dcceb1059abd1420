#ifndef RUBATO_RL_HPP
#define RUBATO_RL_HPP

// Learning to act: for those who train policies. Embedding hosts need rubato.hpp only.
#include "nn/initialiser.hpp"
#include "rl/antithetic_es.hpp"
#include "rl/cma_es.hpp"
#include "rl/dqn.hpp"
#include "rl/evaluation.hpp"
#include "rl/multi_agent.hpp"
#include "rl/ppo.hpp"
#include "rl/pretrain.hpp"
#include "rl/search_training.hpp"
#include "rl/trace.hpp"
#include "rl/training.hpp"

#endif
