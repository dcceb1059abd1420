#ifndef RUBATO_TESTS_MODEL_EXPLORER_HPP
#define RUBATO_TESTS_MODEL_EXPLORER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actions.hpp"
#include "host.hpp"
#include "state.hpp"

namespace rubato::test::model {

/// Fingerprints that were seen.
class fingerprint_set {
 public:
  /// False if it was there already.
  bool insert(std::uint64_t print) {
    if (2 * size_ >= table_.size()) grow();
    return put(print == 0 ? 1 : print);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  bool put(std::uint64_t print) {
    std::size_t i = print & (table_.size() - 1);
    for (; table_[i] != 0; i = (i + 1) & (table_.size() - 1))
      if (table_[i] == print) return false;
    table_[i] = print;
    ++size_;
    return true;
  }
  void grow() {
    std::vector<std::uint64_t> old(std::max<std::size_t>(2 * table_.size(), 1024));
    std::swap(old, table_);
    size_ = 0;
    for (const std::uint64_t print : old)
      if (print != 0) put(print);
  }
  std::vector<std::uint64_t> table_;
  std::size_t size_ = 0;
};

struct findings {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t compared = 0;     ///< states of which two were found to have the same futures
  std::uint32_t depth = 0;        ///< every sequence of so many actions from a beginning was explored
  bool complete = false;          ///< there are no further states within the bounds of the scope
  std::string problem;            ///< empty: every promise is kept
  std::vector<std::string> path;  ///< to the problem, a line for each action and one for the state after it
  std::uint32_t actions = 0;      ///< on that path
};

/// Breadth-first search over the states of a controller and its host, from two beginnings: nobody has joined, and
/// everybody has. So the first counter-example is a shortest one. States are not kept, only how they were reached: from
/// one to the next in the queue little has to be done anew, as neighbours there have come most of their way together.
class explorer {
 public:
  explorer(plan p, std::uint64_t most_states) : plan_{std::move(p)}, most_{most_states} {}

  [[nodiscard]] findings run() {
    for (std::uint32_t root = 0; root < 2 && found_.problem.empty(); ++root) begin(root);
    std::size_t level_ends = nodes_.size();
    for (std::size_t n = 0; found_.problem.empty(); ++n) {
      if (n == level_ends) {
        if (n == nodes_.size()) {
          found_.complete = true;
          break;
        }
        ++found_.depth;
        level_ends = nodes_.size();
      }
      if (nodes_.size() >= most_) break;
      expand(static_cast<std::uint32_t>(n));
    }
    found_.states = nodes_.size();
    return std::move(found_);
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  static constexpr std::uint64_t sampled = 127;  // one state of so many, and one, has its futures compared
  struct node {
    std::uint32_t parent = none;  // none: a beginning
    action by{};                  // of a beginning: `worker` is which
  };
  struct meeting {
    std::uint64_t future;
    std::uint32_t node;
    bool has_last;  // with one action more
    action last;
  };
  struct frame {
    std::uint32_t node = none;
    world at;
  };

  [[nodiscard]] world root(std::uint32_t which, std::vector<std::string>* story = nullptr) const {
    world w = plan_.beginning();
    for (std::uint32_t i = 0; which == 1 && i < plan_.in.workers; ++i) {
      host h{plan_, w, story};
      h.perform({.what = act::join, .worker = static_cast<std::uint8_t>(i), .decision = plan_.of.is.arbitrary});
    }
    return w;
  }
  void begin(std::uint32_t which) {
    const world w = root(which);
    seen_.insert(fingerprint_of{plan_, w}.value());
    nodes_.push_back({.parent = none, .by = {.worker = static_cast<std::uint8_t>(which)}});
  }

  // Brings the world of a node to the end of the stack of frames.
  void go_to(std::uint32_t n) {
    way_.clear();
    for (std::uint32_t each = n; each != none; each = nodes_[each].parent) way_.push_back(each);
    std::reverse(way_.begin(), way_.end());
    std::size_t shared = 0;
    while (shared < way_.size() && shared < depth_ && frames_[shared].node == way_[shared]) ++shared;
    for (depth_ = shared; depth_ < way_.size(); ++depth_) {
      const std::uint32_t next = way_[depth_];
      if (depth_ == frames_.size()) frames_.push_back({none, plan_.beginning()});
      frame& f = frames_[depth_];
      f.node = next;
      if (depth_ == 0) {
        f.at = root(nodes_[next].by.worker);
      } else {
        f.at = frames_[depth_ - 1].at;
        host{plan_, f.at}.perform(nodes_[next].by);
      }
    }
  }

  void expand(std::uint32_t n) {
    go_to(n);
    const std::size_t here = depth_ - 1;
    list_actions(plan_, frames_[here].at, actions_);
    if (scratch_.empty()) scratch_.push_back(frames_[here].at);
    world& next = scratch_.front();
    next = frames_[here].at;
    host stray{plan_, next};
    stray.stray_calls();
    const std::uint64_t own = fingerprint_of{plan_, frames_[here].at}.value();
    if (stray.problem.empty() && fingerprint_of{plan_, next}.value() != own)
      stray.problem = "a refused call changed something";
    if (!stray.problem.empty()) return tell(n, nullptr, stray.problem);
    std::uint64_t future = 0;
    for (const action& a : actions_) {
      next = frames_[here].at;
      host h{plan_, next};
      h.perform(a);
      ++found_.transitions;
      if (!h.problem.empty()) return tell(n, &a, h.problem);
      const std::uint64_t print = fingerprint_of{plan_, next}.value();
      future += scattered(print);
      if (seen_.insert(print)) {
        nodes_.push_back({.parent = n, .by = a});
      } else if (is_sampled(print) && print != own && !compare(print, futures(next), n, &a)) {
        return;
      }
    }
    if (is_sampled(own)) static_cast<void>(compare(own, future, n, nullptr));
  }

  [[nodiscard]] static std::uint64_t scattered(std::uint64_t print) {
    digest d;
    d.add(print);
    return d.value();
  }
  [[nodiscard]] static bool is_sampled(std::uint64_t print) { return (print >> 20 & sampled) == 0; }

  // Which states follow one, in one number: the same for each state of the same fingerprint, or the fingerprint says
  // too little. Compared for a sample of the states, each time that one is met.
  [[nodiscard]] std::uint64_t futures(const world& from, std::vector<std::string>* told = nullptr) {
    std::vector<action> list;
    list_actions(plan_, from, list);
    std::uint64_t sum = 0;
    for (const action& a : list) {
      world next = from;
      host h{plan_, next};
      h.perform(a);
      const std::uint64_t print = fingerprint_of{plan_, next}.value();
      if (h.problem.empty()) sum += scattered(print);
      if (told != nullptr) told->push_back("     " + words(a) + " => " + std::to_string(print % 1'000'000));
    }
    return sum;
  }
  [[nodiscard]] bool compare(std::uint64_t print, std::uint64_t future, std::uint32_t n, const action* last) {
    const auto [place, is_new] = futures_.try_emplace(print, meeting{future, n, last != nullptr, action{}});
    if (is_new && last != nullptr) place->second.last = *last;
    found_.compared += !is_new;
    if (place->second.future == future) return true;
    tell(n, last,
         "this state and another one, below, have the same fingerprint and not the same futures: traits or "
         "fingerprint say too little");
    const meeting& other = place->second;
    found_.path.push_back("the other one:");
    tell_way(other.node, other.has_last ? &other.last : nullptr);
    return false;
  }

  // Does the way to a node, and one action more, once again, and writes down what happens.
  void tell(std::uint32_t n, const action* last, std::string problem) {
    found_.problem = std::move(problem);
    tell_way(n, last);
    found_.actions = static_cast<std::uint32_t>(found_.path.size() / 2 - 1);
  }
  void tell_way(std::uint32_t n, const action* last) {
    way_.clear();
    for (std::uint32_t each = n; each != none; each = nodes_[each].parent) way_.push_back(each);
    std::reverse(way_.begin(), way_.end());
    world w = root(nodes_[way_.front()].by.worker);
    found_.path.push_back(nodes_[way_.front()].by.worker == 0 ? "nobody has joined" : "everybody has joined");
    found_.path.push_back("     " + drawn(w));
    std::vector<action> actions;
    for (std::size_t i = 1; i < way_.size(); ++i) actions.push_back(nodes_[way_[i]].by);
    if (last != nullptr) actions.push_back(*last);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      std::vector<std::string> story;
      host{plan_, w, &story}.perform(actions[i]);
      std::string line = (i < 9 ? "  " : " ") + std::to_string(i + 1) + ". " + words(actions[i]);
      for (std::size_t e = 0; e < story.size(); ++e) line += (e == 0 ? " -> " : "; ") + story[e];
      found_.path.push_back(line);
      found_.path.push_back("     " + drawn(w));
    }
    if (found_.problem.find("futures") != std::string::npos) static_cast<void>(futures(w, &found_.path));
  }

  [[nodiscard]] std::string words(const action& a) const {
    std::string text{name(a.what)};
    const bool of_cluster = a.what == act::poll || a.what == act::pass || a.what == act::reload;
    if (a.what == act::switch_flush || a.what == act::switch_discard)
      text += ", to " + std::string{plan_.policies[a.worker].kind()};
    else if (!of_cluster)
      text += " " + std::to_string(a.worker);
    if (plan_.of.is.arbitrary && a.what != act::admit && a.what != act::admit_nan)
      text += " (" + std::string{any_answer::decisions[a.decision]} + ")";
    if (plan_.of.is.losses && a.decision == 1) text += " (a lower loss)";
    return text;
  }
  [[nodiscard]] std::string drawn(const world& w) const {
    std::string text;
    const roster& all = w.workers();
    for (std::uint32_t i = 0; i < plan_.in.workers; ++i) {
      const worker_record& r = all[i];
      text +=
          std::to_string(i) + ": " + std::string{rubato::name(r.state)} + " at " + std::to_string(all.clock().clock(i));
      if (r.excluded) text += ", excluded";
      if (r.doomed != reason::none && r.state == worker_state::running)
        text += ", " + std::string{rubato::name(r.doomed)};
      text += " | ";
    }
    text += "version " + std::to_string(w.control.version()) + " of " + std::to_string(w.control.updates()) +
            ", pending " + std::to_string(w.control.pending());
    if (plan_.of.is.timed) text += ", time " + std::to_string(w.now);
    return text;
  }

  plan plan_;
  std::uint64_t most_;
  findings found_;
  std::vector<node> nodes_;
  fingerprint_set seen_;
  std::unordered_map<std::uint64_t, meeting> futures_;
  std::vector<frame> frames_;
  std::size_t depth_ = 0;
  std::vector<std::uint32_t> way_;
  std::vector<action> actions_;
  std::vector<world> scratch_;
};

}  // namespace rubato::test::model

#endif
