#include "switching_host.hpp"

namespace rubato::lab {

std::string text_of(const switching_host& host) {
  return R"({"after":)" + std::to_string(static_cast<int>(host.after)) + R"(,"stage":)" + std::to_string(host.stage) +
         R"(,"scales_rounds":)" + (host.scales_rounds ? "true" : "false") + R"(,"keeps_rate":)" +
         (host.keeps_rate ? "true" : "false") + "}";
}

void switched_objective::reset(std::uint64_t seed) {
  of_.reset(seed);
  workers_ = all_;
  steps_ = switches_ = 0;
  begun_ = false;
}

void switched_objective::update(std::span<const sim::contribution> parts, double learning_rate) {
  const switch_phase now = parts.size() > 1 ? switch_phase::first : switch_phase::second;
  if (begun_ && now != phase_) ++switches_;
  if (!begun_ || now != phase_) steps_ = 0;
  begun_ = true;
  phase_ = now;
  if (now == switch_phase::first) workers_ = static_cast<std::uint32_t>(parts.size());

  const switch_configuration rules{
      .learning_rate = learning_rate, .momentum = momentum_, .after = host_.after, .stage = host_.stage};
  const update_configuration with = rules.at(now, steps_, workers_);
  const bool scales = now == switch_phase::first ? host_.scales_rounds : host_.keeps_rate;
  if (momentum_ > 0) of_.set_momentum(with.momentum);
  of_.update(parts, scales ? learning_rate * workers_ : learning_rate);
  steps_ += parts.size();
}

}  // namespace rubato::lab
