#ifndef RUBATO_EXAMPLES_LAB_RECORD_RUN_HPP
#define RUBATO_EXAMPLES_LAB_RECORD_RUN_HPP

#include <atomic>
#include <rubato/io/atomic_file.hpp>

#include "compare.hpp"

namespace rubato::lab {

/// Makes the run of the first seed of the first policy once more, and writes its decision log and its Chrome trace (in
/// which one unit of time is one second). Either file may be null. The caller commits them; not if false comes back:
/// `stop` was raised meanwhile.
[[nodiscard]] bool record_first_run(const comparison&, const training_data&, atomic_file* log, atomic_file* trace,
                                    const std::atomic<bool>& stop);

}  // namespace rubato::lab

#endif
