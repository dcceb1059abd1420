// Policy cards. What is accepted another parser accepts too, and it is written again and read back equal.
#include <array>
#include <nlohmann/json.hpp>
#include <rubato/io/policy_card.hpp>
#include <rubato/io/safetensors.hpp>
#include <rubato/io/utf8.hpp>
#include <string>
#include <string_view>

#include "../support/container_bytes.hpp"
#include "fuzz_target.hpp"

namespace rubato::fuzz {
namespace of_policy_card {

void require_sentence(const error& e, std::string_view begin) {
  require(e.message.starts_with(begin) && is_plain(e.message) && e.message.size() < 2000,
          "a refusal says what, in plain text:", e.message);
}

void run(input bytes) {
  const std::string_view text = text_of(bytes);
  const result<policy_card> card = parse_policy_card(text, "card");
  if (!card) {
    require(card.error().code == errc::corrupt || card.error().code == errc::wrong_kind, "a known refusal");
    return require_sentence(card.error(), "card: ");
  }
  const auto other = nlohmann::json::parse(text, nullptr, false);
  require(other.is_object() && other.size() == 17, "another parser reads it");
  require(other["kind"] == card->kind && other["seed"] == card->seed && other["layers"] == card->layers &&
              other["actions"] == card->actions,
          "another parser reads the same");

  const result<std::string> written = to_json(*card);
  require(written.operator bool(), "what is read can be written", written ? "" : written.error().message);
  const result<policy_card> again = parse_policy_card(*written, "card");
  require(again && *again == *card, "it comes back");
  require(*to_json(*again) == *written, "it is the same text then");

  // Against files that hold something else than it says, or just that.
  static const std::array<std::string, 3> files{
      test::container("{}"),
      test::container(R"({"policy/layer0/weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
                      R"("policy/layer0/bias":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      std::string(8, '\0')),
      test::container(R"({"obs_range/least":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                      R"("value/x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      std::string(8, '\xFF'))};
  for (const std::string& each : files) {
    const result<safetensors> file = safetensors::parse(span_of(each), "file");
    if (const error e = check_tensors(*card, *file); e.code != errc::ok) require_sentence(e, "file: ");
  }
}

const registered here{"policy_card", run};

}  // namespace of_policy_card
}  // namespace rubato::fuzz
