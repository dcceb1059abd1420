#ifndef RUBATO_IO_HPP
#define RUBATO_IO_HPP

// What embedding hosts read and write: policies in files, decision logs, traces.
#include "io/atomic_file.hpp"
#include "io/chrome_trace.hpp"
#include "io/decision_log.hpp"
#include "io/flight_recorder.hpp"
#include "io/linux_metrics.hpp"
#include "io/metrics_text.hpp"
#include "io/policy_card.hpp"
#include "io/safetensors_writer.hpp"
#include "io/tensorboard.hpp"
#include "learned/loader.hpp"

#endif
