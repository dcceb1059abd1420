// Trains a perceptron on images with workers that are streams of a GPU, under one policy. --help has the options.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "support/image_files.hpp"
#include "support/user_error.hpp"
#include "training.hpp"

int main(int argc, char** argv) {
  training_options o;
  std::string data, decide = "host";
  CLI::App app{"Trains a perceptron on images with workers that are streams of a GPU, under one policy."};
  app.add_option("--data", data, "folder with the training files of MNIST")->required();
  app.add_option("--policy", o.policy, training_policies)
      ->check([](const std::string& name) {
        return is_training_policy(name) ? "" : std::string{"expected "} + training_policies;
      })
      ->capture_default_str();
  app.add_option("--decide", decide, "where decisions are made")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
  app.add_option("--devices", o.devices, "of the workers, in turn; the server is on the first")->delimiter(',');
  app.add_option("--workers", o.workers)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--shards", o.shards, "of the parameters, with a stream each")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--samples", o.samples, "of a step")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--hidden", o.hidden, "units of the hidden layer")->check(CLI::Range(4, 4096))->capture_default_str();
  app.add_option("--optimizer", o.optimizer)->check(CLI::IsMember({"sgd", "momentum", "adam"}))->capture_default_str();
  app.add_option("--learning-rate", o.rate)->check(CLI::Range(0.0, 100.0))->capture_default_str();
  app.add_option("--momentum", o.momentum, "of momentum")->check(CLI::Range(0.0, 0.999))->capture_default_str();
  app.add_option("--seconds", o.seconds, "at most")->check(CLI::Range(0.1, 1e6))->capture_default_str();
  app.add_option("--target", o.target, "accuracy on images that nobody trains on; the run ends there")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--look", o.look, "seconds between two models that are judged")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--straggle", o.straggle, "share of the steps that take longer")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--straggle-for", o.straggle_for, "by so many milliseconds, asleep on the device")
      ->check(CLI::Range(0.0, 1e5))
      ->capture_default_str();
  app.add_option("--seed", o.seed)->capture_default_str();
  app.add_option("--log", o.log, "decision log, JSON lines, for rubato-lab advise; of decisions on the host");
  app.add_option("--apply-log", o.apply_log, "what moved the parameters in which order, CSV");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  o.on_device = decide == "device";
  try {
    return train_on_images(o, rubato::support::read_image_set(data));
  } catch (const rubato::support::user_error& e) {
    std::fprintf(stderr, "cuda_train: %s\n", e.what());
    return 1;
  }
}
