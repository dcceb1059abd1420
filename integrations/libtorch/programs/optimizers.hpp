#ifndef RUBATO_LIBTORCH_PROGRAMS_OPTIMIZERS_HPP
#define RUBATO_LIBTORCH_PROGRAMS_OPTIMIZERS_HPP

#include <torch/optim.h>

#include <rubato/core/result.hpp>
#include <rubato/libtorch/optimizer_rule.hpp>
#include <string>
#include <utility>

/// The optimizers that the programs know, by what --optimizer, --learning-rate and --momentum say.
inline rubato::result<rubato::libtorch::optimizer_rule> optimizer_named(
    const std::string& name, double rate, double momentum, rubato::libtorch::optimizer_rule::schedule factor = {}) {
  using rubato::libtorch::optimizer_rule;
  const auto refused = [](std::string why) { return rubato::error{rubato::errc::invalid_option, std::move(why)}; };
  if (name == "sgd")
    return optimizer_rule::of<torch::optim::SGD>(torch::optim::SGDOptions(rate).momentum(momentum), std::move(factor));
  if (name != "adam") return refused("--optimizer " + name + ": expected sgd or adam");
  if (momentum != 0) return refused("--momentum: adam has none, expected --optimizer sgd");
  return optimizer_rule::of<torch::optim::Adam>(torch::optim::AdamOptions(rate), std::move(factor));
}

#endif
