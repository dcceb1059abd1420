#include <rubato/nn/concepts.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/nn/optimiser.hpp>
#include <rubato/nn/training_concepts.hpp>
#include <span>

namespace rubato::nn {
namespace {

struct table {
  void evaluate(std::span<const float>, std::span<float>) const noexcept {}
};
struct may_throw {
  void evaluate(std::span<const float>, std::span<float>) const {}
};
struct changes_itself {
  void evaluate(std::span<const float>, std::span<float>) noexcept {}
};
struct answers {
  bool evaluate(std::span<const float>, std::span<float>) const noexcept { return true; }
};

TEST(NnConcepts, NetworksAreActionValueFunctions) {
  static_assert(ActionValueFunction<mlp<40, 64, 32, 3>>);
  static_assert(ActionValueFunction<dynamic_mlp>);
  static_assert(ActionValueFunction<table>);
}

TEST(NnConcepts, WhatIsNoActionValueFunction) {
  static_assert(!ActionValueFunction<may_throw>);
  static_assert(!ActionValueFunction<changes_itself>);
  static_assert(!ActionValueFunction<answers>);
  static_assert(!ActionValueFunction<basic_mlp<double, 4, 2>>, "states and values are floats");
}

TEST(NnConcepts, NetworksAreTrainable) {
  static_assert(TrainableNetwork<mlp<40, 64, 32, 3>>);
  static_assert(TrainableNetwork<dynamic_mlp>);
  static_assert(TrainableNetwork<basic_mlp<double, 3, 2>>);
}

struct hides_its_parameters : mlp<4, 3, 2> {
 private:
  using mlp<4, 3, 2>::parameters;
};
struct backward_may_throw : mlp<4, 3, 2> {
  void backward(std::span<const float>, workspace&, std::span<float>, gradient_mode) const {}
};

TEST(NnConcepts, WhatIsNotTrainable) {
  static_assert(!TrainableNetwork<table>);
  static_assert(!TrainableNetwork<hides_its_parameters>);
  static_assert(!TrainableNetwork<backward_may_throw>);
}

struct forgetful {
  using scalar = float;
  void step(std::span<float>, std::span<const float>) noexcept {}
};

TEST(NnConcepts, OptimisersAreOptimisers) {
  static_assert(Optimiser<sgd> && Optimiser<adam>);
  static_assert(Optimiser<basic_sgd<double>> && Optimiser<basic_adam<double>>);
  static_assert(!Optimiser<forgetful>, "without state, training cannot be resumed");
}

}  // namespace
}  // namespace rubato::nn
