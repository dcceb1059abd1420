#include "refusals.hpp"
#include "unit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

std::vector<flags_unit>& flags_units() {
  static std::vector<flags_unit> units;
  return units;
}

std::vector<refusing_unit>& refusing_units() {
  static std::vector<refusing_unit> units;
  return units;
}

const std::array<std::uint64_t, 3> strange_doubles{0x7FF8000000000000, 0x7FF0000000000000, 0xFFF0000000000000};
const std::array<std::uint32_t, 3> strange_floats{0x7FC00000, 0x7F800000, 0xFF800000};

namespace {

const flags_unit& plain() {
  return *std::ranges::find_if(flags_units(), [](const flags_unit& unit) { return unit.flags == "-O2"; });
}

void expect_same(const flags_unit& unit, const std::vector<fingerprint>& got,
                 const std::vector<fingerprint>& expected) {
  ASSERT_EQ(got.size(), expected.size()) << unit.flags;
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].what, expected[i].what) << unit.flags;
    EXPECT_EQ(got[i].bits, expected[i].bits) << got[i].what << " by " << unit.flags;
  }
}

// Once, since units without optimisation take their time. In the order of flags_units().
const std::vector<std::vector<fingerprint>>& pinned() {
  static const std::vector<std::vector<fingerprint>> all = [] {
    std::vector<std::vector<fingerprint>> made;
    for (const flags_unit& unit : flags_units()) made.push_back(unit.pinned());
    return made;
  }();
  return all;
}

TEST(Flags, PinnedArithmeticHasTheSameBits) {
  ASSERT_GE(flags_units().size(), 2U);
  const std::vector<fingerprint> expected = plain().pinned();
  EXPECT_GE(expected.size(), 40U);
  for (std::size_t u = 0; u < pinned().size(); ++u) expect_same(flags_units()[u], pinned()[u], expected);
}

TEST(Flags, LearningHasTheSameBitsWithoutFastMath) {
  const auto keeps_bits = [](const flags_unit& unit) { return !unit.fast_math; };
  if (std::ranges::count_if(flags_units(), keeps_bits) < 2) GTEST_SKIP() << "RUBATO_TEST_ALL has a second unit";
  const std::vector<fingerprint> expected = plain().learned();
  for (const flags_unit& unit : flags_units())
    if (!unit.fast_math) expect_same(unit, unit.learned(), expected);
}

// What one set of kernels computes, another does too.
TEST(Flags, KernelSetsHaveTheSameBits) {
  for (std::size_t u = 0; u < pinned().size(); ++u) {
    const std::vector<fingerprint>& all = pinned()[u];
    for (const fingerprint& each : all) {
      const std::string set = "avx2: ";
      if (!each.what.starts_with(set)) continue;
      const std::string same = "portable: " + each.what.substr(set.size());
      const auto other = std::ranges::find(all, same, &fingerprint::what);
      ASSERT_NE(other, all.end()) << same;
      EXPECT_EQ(each.bits, other->bits) << each.what << " by " << flags_units()[u].flags;
    }
  }
}

// Of hosts, policies and files: numbers that are none, also where the compiler has been told that there are no such.
TEST(Flags, StrangeInputsAreRefused) {
  ASSERT_GE(refusing_units().size(), 2U);
  for (const refusing_unit& unit : refusing_units())
    for (const refusal& each : unit.inputs()) EXPECT_TRUE(each.refused) << each.what << " by " << unit.flags;
}

TEST(Flags, OptionsThatAreNoNumbersAreRefused) {
  for (const refusing_unit& unit : refusing_units())
    for (const refusal& each : unit.options()) EXPECT_TRUE(each.refused) << each.what << " by " << unit.flags;
}

// Refusals, and answers that are none: what begins like this is no mistake.
TEST(Flags, UnitsAreAskedTheSame) {
  std::vector<std::string> expected;
  for (const refusing_unit& unit : refusing_units()) {
    std::vector<std::string> asked;
    for (const auto& part : {unit.inputs(), unit.options()})
      for (const refusal& each : part) asked.push_back(each.what);
    if (expected.empty()) expected = asked;
    EXPECT_EQ(asked, expected) << unit.flags;
  }
  const auto sound =
      std::ranges::count_if(expected, [](const std::string& what) { return what.starts_with("what is no mistake: "); });
  std::cout << std::ssize(expected) - sound << " refusals and " << sound << " answers that are none, by each of "
            << refusing_units().size() << " units\n";
}

TEST(Flags, ForgedStatesAreRefusedAlike) {
  const auto plain_one =
      std::ranges::find_if(refusing_units(), [](const refusing_unit& unit) { return unit.flags == "-O1"; });
  ASSERT_NE(plain_one, refusing_units().end());
  const std::vector<forgeries> expected = plain_one->forged_states();
  forgeries sum;
  for (const forgeries& each : expected) {
    EXPECT_GT(each.accepted, 0U);
    EXPECT_GT(each.refused, 0U);
    sum.accepted += each.accepted;
    sum.refused += each.refused;
  }
  std::cout << sum.accepted << " forged states accepted, " << sum.refused << " refused\n";
  for (const refusing_unit& unit : refusing_units()) EXPECT_TRUE(unit.forged_states() == expected) << unit.flags;
}

}  // namespace
