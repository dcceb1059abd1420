#include "log_timeline.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::lab::page {
namespace {

void join(log_timeline::stay& to, const log_timeline::stay& from) {
  to.waiting += from.waiting, to.busy += from.busy;
  to.staleness += from.staleness, to.gradients += from.gradients;
}

void join(log_timeline::moment& to, const log_timeline::moment& from) {
  to.busy += from.busy;
  to.apply += from.apply, to.accumulate += from.accumulate, to.drop += from.drop;
  to.releases += from.releases, to.batch += from.batch, to.rate += from.rate;
  to.losses += from.losses, to.loss += from.loss;
}

// Each two become one.
template <class Part>
void halve(std::vector<Part>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part one = parts[i];
    parts[i] = {};
    join(parts[i / 2], one);
  }
}

}  // namespace

std::size_t log_timeline::parts() const noexcept {
  if (length_ <= 0) return begun_ ? 1 : 0;
  const double count = std::ceil((now_ - begin_) / length_ * (1 - 1e-12));
  return std::clamp<std::size_t>(static_cast<std::size_t>(count), 1, most_parts);
}

std::size_t log_timeline::part_at(double time) const noexcept {
  if (length_ <= 0) return 0;
  return std::min(static_cast<std::size_t>(std::max((time - begin_) / length_, 0.0)), most_parts - 1);
}

void log_timeline::pass_time(double to) {
  if (!std::isfinite(to)) return;
  if (!begun_) {
    begun_ = true;
    begin_ = now_ = to;
    for (worker& each : who_) each.since = to;
  }
  now_ = std::max(now_, to);
  if (length_ <= 0 && now_ > begin_) length_ = (now_ - begin_) / most_parts;
  while (length_ > 0 && now_ - begin_ > length_ * most_parts * (1 + 1e-12)) {
    length_ *= 2;
    halve(moments_);
    for (auto& each : stays_) halve(each);
  }
}

void log_timeline::spend(std::uint32_t who, state how, double from, double to) {
  for (std::size_t part = part_at(from); from < to && part < most_parts; ++part) {
    const bool last = length_ <= 0 || part + 1 == most_parts;
    const double until = last ? to : std::min(to, begin_ + static_cast<double>(part + 1) * length_);
    const double spent = std::max(until - from, 0.0);
    const bool waits = how == state::waiting;
    if (!waits) moments_[part].busy += spent;
    if (who < most_workers) (waits ? stays_[who][part].waiting : stays_[who][part].busy) += spent;
    from = std::max(from, until);
  }
}

void log_timeline::turn(std::uint32_t who, state to) {
  if (who >= who_.size()) who_.resize(std::size_t{who} + 1);
  if (who < most_workers) {
    if (who >= stays_.size()) stays_.resize(std::size_t{who} + 1);
    if (stays_[who].empty()) stays_[who].resize(most_parts);
  }
  worker& me = who_[who];
  if (me.is != state::absent) spend(who, me.is, me.since, now_);
  me = {to, now_};
}

void log_timeline::add(const record& r) {
  pass_time(r.now);
  using kind = record::kind;
  const std::uint32_t who = r.worker.index;
  if (who == no_worker) return;
  moment& here = moments_[part_at(now_)];
  switch (r.what) {
    case kind::join: turn(who, state::waiting); break;
    case kind::depart: turn(who, state::absent); break;
    case kind::commit:  // its worker may have gone meanwhile, or come back
      if (who < who_.size() && who_[who].is == state::serving) turn(who, state::waiting);
      break;
    case kind::release:
      turn(who, state::busy);
      ++here.releases;
      here.batch += r.count;
      here.rate += static_cast<double>(r.value);
      asked_for_batch_ |= r.count != 0;
      changed_rate_ |= r.value != 1.0F;
      break;
    case kind::admit: {
      here.apply += r.decided == verdict::apply ? 1 : 0;
      here.accumulate += r.decided == verdict::accumulate ? 1 : 0;
      here.drop += r.decided == verdict::drop ? 1 : 0;
      if (std::isfinite(r.loss)) ++here.losses, here.loss += static_cast<double>(r.loss);
      const auto bin = static_cast<std::size_t>(std::min<std::uint64_t>(r.staleness, stalest));
      if (bin >= staleness_.size()) staleness_.resize(bin + 1);
      ++staleness_[bin];
      turn(who, state::serving);
      if (who >= most_workers) break;
      stay& mine = stays_[who][part_at(now_)];
      mine.staleness += static_cast<double>(r.staleness);
      ++mine.gradients;
      break;
    }
    default: break;
  }
}

void log_timeline::finish() {
  for (std::uint32_t who = 0; who < who_.size(); ++who)
    if (who_[who].is != state::absent) turn(who, state::absent);
}

}  // namespace rubato::lab::page
