#ifndef RUBATO_LIBTORCH_GROWTH_GROWTH_JOB_STATE_HPP
#define RUBATO_LIBTORCH_GROWTH_GROWTH_JOB_STATE_HPP

#include <ATen/Context.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <rubato/adapt/growth/scheduler.hpp>
#include <rubato/core/result.hpp>
#include <rubato/io/atomic_file.hpp>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../sentence.hpp"
#include "growable_checkpoint.hpp"
#include "growable_sequential.hpp"
#include "growth_epoch.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// An epoch of a job. Times are those of its scheduler, since the job began.
struct growth_epoch {
  std::uint64_t number = 0;              ///< among all that began, from 0
  epoch_end end = epoch_end::completed;  ///< completed, or why not
  double time = 0;                       ///< at its end, when it had been judged
  std::uint64_t batches = 0;             ///< that the model has learned from
  double loss = 0;                       ///< mean of what it minimised; 0 without a batch
  std::optional<double> accuracy{};      ///< where it was completed
  double learning_rate = 0;              ///< in this epoch
  double lambda = 0;                     ///< the larger model's weight in the loss; 0 without one
  std::uint64_t insertions = 0;          ///< in the model
  std::uint64_t parameters = 0;          ///< of the model
  bool operator==(const growth_epoch&) const = default;
};
/// What somebody decided.
struct growth_decision {
  double time = 0;           ///< when
  std::uint64_t epoch = 0;   ///< the one that follows
  std::uint64_t action = 0;  ///< its number, see adapt::growable_model
  bool operator==(const growth_decision&) const = default;
};
/// Devices came or went.
struct growth_change {
  double time = 0;                                   ///< when the job turned to it
  adapt::allocation change = adapt::allocation::up;  ///< up or down
  std::optional<double> accuracy{};                  ///< of the smaller model, with the larger one's weights
  bool operator==(const growth_change&) const = default;
};
/// What a job has come to.
struct growth_report {
  std::vector<growth_epoch> epochs{};        ///< aborted ones among them
  std::vector<growth_decision> decisions{};  ///< at most so many for each "up" as the options say
  std::vector<growth_change> changes{};      ///< in their order
  /// Of the last completed epoch; or of the smaller model right after it took over, if no epoch was completed since.
  /// Nothing if there was neither.
  std::optional<double> accuracy{};
  double time_used = 0;    ///< of the budget
  std::uint64_t work = 0;  ///< multiply-adds of training so far, see train_epoch()
  bool operator==(const growth_report&) const = default;
};

namespace detail {

/// All that a job has but its optimizer.
struct growth_job_state {
  growable_sequential model;
  std::vector<growable_sequential> smaller{};  // the last one is who comes next when devices go
  std::optional<growable_sequential> teacher{};
  growth_report report{};
  std::uint64_t distilled = 0;  // completed epochs since the teacher teaches
  std::uint64_t decisions_left = 0;
  double rate = 0;
};

inline std::uint64_t insertions_in(const growable_sequential& model) {
  std::uint64_t count = 0;
  for (const growable_part& part : model->parts())
    if (part.is_block()) count += part.units.size() - 1;
  return count;
}

/// The numbers of a state, in order, into a vector or out of one.
class number_writer {
 public:
  static constexpr bool reads = false;
  std::vector<double> all{};
  template <class T>
  void operator()(T& x) {
    if constexpr (std::is_same_v<std::remove_const_t<T>, std::optional<double>>) {
      all.push_back(x ? *x : std::numeric_limits<double>::quiet_NaN());
    } else if constexpr (std::is_same_v<std::remove_const_t<T>, std::uint64_t>) {  // in halves, which are exact
      all.push_back(static_cast<double>(x >> 32)), all.push_back(static_cast<double>(x & 0xffffffff));
    } else {
      all.push_back(static_cast<double>(x));
    }
  }
};
class number_reader {
 public:
  static constexpr bool reads = true;
  explicit number_reader(std::vector<double> numbers) : all_{std::move(numbers)} {}
  template <class T>
  void operator()(T& x) {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      const double found = next();
      x = std::isnan(found) ? std::nullopt : std::optional{found};
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      const std::uint64_t high = whole(0x1p32), low = whole(0x1p32);
      x = high << 32 | low;
    } else if constexpr (std::is_enum_v<T>) {
      x = static_cast<T>(whole(3));
    } else {
      x = next();
    }
  }
  /// Whether so many things can follow.
  bool can_have(std::uint64_t count) { return good_ = good_ && count <= all_.size(); }
  [[nodiscard]] bool complete() const noexcept { return good_ && at_ == all_.size(); }

 private:
  double next() {
    good_ = good_ && at_ < all_.size();
    return good_ ? all_[at_++] : 0;
  }
  std::uint64_t whole(double below) {
    const double found = next();
    good_ = good_ && found >= 0 && found < below && found == std::floor(found);
    return good_ ? static_cast<std::uint64_t>(found) : 0;
  }
  std::vector<double> all_;
  std::size_t at_ = 0;
  bool good_ = true;
};

template <class Numbers, class List, class Each>
void visit_list(Numbers& numbers, List& list, Each each) {
  std::uint64_t size = list.size();
  numbers(size);
  if constexpr (Numbers::reads) list.resize(numbers.can_have(size) ? size : 0);
  for (auto& one : list) each(one);
}
template <class Numbers, class State>
void visit(Numbers& numbers, State& state, std::uint64_t& smaller, std::uint64_t& teachers) {
  numbers(smaller), numbers(teachers), numbers(state.distilled), numbers(state.decisions_left), numbers(state.rate);
  auto& report = state.report;
  visit_list(numbers, report.epochs, [&](auto& e) {
    numbers(e.number), numbers(e.end), numbers(e.time), numbers(e.batches), numbers(e.loss), numbers(e.accuracy);
    numbers(e.learning_rate), numbers(e.lambda), numbers(e.insertions), numbers(e.parameters);
  });
  visit_list(numbers, report.decisions, [&](auto& d) { numbers(d.time), numbers(d.epoch), numbers(d.action); });
  visit_list(numbers, report.changes, [&](auto& c) { numbers(c.time), numbers(c.change), numbers(c.accuracy); });
  numbers(report.accuracy), numbers(report.time_used), numbers(report.work);
}

inline constexpr const char* job_format = "rubato growth_job 1";

/// The outline, and what numbers of actions go by.
inline std::string job_outline_text(const growable_sequential& model) {
  std::string text = outline_text(model);
  for (const growable_part& part : model->parts())
    if (part.widens) text += "\nwidens " + part.name;
  return text;
}

/// Writes a state and what its optimizer and torch's generator remember; complete or not at all.
inline result<std::uint64_t> save_job(const std::string& path, const growth_job_state& state,
                                      const torch::optim::Optimizer& optimizer) {
  const torch::NoGradGuard no_graph;
  try {
    c10::Dict<std::string, torch::Tensor> all;
    const auto add_model = [&](const std::string& which, const growable_sequential& model) {
      for (const auto& [name, tensor] : named_state(*model))
        all.insert(which + "/" + name, tensor.detach().cpu().clone());
    };
    number_writer numbers;
    std::uint64_t smaller = state.smaller.size(), teachers = state.teacher ? 1 : 0;
    visit(numbers, state, smaller, teachers);
    std::ostringstream text;
    torch::serialize::OutputArchive archive;
    optimizer.save(archive);
    archive.save_to(text);
    all.insert("+format", bytes_of(job_format));
    all.insert("+outline", bytes_of(job_outline_text(state.model)));
    all.insert("+numbers", torch::tensor(numbers.all, torch::kFloat64));
    all.insert("+optimizer", bytes_of(text.str()));
    all.insert("+generator", at::globalContext().defaultGenerator(at::kCPU).get_state());
    add_model("model", state.model);
    for (std::size_t n = 0; n < state.smaller.size(); ++n) add_model("smaller" + std::to_string(n), state.smaller[n]);
    if (state.teacher) add_model("teacher", *state.teacher);
    return write_file(path, saved(all));
  } catch (const std::exception& e) {
    return error{errc::io, path + ": " + sentence_of(e)};
  }
}

/// A state, and the bytes of its optimizer.
struct saved_growth_job {
  growth_job_state state;
  std::string optimizer{};
  torch::Tensor generator{};
};
/// Reads it, of a model that was made as this one.
inline result<saved_growth_job> load_job(const std::string& path, const growable_sequential& like) {
  const torch::NoGradGuard no_graph;
  const auto all = tensors_in(path);
  if (!all) return all.error();
  const auto text = [&](const char* name) {
    const auto found = all->find(name);
    if (found == all->end() || found->second.scalar_type() != torch::kUInt8) return std::string{};
    const torch::Tensor bytes = found->second.contiguous();
    return std::string{reinterpret_cast<const char*>(bytes.data_ptr<std::uint8_t>()),
                       static_cast<std::size_t>(bytes.numel())};
  };
  if (text("+format") != job_format)
    return error{errc::wrong_kind, path + ": found no job that grows a model, expected a file of growth_job"};
  const std::string different = difference(text("+outline"), job_outline_text(like));
  if (!different.empty()) return error{errc::wrong_kind, path + ": another model: " + different};

  saved_growth_job made{.state = {.model = like.copy()}, .optimizer = text("+optimizer")};
  const auto model_of = [&](const std::string& which) -> result<growable_sequential> {
    std::map<std::string, torch::Tensor> its;
    for (auto at = all->lower_bound(which + "/"); at != all->end() && at->first.starts_with(which + "/"); ++at)
      its.emplace(at->first.substr(which.size() + 1), at->second);
    growable_sequential model = like.copy();
    const std::string wrong = adopt(model, its);
    if (!wrong.empty()) return error{errc::wrong_kind, path + ": " + which + ": " + wrong};
    return model;
  };
  try {
    const auto found = all->find("+numbers");
    const auto generator = all->find("+generator");
    if (found == all->end() || found->second.scalar_type() != torch::kFloat64 || generator == all->end())
      return error{errc::corrupt, path + ": not what a growth_job has written"};
    const torch::Tensor values = found->second.contiguous();
    number_reader numbers{{values.data_ptr<double>(), values.data_ptr<double>() + values.numel()}};
    std::uint64_t smaller = 0, teachers = 0;
    visit(numbers, made.state, smaller, teachers);
    if (!numbers.complete()) return error{errc::corrupt, path + ": its numbers are not what a growth_job has written"};
    made.generator = generator->second;
    result<growable_sequential> model = model_of("model");
    if (!model) return model.error();
    made.state.model = *model;
    for (std::uint64_t n = 0; n < smaller; ++n) {
      const result<growable_sequential> each = model_of("smaller" + std::to_string(n));
      if (!each) return each.error();
      made.state.smaller.push_back(*each);
    }
    if (teachers != 0) {
      const result<growable_sequential> teacher = model_of("teacher");
      if (!teacher) return teacher.error();
      made.state.teacher = *teacher;
    }
  } catch (const std::exception& e) {
    return error{errc::corrupt, path + ": " + sentence_of(e)};
  }
  return made;
}

}  // namespace detail

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
