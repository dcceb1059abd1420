#ifndef RUBATO_CORE_FEATURE_HPP
#define RUBATO_CORE_FEATURE_HPP

#include <string>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// One number that a learned policy sees, as its encoder makes it and its card lists it. Name and unit are the
/// contract: a number that is computed in another way gets another name or unit.
struct feature {
  std::string name{};  ///< "loss@0"; unique within an encoder
  std::string unit{};  ///< "nats"; empty: a plain number

  friend bool operator==(const feature&, const feature&) = default;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
