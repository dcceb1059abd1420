// A patch version leaves the layout of public types alone (CONTRIBUTING.md, "Versions"): a library that was built with
// one of them and a program that was built with another exchange these.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <rubato/core/record.hpp>
#include <rubato/io/tensor.hpp>
#include <rubato/sync/options.hpp>
#include <type_traits>

namespace rubato {
namespace {

#if defined(__x86_64__) || defined(__aarch64__) || defined(__s390x__)
static_assert(sizeof(worker_id) == 8 && offsetof(worker_id, incarnation) == 4);
static_assert(sizeof(grant) == 16 && offsetof(grant, batch) == 8 && offsetof(grant, lr_scale) == 12);
static_assert(sizeof(version_range) == 16 && offsetof(version_range, highest) == 8);
static_assert(sizeof(push_event) == 56 && offsetof(push_event, now) == 8 && offsetof(push_event, step) == 16 &&
              offsetof(push_event, samples) == 24 && offsetof(push_event, loss) == 28 &&
              offsetof(push_event, grad_norm) == 32 && offsetof(push_event, read) == 40);
static_assert(sizeof(event) == 40 && offsetof(event, worker) == 4 && offsetof(event, why_dropped) == 11 &&
              offsetof(event, staleness) == 16 && offsetof(event, now) == 24 && offsetof(event, loss) == 32 &&
              offsetof(event, samples) == 36);
static_assert(sizeof(feedback) == 56 && offsetof(feedback, step_time) == 40 && offsetof(feedback, succeeded) == 48);
static_assert(sizeof(admission) == 16 && offsetof(admission, weight) == 4 && offsetof(admission, scale) == 8 &&
              offsetof(admission, why) == 12);
static_assert(sizeof(token) == 24 && offsetof(token, serial) == 8 && offsetof(token, what) == 16);
static_assert(sizeof(admitted) == 56 && offsetof(admitted, what) == 24 && offsetof(admitted, round) == 40 &&
              offsetof(admitted, staleness) == 48);
static_assert(sizeof(decision) == 80 && offsetof(decision, count) == 4 && offsetof(decision, clock) == 16 &&
              offsetof(decision, flush_scale) == 32 && offsetof(decision, exclude) == 44 &&
              offsetof(decision, cancel_below) == 56 && offsetof(decision, wake_at) == 72);
static_assert(sizeof(record) == 80 && offsetof(record, worker) == 4 && offsetof(record, now) == 16 &&
              offsetof(record, step) == 56 && offsetof(record, parked) == 76);
static_assert(sizeof(guard_options) == 32 && offsetof(guard_options, max_wait) == 16);
static_assert(sizeof(controller_options) == 64 && offsetof(controller_options, guard) == 16 &&
              offsetof(controller_options, max_release_per_call) == 48 && offsetof(controller_options, seed) == 56);
#elif defined(__i386__)
static_assert(sizeof(grant) == 16 && sizeof(push_event) == 52 && sizeof(event) == 36 && sizeof(token) == 20 &&
              sizeof(admitted) == 52 && sizeof(record) == 76);
#endif

// What a reason, a cause, a verdict and a kind are called in saved state and in logs: new ones come at the end.
static_assert(static_cast<int>(reason::non_finite) == 11 && static_cast<int>(reason::nobody_left) == 27);
static_assert(static_cast<int>(cause::deadline) == 8 && static_cast<int>(verdict::refused) == 4);
static_assert(static_cast<int>(record::kind::change_policy) == 13 && static_cast<int>(dtype::u64) == 3);

template <class... T>
inline constexpr bool all_plain = ((std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>)&&...);

TEST(Layout, WhatHostsExchangeIsPlainBytes) {
  EXPECT_TRUE((all_plain<worker_id, grant, version_range, push_event, event, feedback, admission, token, admitted,
                         decision, record, guard_options, controller_options>));
}

}  // namespace
}  // namespace rubato
