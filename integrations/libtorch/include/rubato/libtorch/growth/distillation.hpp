#ifndef RUBATO_LIBTORCH_GROWTH_DISTILLATION_HPP
#define RUBATO_LIBTORCH_GROWTH_DISTILLATION_HPP

#include <torch/nn/functional/loss.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <rubato/core/result.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../sentence.hpp"
#include "growable_sequential.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

namespace detail {

/// Parameters and buffers that a growing model always has: of blocks' original layers, and of other layers.
inline std::map<std::string, torch::Tensor> original_state(const growable_sequential& model) {
  std::map<std::string, torch::Tensor> all;
  const auto take = [&](const std::string& part, const torch::nn::Module& from) {
    for (const auto& each : from.named_parameters()) all.emplace(part + "." + each.key(), each.value());
    for (const auto& each : from.named_buffers()) all.emplace(part + "." + each.key(), each.value());
  };
  for (const growable_part& part : model->parts()) {
    if (part.is_block()) take(part.name, *part.units.front());
    if (part.is_layer()) take(part.name, *part.layer.ptr());
  }
  return all;
}

/// Whether they are alike there, as they are unless one was widened.
inline bool same_first_layers(const growable_sequential& a, const growable_sequential& b) {
  const auto of_a = original_state(a), of_b = original_state(b);
  return std::ranges::equal(of_a, of_b, [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.sizes() == other.second.sizes();
  });
}

}  // namespace detail

/// Shrinking back: gives a small model what a larger one has learned that was grown from its like, where they have the
/// same layers. These are the first layers of each block, the batch norm's weights and running statistics among them,
/// and the layers outside of blocks; what was inserted is lost. Returns how many tensors were copied.
///
///     growable_sequential small = net.copy();                 // before it grows
///     deepen(net, 0), train(net);
///     copy_of_first_layers(net, small);                       // devices are gone: go on with the small one
///
/// The published program copies no batch norm, so that its student normalises with other means than its weights were
/// trained for.
///
/// Errors  invalid_option: models that were not made alike, or of which one has been widened; the student has not
///         changed then
/// Cost    O(parameters). The student may be on another device.
/// Tests   tests/integrations/libtorch/growth/distillation_test.cpp: CopiesTheFirstLayersOfEachBlock,
///         BatchNormsAreCopiedToo, AnUntrainedInsertionLosesNothing, LayersOutsideOfBlocksAreCopied,
///         RefusesOtherModels
/// Source  Lamelas, course report, Tufts University, 2023, §7.1, after Lin et al., "Weight Distillation: Transferring
///         the Knowledge in Neural Network Parameters", ACL 2021
inline result<std::uint64_t> copy_of_first_layers(const growable_sequential& teacher, growable_sequential& student) {
  const auto refusal = [](const std::string& what) {
    return error{errc::invalid_option, "copy_of_first_layers: " + what};
  };
  const std::vector<std::string> theirs = teacher->outline(), own = student->outline();
  if (theirs.size() != own.size())
    return refusal("found a student of " + std::to_string(own.size()) + " parts, expected the teacher's " +
                   std::to_string(theirs.size()));
  for (std::size_t p = 0; p < own.size(); ++p)
    if (theirs[p] != own[p])
      return refusal("part " + std::to_string(p) + ": found \"" + own[p] + "\", expected the teacher's \"" + theirs[p] +
                     "\"");
  const std::map<std::string, torch::Tensor> from = detail::original_state(teacher);
  std::map<std::string, torch::Tensor> to = detail::original_state(student);
  for (const auto& [name, tensor] : to) {
    const auto found = from.find(name);
    if (found != from.end() && found->second.sizes() == tensor.sizes()) continue;
    std::ostringstream text;
    text << name << ": found a shape of " << tensor.sizes() << ", expected the teacher's";
    if (found != from.end()) text << ", " << found->second.sizes();
    return refusal(text.str());
  }
  const torch::NoGradGuard no_graph;
  for (auto& [name, tensor] : to) tensor.copy_(from.at(name));
  return std::uint64_t{to.size()};
}

/// How a student listens to its teacher.
struct distillation_options {
  double temperature = 2;  ///< of both, above 0
  double lambda = 0.75;    ///< weight of the teacher; the labels have the rest. From 0 to 1
};

/// The teacher's weight fades: 0.75 in the first epoch after shrinking back, epoch 0, and a quarter of it in each later
/// one. (The published program multiplies at the start of the first epoch, too; that is epoch + 1.)
/// Tests   tests/integrations/libtorch/growth/distillation_test.cpp: TheTeachersWeightFades
[[nodiscard]] inline double fading_lambda(std::uint64_t epoch, double first = 0.75, double factor = 0.25) noexcept {
  return first * std::pow(factor, static_cast<double>(epoch));
}

/// What a student that has a teacher minimises:
///
///     lambda * T^2 * mean over the batch of -sum(softmax(teacher / T) * log_softmax(student / T))
///       + (1 - lambda) * cross_entropy(student, labels)
///
/// The gradient goes to the student only. The teacher computes in evaluation mode, best under a NoGradGuard.
///
/// Errors  invalid_option: logits that are not batch x classes or of different shapes; labels that are not as many, or
///         of no class; a temperature that is not above 0, or lambda outside of [0, 1]
/// Cost    O(logits). Thread-safe.
/// Tests   tests/integrations/libtorch/growth/distillation_test.cpp: TheLossIsThatOfTheFormula,
///         WithoutATeachersWeightItIsTheCrossEntropy, TheGradientIsTheStudentsOnly, AStudentComesToItsTeacher,
///         RefusesImpossibleLosses
/// Source  Hinton, Vinyals, Dean, "Distilling the Knowledge in a Neural Network", 2015, §2
[[nodiscard]] inline result<torch::Tensor> distillation_loss(const torch::Tensor& student_logits,
                                                             const torch::Tensor& teacher_logits,
                                                             const torch::Tensor& labels,
                                                             const distillation_options& options = {}) {
  const auto refusal = [](const std::string& what) {
    return error{errc::invalid_option, "distillation_loss: " + what};
  };
  const auto [temperature, lambda] = options;
  std::ostringstream found;
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    found << "found a temperature of " << temperature << ", expected one above 0";
    return refusal(found.str());
  }
  if (!(lambda >= 0 && lambda <= 1)) {
    found << "found a lambda of " << lambda << ", expected one from 0 to 1";
    return refusal(found.str());
  }
  if (student_logits.dim() != 2 || student_logits.sizes() != teacher_logits.sizes()) {
    found << "found logits of " << student_logits.sizes() << " and a teacher's of " << teacher_logits.sizes()
          << ", expected a batch of classes, alike";
    return refusal(found.str());
  }
  if (labels.dim() != 1 || labels.size(0) != student_logits.size(0)) {
    found << "found labels of " << labels.sizes() << ", expected " << student_logits.size(0);
    return refusal(found.str());
  }
  try {
    const torch::Tensor soft = torch::softmax(teacher_logits.detach() / temperature, 1);
    const torch::Tensor log_probabilities = torch::log_softmax(student_logits / temperature, 1);
    const torch::Tensor to_teacher = -(soft * log_probabilities).sum(1).mean() * (temperature * temperature);
    return torch::Tensor{lambda * to_teacher +
                         (1 - lambda) * torch::nn::functional::cross_entropy(student_logits, labels)};
  } catch (const std::exception& e) {
    return refusal(sentence_of(e));
  }
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
