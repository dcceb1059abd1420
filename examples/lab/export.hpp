#ifndef RUBATO_EXAMPLES_LAB_EXPORT_HPP
#define RUBATO_EXAMPLES_LAB_EXPORT_HPP

#include <string>

namespace rubato::lab {

/// The correction in a policy file as a C++ header: weights, range, and a function that makes the network of them. The
/// same file, the same bytes.
/// Errors  user_error: what load_residual_policy refuses; a file without a trained range
/// Tests   tests/examples/export_test.cpp: TheHeaderHoldsThePolicy, TheHeaderMakesTheNetwork,
///         ALinearPolicyHasNoActivation, TheLibraryHasWhatItPrints, ABackslashTakesInNothing, RefusesOtherPolicies,
///         RefusesAFileWithoutARange
[[nodiscard]] std::string as_header(const std::string& file);

}  // namespace rubato::lab

#endif
