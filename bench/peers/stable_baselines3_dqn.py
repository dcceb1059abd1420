"""The DQN of stable-baselines3 on CartPole-v1 and Acrobot-v1, by the protocol of stable_baselines3_protocol.py.

Prints a table row for each seed. SETTINGS is tuned (the published ones of rl-baselines3-zoo, with their length) or ours
(those of dqn_options::robust() that this DQN has: it has neither double Q-learning nor returns of several steps).

    python3 -m venv build/peers
    build/peers/bin/pip install stable-baselines3==2.9.2 gymnasium==1.4.0
    build/peers/bin/python bench/peers/stable_baselines3_dqn.py cartpole tuned 1 5 curves.csv

usage: stable_baselines3_dqn.py cartpole|acrobot tuned|ours FIRST_SEED LAST_SEED [CURVES.csv]
"""

import sys

import gymnasium
from stable_baselines3 import DQN

from stable_baselines3_protocol import run

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


def make(name, seed, settings):
    return DQN("MlpPolicy", gymnasium.make(name), seed=seed, device="cpu", **settings)


run(sys.argv, __doc__, {"tuned": TUNED, "ours": dict.fromkeys(TUNED, OURS)}, make)
