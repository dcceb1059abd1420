#include "training_curves.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

[[nodiscard]] double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

// A disk that is full ends no training: the curves are no result.
void training_curves::file::operator()(std::string_view bytes) noexcept {
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
}

training_curves::training_curves(std::string folder, bool resume) : folder_{std::move(folder)} {
  if (folder_.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed) throw user_error{"--tensorboard: " + folder_ + ": " + failed.message()};
  if (resume) return;
  for (const auto& entry : std::filesystem::directory_iterator{folder_})
    if (entry.path().filename().string().find("tfevents") != std::string::npos)
      throw user_error{"--tensorboard: found " + entry.path().string() +
                       " of another training, expected a folder without curves, or --resume"};
}

void training_curves::begin(std::uint64_t episodes) {
  if (folder_.empty()) return;
  const std::string number = std::to_string(episodes);  // in so many digits that names are in the order of numbers
  const std::string name = "events.out.tfevents." + std::string(10 - std::min<std::size_t>(number.size(), 10), '0') +
                           number + ".rubato";
  const std::string path = (std::filesystem::path{folder_} / name).string();
  file to{std::ofstream{path, std::ios::binary}};
  if (!to.stream) throw user_error{"--tensorboard: " + path + ": cannot be written"};
  events_.emplace(std::move(to), seconds_since_1970());
}

void training_curves::point(std::string_view tag, std::uint64_t episode, double value) {
  if (events_) events_->scalar(tag, episode, static_cast<float>(value), seconds_since_1970());
}

void training_curves::note(const rl::episode_report& of) {
  const std::uint64_t episode = of.episode + 1;  // so many have ended
  point("episode/reward", episode, of.reward);
  point("episode/time", episode, of.elapsed);
  point("episode/pushes", episode, static_cast<double>(of.steps));
  if (of.updates > 0) point("episode/loss", episode, of.mean_loss);
}

void training_curves::note(const rl::evaluation& of) {
  point("evaluation/mean_reward", of.episodes, of.mean);
  point("evaluation/least_reward", of.episodes, of.least);
  point("evaluation/most_reward", of.episodes, of.most);
  point("evaluation/mean_time", of.episodes, of.mean_elapsed);
}

}  // namespace rubato::lab
