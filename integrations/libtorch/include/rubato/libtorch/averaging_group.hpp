#ifndef RUBATO_LIBTORCH_AVERAGING_GROUP_HPP
#define RUBATO_LIBTORCH_AVERAGING_GROUP_HPP

#if !__has_include(<gloo/rendezvous/store.h>) || !defined(USE_C10D_GLOO)
#error "averaging_group.hpp needs a libtorch with Gloo, and Gloo's headers (Debian: libgloo-dev)"
#endif

#include <torch/types.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <rubato/core/number_text.hpp>
#include <rubato/core/result.hpp>
#include <rubato/pinned.hpp>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sentence.hpp"
#include "tensor_over.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// How the members of a job find each other, and how long they wait.
struct group_options {
  std::uint64_t job = 1;          ///< tells it from others in the same store
  std::uint32_t index = 0;        ///< of this process, which no other has at the same time
  std::uint32_t founders = 2;     ///< so many make the first group
  double gather = 10;             ///< seconds that a new group waits for members of the one before
  double patience = 60;           ///< seconds until a process that no group takes in, or none that works, gives up
  double exchange = 10;           ///< seconds that one member waits for another in an exchange; to connect, five times
  std::string host{"127.0.0.1"};  ///< name or address of this machine, by which the others reach it
  std::string interface {};       ///< network interface instead of it
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const group_options& o) {
  if (o.founders == 0) return "founders is 0, expected at least 1";
  for (const auto& [name, seconds] :
       {std::pair{"gather", o.gather}, {"patience", o.patience}, {"exchange", o.exchange}})
    if (!pinned::within(seconds, 0, 86'400) || seconds <= 0)
      return std::string{name} + " is not above 0 and up to 86400";
  return {};
}

/// Processes that average their parameters now and then, each with an optimizer of its own: local SGD (Stich 2019,
/// arXiv 1805.09767), and, where they average after each step, synchronous SGD, to which it is equal for SGD with or
/// without momentum.
///
///     auto group = libtorch::averaging_group::join(store, {.index = rank, .founders = 4}, net->parameters());
///     for (int step = 1; step <= steps; ++step) {
///       ...                                                       // a step of the local optimizer
///       if (step % 8 == 0) group->average(net->parameters());     // how many took part, or an error
///     }
///
/// The exchange is an all-reduce over c10d's Gloo. When a member dies, it fails for all others; then they leave their
/// process group, which is of no more use, and make a new one under keys of its own in the store, of those who are
/// there: of all but one after a tenth of a second, of fewer after the time to gather. Who is furthest in its number of
/// averages gives its parameters to those who are behind; the others keep theirs, so that no local step of theirs is
/// lost, and average again, together with those who were behind: all begin their next steps at the same time. A process
/// that comes later, or again, is taken in after the next average, and gets the parameters of the group. So does one
/// that was so late with an average that the others went on without it: what it has learned since its last one is lost,
/// and replaced() counts it. Once all members have died nobody is left to take anybody in: start again with another
/// number of the job, or another store.
///
/// Store    any of c10d's that survives the members: FileStore on a folder that all machines see (new for each job), or
///          a TCPStore whose server is in a process that stays; its own time-out becomes the patience. FileStore locks
///          its file: a member that is stopped just then stops all, until it goes on or dies.
/// Memory   one more copy of the parameters: what is exchanged, so that a failed exchange leaves them as they were
/// Thread   one at a time; members in threads of one process each need a store object of their own. c10d's threads have
///          SIGPIPE blocked, for Gloo would end the process with it that writes to a member that has just died
/// Errors   by value; nothing of torch is thrown
/// Tests    tests/integrations/libtorch/averaging_group_test.cpp
class averaging_group {
 public:
  /// Founds the first group of the job with others, or is let into one that is at work: then, and to a founder of a
  /// rank above 0, the parameters of the group are written.
  /// Errors  invalid_option: problem(options), or another number of parameters than the group has; io: no group within
  ///         the patience, with what the last attempt said. It may be called again
  [[nodiscard]] static result<averaging_group> join(c10::intrusive_ptr<c10d::Store> store, group_options options,
                                                    std::span<float> parameters) {
    if (std::string wrong = problem(options); !wrong.empty()) return error{errc::invalid_option, std::move(wrong)};
    store->setTimeout(milliseconds_of(options.patience));
    averaging_group made{std::move(store), std::move(options)};
    const std::int64_t founders = made.options_.founders;
    const error wrong = made.come_in(parameters, {.members = founders, .all = founders});
    if (wrong.code != errc::ok) return wrong;
    return made;
  }

  /// The mean of all members' parameters, in place, once all of them have called this; of how many. After a failure of
  /// one, of those who are left: it looks for them for the patience at most, and what it has begun by then may take six
  /// times as long as an exchange.
  /// Errors  invalid_option: another number of parameters than at join(). io: this process is in no group any more, and
  ///         none takes it in, or none that can average; the parameters are what they were, and it may be called again
  result<std::size_t> average(std::span<float> parameters) {
    if (parameters.size() != count_)
      return error{errc::invalid_option, std::to_string(parameters.size()) + " parameters, expected " +
                                             std::to_string(count_) + " as there were at first"};
    has_steps_ = true;
    std::int64_t newcomers = 0;
    const bool is_done = group_ && exchange(parameters, newcomers);
    if (is_done && newcomers == 0) return of_;
    const error wrong = come_in(parameters, is_done ? with(newcomers) : after_failure());
    if (wrong.code != errc::ok && !is_done) return wrong;  // after an average, the next one looks for a group
    return of_;
  }

  /// Members of the group as it was last made, this one among them.
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }
  /// Of this process in that group, from 0; another group gives another one.
  [[nodiscard]] std::size_t rank() const noexcept { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::uint64_t round() const noexcept { return progress_ - 1; }  ///< averages made, of the job
  /// Of the group, from 1: every death and every newcomer makes a new one.
  [[nodiscard]] std::uint64_t generation() const noexcept { return static_cast<std::uint64_t>(generation_); }
  /// How often the others have gone on without this process, and their parameters have replaced its own.
  [[nodiscard]] std::uint64_t replaced() const noexcept { return replaced_; }

 private:
  using steady = std::chrono::steady_clock;

  // While it lives, writing to a connection that is broken is an error to this thread and not the end of the process;
  // threads that begin meanwhile have it like that for good.
  class broken_pipes_are_errors {
   public:
    broken_pipes_are_errors() {
      ::sigemptyset(&pipe_);
      ::sigaddset(&pipe_, SIGPIPE);
      ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~broken_pipes_are_errors() {
      if (::sigismember(&before_, SIGPIPE) == 0) {
        constexpr std::timespec at_once{};
        static_cast<void>(::sigtimedwait(&pipe_, nullptr, &at_once));  // the one that waits would come now
      }
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    broken_pipes_are_errors(const broken_pipes_are_errors&) = delete;
    broken_pipes_are_errors& operator=(const broken_pipes_are_errors&) = delete;

   private:
    ::sigset_t pipe_, before_;
  };
  // Who has to be there for a group to be made before the time to gather is over.
  struct quorum {
    std::int64_t members = 0;  // of the group before
    std::int64_t all = 0;
    bool one_died = false;  // probably: one less will do, once who is only late had its chance
    bool connects = false;  // others may still be at it, for the group that has just failed
  };
  // What a process says of itself when it arrives.
  struct arrival {
    std::uint32_t index = 0;
    std::uint64_t progress = 0;
    std::uint64_t size = 0;
    bool is_member = false;  // of the group before, or a founder
    bool has_steps = false;  // made since so many averages
    bool has_left = false;   // it has given up: nobody waits for it
  };

  averaging_group(c10::intrusive_ptr<c10d::Store> store, group_options options)
      : options_{std::move(options)},
        board_{c10::make_intrusive<c10d::PrefixStore>("rubato/" + std::to_string(options_.job), std::move(store))} {}

  [[nodiscard]] quorum with(std::int64_t newcomers) const { return {.members = size_, .all = size_ + newcomers}; }
  [[nodiscard]] quorum after_failure() const { return {.members = size_, .all = size_, .one_died = true}; }
  // Of a group that has not come about.
  [[nodiscard]] static quorum after_failure(const std::vector<arrival>& roster) {
    const auto members =
        std::count_if(roster.begin(), roster.end(), [](const arrival& each) { return each.is_member; });
    return {.members = members, .all = members, .one_died = true, .connects = true};
  }
  [[nodiscard]] static steady::time_point after(double seconds) {
    return steady::now() + std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>{seconds});
  }
  [[nodiscard]] static std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds{(std::max)(std::int64_t{1}, static_cast<std::int64_t>(1e3 * seconds))};
  }

  // Until this process is in a group whose members all go on with steps of their own. Where some have made theirs, and
  // an average has failed, others may have nothing to bring: newcomers, and those who got what came out of it. Would
  // these go on with steps, the first would wait for them, maybe beyond the time of an exchange: all average first.
  error come_in(std::span<float> parameters, quorum wanted) {
    const steady::time_point until = after(options_.patience);
    for (;;) {
      if (error wrong = regroup(parameters, wanted, until); wrong.code != errc::ok) return wrong;
      if (!averages_first_) return {};
      std::int64_t newcomers = 0;  // they are let in after the next average: this one has to return
      if (exchange(parameters, newcomers)) return {};
      wanted = after_failure();
    }
  }
  // One all-reduce. False if it failed; then the group is left. Rank 0 says how many wait to be let in.
  bool exchange(std::span<float> parameters, std::int64_t& newcomers) {
    try {
      const torch::NoGradGuard no_graph;
      torch::Tensor values = tensor_over(parameters);
      torch::Tensor mean = scratch_.narrow(0, 0, values.numel()), waiting = scratch_[values.numel()];
      mean.copy_(values);
      waiting.fill_(rank_ == 0 ? in_line() : 0);
      std::vector<torch::Tensor> one{scratch_};
      group_->allreduce(one)->wait();
      values.copy_(mean.div_(size_));
      newcomers = waiting.item<std::int64_t>();
      ++progress_;
      of_ = size();
      has_steps_ = false;
      return true;
    } catch (const std::exception& e) {
      leave(e);
      return false;
    }
  }
  void leave(const std::exception& e) {
    trouble_ = sentence_of(e);
    group_.reset();
  }

  [[nodiscard]] std::string key(const char* what) const { return key_of(generation_, what); }
  [[nodiscard]] static std::string key_of(std::int64_t generation, const char* what) {
    return std::to_string(generation) + "/" + what;
  }

  // Until this process is in a group that works: one generation after the other.
  error regroup(std::span<float> parameters, quorum wanted, steady::time_point until) {
    group_.reset();
    std::int64_t known = generation_;  // the last whose roster was read: should this fail, the next call goes on there
    try {
      if (generation_ == 0) {
        board_->add("processes", 1);  // a FileStore has no answers before it has a file
        // Founders are those who find no group yet; who comes later begins behind the newest.
        while (board_->check({std::to_string(generation_ + 1) + "/roster"})) ++generation_;
        known = generation_;
        if (generation_ > 0) stand_in_line();
      }
      while (steady::now() < until) {
        ++generation_;
        const std::optional<std::vector<arrival>> roster = gathered(parameters.size(), wanted, until);
        if (!roster) break;
        known = generation_;
        // Whoever had this index before, and died, may be in it too.
        const auto self = std::find_if(roster->begin(), roster->end(), [&](const arrival& each) {
          return each.index == options_.index && each.progress == progress_ && each.size == parameters.size();
        });
        if (self == roster->end()) {
          if (roster->front().size != parameters.size())
            return {errc::invalid_option, std::to_string(parameters.size()) + " parameters, expected " +
                                              std::to_string(roster->front().size) + " as the group has"};
          stand_in_line();  // the group went on without this one
          continue;
        }
        size_ = static_cast<std::int64_t>(roster->size());
        rank_ = self - roster->begin();
        if (connect() && agree(parameters, *roster)) return {};
        is_member_ = is_member_ || progress_ > 0;  // a newcomer has nothing to found a group with
        wanted = after_failure(*roster);
      }
    } catch (const std::exception& e) {
      generation_ = known;
      return {errc::io, "the store of job " + std::to_string(options_.job) + ": " + sentence_of(e)};
    }
    generation_ = known;
    return {errc::io, "no group of job " + std::to_string(options_.job) + " took member " +
                          std::to_string(options_.index) + " in within " + rubato::detail::text_of(options_.patience) +
                          (is_member_ ? " s" : nobody_left) +
                          (trouble_.empty() ? "" : "; the last attempt: " + trouble_)};
  }

  static constexpr const char* nobody_left =
      " s; it waits for a member of the group: if none of them is left, the job needs another number or another store";
  void stand_in_line() {
    is_member_ = false;
    is_late_ = true;
  }
  // How many wait to be let into the next group.
  [[nodiscard]] std::int64_t in_line() {
    const std::vector<arrival> all = arrivals(generation_ + 1);
    return std::count_if(all.begin(), all.end(), [](const arrival& each) { return !each.is_member; });
  }
  // Who is in the group of this generation, once that is settled: by the first that found enough to be there.
  std::optional<std::vector<arrival>> gathered(std::size_t size, const quorum& wanted, steady::time_point until) {
    arrival self{
        .index = options_.index, .progress = progress_, .size = size, .is_member = is_member_, .has_steps = has_steps_};
    const std::string mine = key("arrival") + std::to_string(board_->add(key("arrivals"), 1));
    board_->set(mine, bytes_of({self}));
    const steady::time_point enough = after(options_.gather + (wanted.connects ? 6 * options_.exchange : 0));
    const steady::time_point settled = after((std::min)(0.1, options_.gather));
    // A founder waits for all others; a job begins complete.
    const bool founding = generation_ == 1;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds{5})) {
      if (board_->check({key("roster")})) return read(text_of(board_->get(key("roster"))));
      const steady::time_point now = steady::now();
      if (now >= until && std::exchange(self.has_left, true)) return std::nullopt;
      if (self.has_left) {
        if (founding)
          trouble_ = std::to_string(arrivals(generation_).size()) + " of " + std::to_string(options_.founders) +
                     " founders had come";
        board_->set(mine, bytes_of({self}));  // and looks once more: somebody may have counted on it
      }
      if (!is_member_ || self.has_left) continue;
      std::vector<arrival> all = arrivals(generation_);
      const auto members = std::count_if(all.begin(), all.end(), [](const arrival& each) { return each.is_member; });
      const std::int64_t missing = wanted.one_died && now >= settled ? 1 : 0;
      if ((members + missing >= wanted.members && std::ssize(all) + missing >= wanted.all) ||
          (!founding && now >= enough)) {
        const std::uint64_t common = founding ? size_of_most(all) : size;
        std::erase_if(all, [common](const arrival& each) { return each.size != common; });  // those are told
        board_->compareSet(key("roster"), {}, bytes_of(all));
      }
    }
  }
  [[nodiscard]] static std::uint64_t size_of_most(const std::vector<arrival>& all) {
    const auto as_large = [&all](const arrival& each) {
      return std::count_if(all.begin(), all.end(), [&](const arrival& other) { return other.size == each.size; });
    };
    return std::max_element(all.begin(), all.end(),
                            [&](const arrival& a, const arrival& b) { return as_large(a) < as_large(b); })
        ->size;
  }
  // Those who have arrived, have said who they are, and still wait. Of two with one index the second is a process that
  // was started again.
  [[nodiscard]] std::vector<arrival> arrivals(std::int64_t generation) {
    std::vector<arrival> all;
    for (std::int64_t n = 1, last = count(key_of(generation, "arrivals")); n <= last; ++n) {
      const std::string of_one = key_of(generation, "arrival") + std::to_string(n);
      if (!board_->check({of_one})) continue;
      const arrival one = read(text_of(board_->get(of_one))).front();
      std::erase_if(all, [&one](const arrival& each) { return each.index == one.index; });
      if (!one.has_left) all.push_back(one);
    }
    return all;
  }
  // Reads it, where add() of nothing would write.
  [[nodiscard]] std::int64_t count(const std::string& of) {
    return board_->check({of}) ? std::stoll(text_of(board_->get(of))) : 0;
  }
  [[nodiscard]] static std::string text_of(const std::vector<std::uint8_t>& raw) { return {raw.begin(), raw.end()}; }
  [[nodiscard]] static std::vector<std::uint8_t> bytes_of(const std::vector<arrival>& all) {
    std::ostringstream text;
    for (const arrival& each : all)
      text << each.index << ' ' << each.progress << ' ' << each.size << ' ' << each.is_member << ' ' << each.has_steps
           << ' ' << each.has_left << '\n';
    const std::string whole = text.str();
    return {whole.begin(), whole.end()};
  }
  [[nodiscard]] static std::vector<arrival> read(const std::string& text) {
    std::istringstream words{text};
    std::vector<arrival> all;
    for (arrival each;
         words >> each.index >> each.progress >> each.size >> each.is_member >> each.has_steps >> each.has_left;)
      all.push_back(each);
    return all;
  }

  bool connect() {
    const broken_pipes_are_errors guard;
    try {
      auto options = c10d::ProcessGroupGloo::Options::create(milliseconds_of(options_.exchange));
      options->devices.push_back(options_.interface.empty()
                                     ? c10d::ProcessGroupGloo::createDeviceForHostname(options_.host)
                                     : c10d::ProcessGroupGloo::createDeviceForInterface(options_.interface));
      const auto place = c10::make_intrusive<c10d::PrefixStore>(key("group"), board_);
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(place, static_cast<int>(rank_), static_cast<int>(size_),
                                                           std::move(options));
      return true;
    } catch (const std::exception& e) {
      leave(e);
      return false;
    }
  }
  // Who is behind gets the parameters of the first that is furthest; at the beginning all get those of rank 0.
  bool agree(std::span<float> parameters, const std::vector<arrival>& roster) {
    const auto less = [](const arrival& a, const arrival& b) { return a.progress < b.progress; };
    const std::uint64_t behind = std::min_element(roster.begin(), roster.end(), less)->progress;
    const auto first = std::max_element(roster.begin(), roster.end(), less);  // of those who are furthest
    const bool gets_others = progress_ < first->progress || progress_ == 0;
    try {
      const torch::NoGradGuard no_graph;
      torch::Tensor values = tensor_over(parameters);
      scratch_ = torch::zeros({values.numel() + 1});
      scratch_.narrow(0, 0, values.numel()).copy_(values);
      if (behind < first->progress || first->progress == 0) {
        std::vector<torch::Tensor> one{scratch_};
        c10d::BroadcastOptions from;
        from.rootRank = first - roster.begin();
        group_->broadcast(one, from)->wait();
        if (gets_others) values.copy_(scratch_.narrow(0, 0, values.numel()));
      }
    } catch (const std::exception& e) {
      leave(e);
      return false;
    }
    if (is_late_ && gets_others && progress_ > 0) ++replaced_;
    if (gets_others) has_steps_ = false, of_ = size();
    averages_first_ = std::any_of(roster.begin(), roster.end(), [first](const arrival& each) {
      return each.has_steps && each.progress == first->progress;
    });
    is_member_ = true;
    is_late_ = false;
    progress_ = (std::max)(first->progress, std::uint64_t{1});
    count_ = parameters.size();
    return true;
  }

  group_options options_;
  c10::intrusive_ptr<c10d::Store> board_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_{};
  torch::Tensor scratch_{};  // what is exchanged: the parameters, and how many wait to be let in
  std::int64_t generation_ = 0, size_ = 0, rank_ = 0;
  std::uint64_t progress_ = 0;  // averages and one, once it has the parameters of the job
  std::uint64_t replaced_ = 0;
  bool is_member_ = true;        // of the group before, or a founder: one that can make a group
  bool is_late_ = false;         // the others went on without it, or were there before
  bool has_steps_ = false;       // since the last average
  bool averages_first_ = false;  // its group has an average to make, whoever has steps
  std::size_t of_ = 0;           // members whose parameters this process has the average of
  std::size_t count_ = 0;        // of parameters
  std::string trouble_{};        // what ended the last group
};

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
