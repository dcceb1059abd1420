#ifndef RUBATO_ADAPT_HPP
#define RUBATO_ADAPT_HPP

// Fitting a policy to a job: for those who search and tune. Embedding hosts need rubato.hpp only.
#include "adapt/switch_replay.hpp"
#include "adapt/switch_timing.hpp"
#include "adapt/welch.hpp"

#endif
