#ifndef RUBATO_TESTS_SYNC_KNEE_MACHINE_HPP
#define RUBATO_TESTS_SYNC_KNEE_MACHINE_HPP

#include <algorithm>
#include <functional>
#include <rubato/sync/knee.hpp>

#include "../support/shared_machine.hpp"

namespace rubato::test {

using knee_machine = shared_machine<knee>;

/// Throughput of so many cores that are shared by those who compute.
inline std::function<double(double)> cores(double c) {
  return [c](double n) { return (std::min)(n, c); };
}

inline const std::function<double(double)> free_cores = [](double n) { return n; };  ///< nothing is shared

}  // namespace rubato::test

#endif
