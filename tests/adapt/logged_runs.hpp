// What the authors of Sync-Switch measured: final accuracy and time of every training of theirs that a search for the
// switch point can use. From the public logs in the repository cake-lab/Sync-Switch, folder data, commit 09af086.
//
// A run is a share of the workload in BSP (the rest in ASP), the test accuracy at its end, and the time in seconds at
// the end of its loss log. The share is decoded from the last step: n workers count one step each in ASP and one
// together in BSP, so that a run of S steps in ASP that ends at step L was in BSP for (S - L) / (n - 1) of its steps;
// the folders of res32 at 5 % are named b5-a95, and are what the paper calls 6.25 %.
//
// Left out, of cifar10_res32: bsp_1, whose 18,207 s are those of slower hosts; asp and bsp without a number, which end
// early; b15-a85-run4, whose last step is that of 25 %; runs that begin in ASP (a25-b75 and so on); the folders dynamic
// and momentum_tunning, which are other experiments.
#ifndef RUBATO_TESTS_ADAPT_LOGGED_RUNS_HPP
#define RUBATO_TESTS_ADAPT_LOGGED_RUNS_HPP

#include <cstdlib>
#include <rubato/adapt/switch_replay.hpp>
#include <string_view>
#include <vector>

namespace rubato::test {

/// The runs of an experiment.
struct logged_workload {
  std::string_view name;  ///< of its folder
  unsigned workers;       ///< n
  unsigned steps;         ///< S
  std::vector<adapt::logged_share> shares;
};

/// ResNet32 on CIFAR-10, ResNet50 on CIFAR-100, and the first on 16 workers: experiments 1, 2 and 3 of the paper.
inline const std::vector<logged_workload>& logged_workloads() {
  static const std::vector<logged_workload> all{
      {"cifar10_res32",
       8,
       64'000,
       {{1, {{0.919, 10560.4}, {0.9234, 10557.5}, {0.9102, 10518.9}, {0.9188, 10508.2}, {0.9224, 10515.2}}},
        {0.75, {{0.8813, 8343.0}, {0.8928, 8341.5}, {0.9189, 8513.8}, {0.9147, 8403.2}}},
        {0.5, {{0.9244, 6039.0}, {0.9233, 6155.1}, {0.9072, 6140.3}, {0.924, 6161.0}, {0.9221, 5405.1}}},
        {0.25,
         {{0.9251, 3836.8},
          {0.9169, 3839.6},
          {0.9116, 3836.9},
          {0.9186, 3850.4},
          {0.9169, 3889.8},
          {0.9195, 3898.8},
          {0.9259, 3892.7},
          {0.9144, 3911.1}}},
        {0.2, {{0.907, 3403.9}, {0.9197, 3418.7}, {0.909, 3404.1}}},
        {0.15, {{0.9144, 2949.0}, {0.907, 2953.4}, {0.9141, 2965.4}}},
        {0.1, {{0.9117, 2519.2}, {0.9159, 2511.5}, {0.9094, 2500.0}, {0.9175, 2509.2}, {0.9165, 2550.1}}},
        {0.0625, {{0.9102, 2075.6}}},
        {0.05,
         {{0.9184, 2053.8},
          {0.9086, 2039.8},
          {0.917, 2062.5},
          {0.9231, 2045.3},
          {0.9241, 2041.9},
          {0.9219, 2056.7},
          {0.9182, 2060.7},
          {0.9076, 2076.8}}},
        {0.04,
         {{0.9163, 1960.9},
          {0.9003, 1956.0},
          {0.9156, 1948.3},
          {0.9163, 1954.8},
          {0.9122, 1955.2},
          {0.9105, 1956.0},
          {0.9074, 1954.2},
          {0.923, 1959.7}}},
        {0.02, {{0.9125, 1779.3}, {0.9071, 1757.7}, {0.8975, 1787.6}, {0.8977, 1770.5}}},
        {0, {{0.8924, 1717.0}, {0.9051, 1553.8}, {0.885, 1560.6}, {0.8847, 1560.8}}}}},
      {"cifar100_res50",
       8,
       128'000,
       {{1, {{0.7428, 11279.7}, {0.743, 11264.9}, {0.7487, 11270.4}, {0.7541, 11334.3}, {0.7426, 11291.8}}},
        {0.5, {{0.7461, 8511.4}, {0.744, 8515.8}, {0.7374, 8521.3}, {0.7444, 8503.0}, {0.7407, 8507.0}}},
        {0.25, {{0.755, 7292.3}, {0.75, 7301.1}, {0.7504, 7297.5}, {0.7518, 7296.8}, {0.7455, 7283.5}}},
        {0.125, {{0.739, 6782.9}, {0.7354, 6790.0}, {0.7567, 6786.7}, {0.7471, 6794.4}, {0.7518, 6794.5}}},
        {0.0625, {{0.7388, 6497.9}, {0.7332, 6397.9}, {0.7416, 6409.7}, {0.7197, 6418.1}, {0.729, 6409.3}}},
        {0, {{0.7361, 6098.6}, {0.7126, 6115.5}, {0.7125, 6023.5}, {0.6571, 6038.7}, {0.7242, 6073.6}}}}},
      {"cluster_16",
       16,
       64'000,
       {{1, {{0.9108, 9400.1}, {0.9326, 10196.4}, {0.9254, 9297.6}}},
        {0.5, {{0.9135, 5269.4}, {0.9196, 5059.6}, {0.9286, 5145.6}}}}}};
  return all;
}

/// One of them, by the name of its folder.
inline const logged_workload& logged_runs(std::string_view name) {
  for (const logged_workload& each : logged_workloads())
    if (each.name == name) return each;
  std::abort();
}

}  // namespace rubato::test

#endif
