// Both halves of the conversation of gloo_ps: a server whose worker says anything, a worker whose server does. What
// they say comes from a script, and is made to fit what went before it, but for what the script changes.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <rubato/gloo_ps/session.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fuzz_target.hpp"

namespace rubato::fuzz {
namespace of_gloo_conversation {

namespace ps = gloo_ps;

constexpr std::uint64_t job = 7;
constexpr ps::shape model{5, 2};

/// The other side, which the script plays.
class scripted_peer {
 public:
  explicit scripted_peer(input script) : script_{script} {}
  [[nodiscard]] bool silent() const { return script_.empty(); }

  void hear(std::span<const std::byte> message) {
    ps::decoded read = ps::decode(message, job);
    require(static_cast<bool>(read), "what is sent can be read:", read.sentence);
    if (read.what.kind() == ps::message_kind::parameters && read.what.head.shard < 2)
      versions_[read.what.head.shard] = std::get<ps::parameters_message>(read.what.body).version;
    head_ = read.what.head;
  }

  [[nodiscard]] ps::bytes say() {
    const std::uint8_t what = script_.byte();
    ps::envelope head{.job = job, .worker = {0, 0}, .step = step_, .shard = 0, .life = 1};
    if (what >= 128) {  // something is not as it should be
      switch (script_.byte() % 8) {
        case 0:
          head.worker.index = script_.byte();
          break;
        case 1:
          head.worker.incarnation = script_.byte();
          break;
        case 2:
          head.step += script_.byte();
          break;
        case 3:
          head.shard = script_.byte();
          break;
        case 4:
          head.life = script_.byte();
          break;
        case 5:
          head.job = script_.byte();
          break;
        case 6:
          head.worker = head_.worker;
          break;
        default:
          return raw();
      }
    }
    switch (what % 16) {
      case 0:
      case 1:
        return ps::encode(head, ps::hello_message{.model = model, .seen = script_.byte()});
      case 2:
      case 3:
        return ps::encode(head, ps::pull_message{});
      case 4:
      case 5:
      case 6:
      case 7:
        return part(head, what % 2);
      case 8:
        return ps::encode(head, ps::welcome_message{.nominal_samples = script_.byte(), .wait = time()});
      case 9:
        return grant(head);
      case 10:
      case 11: {
        head.shard = what % 2;
        const std::vector<float> values = floats(what % 2);
        return ps::encode(head, ps::parameters_message{.version = script_.byte()}, values);
      }
      case 12:
        return ps::encode(head, ps::cancel_message{});
      case 13:
        return ps::encode(head, ps::bye_message{.done = script_.byte() % 2 == 0, .why = "enough"});
      case 14:
        return ps::encode(head, ps::hello_message{.model = {script_.byte(), script_.byte()}, .seen = 0});
      default:
        return reject(head);
    }
  }

 private:
  [[nodiscard]] double time() { return script_.byte() / 8.0; }
  // As many as the shard has, unless the script says otherwise.
  [[nodiscard]] std::vector<float> floats(std::uint32_t shard) {
    const std::uint8_t how = script_.byte();
    std::vector<float> values(how < 224 ? model.size_of(shard) : how - 224U, how / 16.0F);
    if (how == 223) values[0] = std::nanf("");
    return values;
  }
  [[nodiscard]] ps::bytes raw() {
    const input bytes = script_.take(script_.byte());
    const auto as_bytes = std::as_bytes(bytes);
    return {as_bytes.begin(), as_bytes.end()};
  }
  [[nodiscard]] ps::bytes part(ps::envelope& head, std::uint32_t shard) {
    if (shard == 0) head.step = ++step_;  // a push begins with shard 0
    head.shard = shard;
    const std::uint8_t how = script_.byte();
    const ps::push_message body{.version = versions_[shard] + (how >= 240 ? how : 0),
                                .samples = how % 16U,
                                .loss = how == 239 ? std::nanf("") : how / 32.0F};
    const std::vector<float> values = floats(shard);
    return ps::encode(head, body, values);
  }
  [[nodiscard]] ps::bytes grant(const ps::envelope& head) {
    const rubato::grant terms{.version = script_.byte(), .batch = script_.byte(), .lr_scale = script_.byte() / 64.0F};
    return ps::encode(head, ps::grant_message{.terms = terms, .step_limit = time(), .wait = time()});
  }
  [[nodiscard]] ps::bytes reject(const ps::envelope& head) {
    const auto why = static_cast<ps::refusal>(script_.byte() % static_cast<unsigned>(ps::refusal::count_));
    return ps::encode(head, ps::reject_message{.why = why,
                                               .connected = script_.byte() % 2 == 0,
                                               .known_incarnation = script_.number<std::uint32_t>(),
                                               .sentence = "no"});
  }

  input_reader script_;
  std::uint64_t step_ = 0;
  std::uint64_t versions_[2] = {0, 0};
  ps::envelope head_{};
};

/// A link to it. Messages come as soon as they are asked for, until the script is at its end.
class scripted_link {
 public:
  explicit scripted_link(scripted_peer& peer) : peer_{&peer} {}
  ps::transfer send(std::span<const std::byte> message, ps::steady::time_point) {
    if (closed_) return {ps::transfer::status::closed, "the link is closed"};
    peer_->hear(message);
    return {};
  }
  ps::transfer recv(ps::bytes& into, std::size_t limit, ps::steady::time_point) {
    if (!alive()) return {ps::transfer::status::closed, "the link is closed"};
    into = peer_->say();
    if (into.size() <= limit) return {};
    closed_ = true;
    return {ps::transfer::status::oversized, "a message that is too long"};
  }
  bool poll(ps::steady::time_point) { return alive(); }
  void close() { closed_ = true; }
  bool alive() { return !closed_ && !peer_->silent(); }

 private:
  scripted_peer* peer_;
  bool closed_ = false;
};
static_assert(ps::Link<scripted_link>);

ps::named_policy policy_of(std::uint8_t which) {
  switch (which % 3) {
    case 0:
      return {"asp", asp{}};
    case 1:
      return {"bsp", bsp{}};
    default:
      return {"ssp:1", ssp{.staleness = 1}};
  }
}

// Workers come one after another to a server of two; what one says can end no more than its own conversation.
void serve(input_reader in) {
  const ps::job_options options{.job = job, .model = model, .workers = 2, .quorum = 1, .nominal_samples = 4};
  ps::decision_maker<> decide{options, policy_of(in.byte()), std::vector<float>(model.parameters, 1.0F)};
  ps::registry seats{options.workers};
  ps::refusals refused{[](const std::string& line) { require(!line.empty(), "a refusal is told"); }};
  const ps::session_context<no_observer> shared{decide, seats, refused, 1, std::chrono::milliseconds{0}};
  while (!in.empty()) {
    scripted_peer peer{in.take_part()};
    scripted_link link{peer};
    const ps::session_end end = ps::session<scripted_link, no_observer>{link, shared}.run();
    require(end < ps::session_end::count_ && !link.alive(), "a conversation ends, and hangs up");
    require(seats.connected() == 0, "nobody keeps a seat");
  }
  require(decide.inspect([](const auto& sync) { return sync.workers().busy() == 0; }), "nobody is waited for");
  require(decide.take_failure().empty(), "no update has failed");
  decide.visit([&](std::uint32_t s, ps::shard& here) {
    require(here.size() == model.size_of(s) && here.version() == decide.version(), "shards agree about the version");
    for (const float p : here.parameters()) require(std::isfinite(p), "parameters are finite");
  });
}

void work(input_reader in) {
  const ps::worker_options options{
      .job = job, .id = {0, 0}, .model = model, .reply_limit = 1, .give_up = 0.001, .retry = 0};
  std::vector<float> parameters(model.parameters), gradient(model.parameters, 0.5F);
  scripted_peer peer{in.rest()};
  const auto connect = [&](worker_id, ps::steady::time_point) -> std::optional<scripted_link> {
    if (peer.silent()) return std::nullopt;
    return scripted_link{peer};
  };
  ps::worker worker{options, connect};
  for (std::uint64_t step = 0;;) {
    const auto begun = worker.begin(parameters);
    if (!begun) return require(!begun.error().message.empty(), "who gives up says why");
    if (!*begun) break;
    require((*begun)->number == step + 1 && (*begun)->limit >= 0, "steps are counted");
    step = (*begun)->number;
    static_cast<void>(worker.cancelled());
    static_cast<void>(worker.push(gradient, (*begun)->samples, 1.0F));
  }
  worker.leave();
}

void run(input bytes) {
  input_reader in{bytes};
  in.byte() % 2 == 0 ? serve(in) : work(in);
}

const registered here{"gloo_conversation", run};

}  // namespace of_gloo_conversation
}  // namespace rubato::fuzz
