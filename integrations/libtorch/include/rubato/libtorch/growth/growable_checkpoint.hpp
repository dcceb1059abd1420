#ifndef RUBATO_LIBTORCH_GROWTH_GROWABLE_CHECKPOINT_HPP
#define RUBATO_LIBTORCH_GROWTH_GROWABLE_CHECKPOINT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <rubato/core/result.hpp>
#include <rubato/io/atomic_file.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../sentence.hpp"
#include "../state_file.hpp"
#include "growable_sequential.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

namespace detail {

/// Beside the parameters, a text as bytes. No parameter's name begins like this.
inline constexpr const char* outline_key = "+growable_sequential";
inline constexpr const char* outline_format = "rubato growable_sequential 1";

inline std::string outline_text(const growable_sequential& model) {
  std::string text = outline_format;
  for (const std::string& line : model->outline()) text += '\n' + line;
  return text;
}
inline torch::Tensor bytes_of(std::string text) {
  return torch::from_blob(text.data(), {static_cast<std::int64_t>(text.size())}, torch::kUInt8).clone();
}

/// The first line in which the text of a file is not that of the model; empty where they are alike.
inline std::string difference(const std::string& saved, const std::string& own) {
  std::istringstream a{saved}, b{own};
  std::string found, expected;
  for (std::size_t line = 0;; ++line) {
    const bool more = static_cast<bool>(std::getline(a, found)), wanted = static_cast<bool>(std::getline(b, expected));
    if (!more && !wanted) return {};
    if (more && wanted && found == expected) continue;
    return (line == 0 ? std::string{"format"} : "part " + std::to_string(line - 1)) + ": found " +
           (more ? '"' + found + '"' : "none") + ", expected " + (wanted ? '"' + expected + '"' : "none");
  }
}

/// Inputs and outputs of the layers with weights, insertions included, in order.
inline std::vector<std::pair<std::int64_t, std::int64_t>> widths_of(const growable_sequential& model) {
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  for (const growable_part& part : model->parts()) {
    for (const rectified_unit& unit : part.units)
      widths.emplace_back(unit->weighted().inputs(), unit->weighted().outputs());
    if (const weighted_layer layer = part.weighted(); part.is_layer() && layer.exists())
      widths.emplace_back(layer.inputs(), layer.outputs());
  }
  return widths;
}

/// Grows or shrinks a model to what a file has, and takes its values. An empty sentence, or what does not fit; the
/// model is half changed then.
inline std::string adopt(growable_sequential& model, const std::map<std::string, torch::Tensor>& saved) {
  for (std::size_t block = 0; block < model->blocks(); ++block) {
    const growable_part& part = model->parts()[model->part_of(block)];
    std::size_t insertions = 0;
    const auto exists = [&](std::size_t nth) {
      const auto at = saved.lower_bound(part.name + "+" + std::to_string(nth) + ".");
      return at != saved.end() && at->first.starts_with(part.name + "+" + std::to_string(nth) + ".");
    };
    while (exists(insertions + 1)) ++insertions;
    model->remove_insertions(block, insertions);
    while (part.units.size() <= insertions) model->insert(block, part.units.front()->inserted());
  }
  // What may have another width: all of a unit, and weights that read one.
  const auto before = widths_of(model);
  std::map<std::string, torch::Tensor> wanted = named_state(*model);
  for (const auto& [name, tensor] : saved)
    if (name != outline_key && !wanted.contains(name)) return "the model has no " + name;
  std::map<std::string, std::vector<std::int64_t>> fixed;
  for (const auto& [name, tensor] : wanted) fixed.emplace(name, tensor.sizes().vec());
  for (auto& [name, tensor] : wanted) {
    const auto found = saved.find(name);
    if (found == saved.end()) return "there is no " + name;
    if (found->second.scalar_type() != tensor.scalar_type() || found->second.dim() != tensor.dim() ||
        (tensor.dim() > 2 && found->second.sizes().slice(2) != tensor.sizes().slice(2)))
      return name + " is of another shape or type than the model's";
    if (found->second.sizes() == tensor.sizes())
      tensor.copy_(found->second);
    else
      give(tensor, found->second.to(tensor.device()).clone());
  }
  // Widths must go together as they did.
  const auto after = widths_of(model);
  bool fits = after.front().first == before.front().first && after.back().second == before.back().second;
  for (std::size_t n = 1; n < after.size(); ++n)
    fits = fits && after[n].first * before[n - 1].second == before[n].first * after[n - 1].second;
  for (const growable_part& part : model->parts()) {
    for (const rectified_unit& unit : part.units) {
      const std::int64_t width = unit->weighted().outputs();
      if (unit->weighted().bias().defined()) fits = fits && unit->weighted().bias().size(0) == width;
      unit->weighted().tell_options();
      if (!unit->norm) continue;
      auto& norm = *unit.ptr()->norm;
      for (const torch::Tensor& each : {norm.weight, norm.bias, norm.running_mean, norm.running_var})
        fits = fits && each.size(0) == width;
      norm.options.num_features(width);
    }
    if (!part.is_layer()) continue;
    const weighted_layer layer = part.weighted();
    for (const auto& each : part.layer.ptr()->named_parameters())
      if (!layer.exists() || !each->is_same(layer.weight()))
        fits = fits && each->sizes() == fixed.at(part.name + "." + each.key());
    for (const auto& each : part.layer.ptr()->named_buffers())
      fits = fits && each->sizes() == fixed.at(part.name + "." + each.key());
    if (layer.exists()) layer.tell_options();
  }
  return fits ? std::string{} : "its widths do not go together with each other or with the model's";
}

}  // namespace detail

/// Writes a model that grows: parameters and buffers under their names, as save_state() does, and beside them a text
/// that says of which model they are. Insertions are told by the names, widths by the shapes. Complete or not at all.
/// Returns the number of bytes. Errors: io.
/// Tests   tests/integrations/libtorch/growth/growable_checkpoint_test.cpp: AGrownModelComesBackBitEqual
inline result<std::uint64_t> save_growable(const std::string& path, const growable_sequential& model) {
  const torch::NoGradGuard no_graph;
  try {
    c10::Dict<std::string, torch::Tensor> state;
    for (const auto& [name, tensor] : detail::named_state(*model)) state.insert(name, tensor.detach().cpu().clone());
    state.insert(detail::outline_key, detail::bytes_of(detail::outline_text(model)));
    return write_file(path, detail::saved(state));
  } catch (const std::exception& e) {
    return error{errc::io, path + ": " + sentence_of(e)};
  }
}

/// Makes a model what it was when it was saved: a model that was made alike, however it has grown by now. Insertions
/// come and go, and widths change as the file says; all else must be the same, poolings and strides too. Parameters
/// that are in both stay the same tensors. Returns the number of tensors. If it fails nothing has changed.
///
///     auto net = conv_net();                      // as when it was new
///     load_growable("net.pt", net);               // grown, and trained
///
/// The file is from somebody whom you trust, as for load_state().
///
/// Errors  io; corrupt: not such a file; wrong_kind: of another model, or a state without the text that says so
/// Cost    a copy of the model and one of the file
/// Thread  nobody else uses the model
/// Tests   tests/integrations/libtorch/growth/growable_checkpoint_test.cpp: AGrownModelComesBackBitEqual,
///         AWidenedModelComesBackBitEqual, AnEarlierOneShrinksTheModel, ParametersOfBothStayTheSameTensors,
///         RefusesOtherModels, RefusesWhatIsNoCheckpoint, RefusesWidthsThatDoNotGoTogether
inline result<std::uint64_t> load_growable(const std::string& path, growable_sequential& model) {
  const torch::NoGradGuard no_graph;
  const auto saved = detail::tensors_in(path);
  if (!saved) return saved.error();
  const auto text = saved->find(detail::outline_key);
  if (text == saved->end() || text->second.scalar_type() != torch::kUInt8)
    return error{errc::wrong_kind,
                 path + ": found no outline of a model that grows, expected a file of save_growable()"};
  const torch::Tensor bytes = text->second.contiguous();
  const std::string outline{reinterpret_cast<const char*>(bytes.data_ptr<std::uint8_t>()),
                            static_cast<std::size_t>(bytes.numel())};
  const std::string different = detail::difference(outline, detail::outline_text(model));
  if (!different.empty()) return error{errc::wrong_kind, path + ": another model: " + different};
  try {
    growable_sequential tried = model.copy();
    const std::string wrong = detail::adopt(tried, *saved);
    if (!wrong.empty()) return error{errc::wrong_kind, path + ": " + wrong};
    detail::adopt(model, *saved);
  } catch (const std::exception& e) {
    return error{errc::corrupt, path + ": " + sentence_of(e)};
  }
  return std::uint64_t{saved->size() - 1};
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
