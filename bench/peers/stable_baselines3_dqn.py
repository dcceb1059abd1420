"""The DQN of stable-baselines3 on the tasks of bench/experiments/classic_control.cpp, by the same protocol.

Prints a table row for each seed. Every 2,500 steps the network acts greedily in 20 selection episodes; the one with the
best mean is tested on 100 others. SETTINGS is tuned (the published ones of rl-baselines3-zoo, with their length) or ours
(those of dqn_options::robust() that this DQN has: it has neither double Q-learning nor returns of several steps).

    python3 -m venv build/peers
    build/peers/bin/pip install stable-baselines3==2.9.2 gymnasium==1.4.0
    build/peers/bin/python bench/peers/stable_baselines3_dqn.py cartpole tuned 1 5 curves.csv

usage: stable_baselines3_dqn.py cartpole|acrobot tuned|ours FIRST_SEED LAST_SEED [CURVES.csv]
"""

import copy
import sys
import time

import gymnasium
import numpy
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

TASKS = {"cartpole": ("CartPole-v1", 475), "acrobot": ("Acrobot-v1", -100)}
EVERY, SELECTION, TEST = 2_500, 20, 100

OURS = (100_000, dict(learning_rate=1e-3, batch_size=64, buffer_size=50_000, learning_starts=1_000, gamma=0.99,
                      train_freq=1, gradient_steps=1, target_update_interval=1, tau=0.002, exploration_fraction=0.1,
                      exploration_final_eps=0.05, max_grad_norm=10, policy_kwargs=dict(net_arch=[64, 64])))
TUNED = {
    "cartpole": (50_000, dict(learning_rate=2.3e-3, batch_size=64, buffer_size=100_000, learning_starts=1_000,
                              gamma=0.99, target_update_interval=10, train_freq=256, gradient_steps=128,
                              exploration_fraction=0.16, exploration_final_eps=0.04,
                              policy_kwargs=dict(net_arch=[256, 256]))),
    "acrobot": (100_000, dict(learning_rate=6.3e-4, batch_size=128, buffer_size=50_000, learning_starts=0, gamma=0.99,
                              target_update_interval=250, train_freq=4, gradient_steps=-1, exploration_fraction=0.12,
                              exploration_final_eps=0.1, policy_kwargs=dict(net_arch=[256, 256]))),
}


def totals(network, name, seeds):
    """The total reward of one greedy episode per seed; all episodes run side by side, which costs one pass a step."""
    tasks = [gymnasium.make(name) for _ in seeds]
    observations = numpy.stack([task.reset(seed=seed)[0] for task, seed in zip(tasks, seeds)])
    total, running = numpy.zeros(len(seeds)), list(range(len(seeds)))
    while running:
        with torch.no_grad():
            actions = network(torch.as_tensor(observations[running])).argmax(dim=1).tolist()
        still = []
        for i, action in zip(running, actions):
            observations[i], reward, terminated, truncated, _ = tasks[i].step(action)
            total[i] += reward
            if not (terminated or truncated):
                still.append(i)
        running = still
    return total


class Selection(BaseCallback):
    """Keeps the network of the best selection mean."""

    def __init__(self, name, seed, goal, report):
        super().__init__()
        self.name, self.seed, self.goal, self.report = name, seed, goal, report
        self.best, self.best_mean, self.first = None, -numpy.inf, 0

    def _on_step(self):
        if self.num_timesteps % EVERY == 0:
            seen = totals(self.model.q_net, self.name, [1_000_000 * self.seed + i for i in range(SELECTION)])
            self.report(self.num_timesteps, seen)
            if seen.mean() > self.best_mean:
                self.best, self.best_mean = copy.deepcopy(self.model.q_net), seen.mean()
            if self.first == 0 and seen.mean() >= self.goal:
                self.first = self.num_timesteps
        return True


def main(words):
    if len(words) not in (5, 6) or words[1] not in TASKS or words[2] not in ("tuned", "ours"):
        sys.exit(__doc__)
    torch.set_num_threads(1)
    name, goal = TASKS[words[1]]
    steps, settings = OURS if words[2] == "ours" else TUNED[words[1]]
    with open(words[5] if len(words) == 6 else "/dev/null", "w") as curves:
        curves.write("task,seed,steps,mean,least,most\n")
        print("| seed | mean of 100, best network | least | mean of 100, last network | first at the goal, steps "
              "| CPU, s |\n| --- | --- | --- | --- | --- | --- |", flush=True)
        reached, seeds = 0, range(int(words[3]), int(words[4]) + 1)
        for seed in seeds:
            def report(at, seen):
                curves.write(f"{words[1]},{seed},{at},{seen.mean():g},{seen.min():g},{seen.max():g}\n")
                curves.flush()

            callback = Selection(name, seed, goal, report)
            agent = DQN("MlpPolicy", gymnasium.make(name), seed=seed, device="cpu", **settings)
            start = time.process_time()
            agent.learn(steps, callback=callback)
            spent = time.process_time() - start
            fresh = [1_000_000 * seed + 1_000 + i for i in range(TEST)]
            last, best = totals(agent.q_net, name, fresh), totals(callback.best, name, fresh)
            reached += best.mean() >= goal
            print(f"| {seed} | {best.mean():.1f} | {best.min():.0f} | {last.mean():.1f} | {callback.first} "
                  f"| {spent:.0f} |", flush=True)
        print(f"reached by {reached} of {len(seeds)} seeds")


main(sys.argv)
