#ifndef RUBATO_TESTS_FLAGS_ORDERS_UNIT_HPP
#define RUBATO_TESTS_FLAGS_ORDERS_UNIT_HPP

#include <cstdint>

/// Bits of what a unit computes.
struct order_bits {
  std::uint64_t kernels[8];  ///< of each set of kernels that runs here: training of a network
  std::uint64_t decisions;   ///< who was released when, by a learned policy and by SSP
  std::uint64_t dropped;     ///< pushes whose loss is no number
};

/// The unit of each set of flags.
order_bits plain_bits();
order_bits avx2_bits();
order_bits native_bits();
order_bits fast_bits();

#endif
