#ifndef RUBATO_NN_KERNELS_PINNED_HPP
#define RUBATO_NN_KERNELS_PINNED_HPP

#include "../../config.hpp"

// Arithmetic that gives the same bits in every unit, whatever flags the unit is built with, and that runs on every
// processor of the architecture, whichever unit's body the linker keeps:
//
//   RUBATO_DETAIL_PINNED         attributes of a function that is called from outside
//   RUBATO_DETAIL_PINNED_INLINE  attributes of a helper that only pinned functions call
//   RUBATO_DETAIL_EXACT          first statement of either: keeps clang to the written operations
//
// A sum of products must not become a fused multiply-add, which rounds once instead of twice. On x86-64 the target has
// no such instruction (nor AVX). Inlining would undo that, since the body then takes on the flags of its caller, hence
// `noinline`; on other architectures contraction is switched off by name. -ffast-math is switched off too.
#if defined(__clang__)
#define RUBATO_DETAIL_PINNED_OPTIONS
#if defined(__x86_64__)
#define RUBATO_DETAIL_EXACT _Pragma("float_control(precise, on)") _Pragma("clang fp contract(off)")
#else
#define RUBATO_DETAIL_EXACT _Pragma("clang fp contract(off)")
#endif
#else
#define RUBATO_DETAIL_PINNED_OPTIONS __attribute__((optimize("no-fast-math", "fp-contract=off")))
#define RUBATO_DETAIL_EXACT
#endif

#if defined(__x86_64__)
#define RUBATO_DETAIL_PINNED_INLINE RUBATO_DETAIL_PINNED_OPTIONS __attribute__((target("no-avx")))
#else
#define RUBATO_DETAIL_PINNED_INLINE RUBATO_DETAIL_PINNED_OPTIONS
#endif
#define RUBATO_DETAIL_PINNED RUBATO_DETAIL_PINNED_INLINE __attribute__((noinline))

#endif
