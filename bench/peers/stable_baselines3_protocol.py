"""How agents of stable-baselines3 are trained and tested on the tasks of bench/experiments/classic_control.cpp.

Every 2,500 steps the policy acts greedily in 20 selection episodes; the one with the best mean is tested on 100 others.
stable_baselines3_dqn.py and stable_baselines3_ppo.py say with which settings.
"""

import copy
import sys
import time

import gymnasium
import numpy
import torch
from stable_baselines3.common.callbacks import BaseCallback

TASKS = {"cartpole": ("CartPole-v1", 475), "acrobot": ("Acrobot-v1", -100), "pendulum": ("Pendulum-v1", -200)}
EVERY, SELECTION, TEST = 2_500, 20, 100


def totals(policy, name, seeds):
    """The total reward of one greedy episode per seed; all episodes run side by side, which costs one pass a step."""
    tasks = [gymnasium.make(name) for _ in seeds]
    observations = numpy.stack([task.reset(seed=seed)[0] for task, seed in zip(tasks, seeds)])
    total, running = numpy.zeros(len(seeds)), list(range(len(seeds)))
    while running:
        actions, _ = policy.predict(observations[running], deterministic=True)
        still = []
        for i, action in zip(running, actions):
            observations[i], reward, terminated, truncated, _ = tasks[i].step(action)
            total[i] += reward
            if not (terminated or truncated):
                still.append(i)
        running = still
    return total


class Selection(BaseCallback):
    """Keeps the parameters of the policy with the best selection mean. Environments side by side divide EVERY."""

    def __init__(self, name, seed, goal, report):
        super().__init__()
        self.name, self.seed, self.goal, self.report = name, seed, goal, report
        self.best, self.best_mean, self.first = None, -numpy.inf, 0

    def _on_step(self):
        if self.num_timesteps % EVERY == 0:
            seen = totals(self.model.policy, self.name, [1_000_000 * self.seed + i for i in range(SELECTION)])
            self.report(self.num_timesteps, seen)
            if seen.mean() > self.best_mean:
                self.best, self.best_mean = copy.deepcopy(self.model.policy.state_dict()), seen.mean()
            if self.first == 0 and seen.mean() >= self.goal:
                self.first = self.num_timesteps
        return True


def run(words, usage, settings, make):
    """Prints a table row for each seed. WORDS are those of the command line, which USAGE explains; SETTINGS has the
    steps and the settings of each kind and task, and MAKE makes an agent of a task's name, a seed and settings."""
    if len(words) not in (5, 6) or words[1] not in settings.get(words[2], ()):
        sys.exit(usage)
    torch.set_num_threads(1)
    name, goal = TASKS[words[1]]
    steps, chosen = settings[words[2]][words[1]]
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
            agent = make(name, seed, chosen)
            start = time.process_time()
            agent.learn(steps, callback=callback)
            spent = time.process_time() - start
            fresh = [1_000_000 * seed + 1_000 + i for i in range(TEST)]
            last = totals(agent.policy, name, fresh)
            agent.policy.load_state_dict(callback.best)
            best = totals(agent.policy, name, fresh)
            reached += best.mean() >= goal
            print(f"| {seed} | {best.mean():.1f} | {best.min():.0f} | {last.mean():.1f} | {callback.first} "
                  f"| {spent:.0f} |", flush=True)
        print(f"reached by {reached} of {len(seeds)} seeds")
