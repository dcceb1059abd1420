"""The PPO of stable-baselines3 on Pendulum-v1, by the protocol of stable_baselines3_protocol.py.

Prints a table row for each seed. SETTINGS is tuned (the published ones of rl-baselines3-zoo, with their length: whole
rollouts of 4 times 1,024 steps, so 102,400). The torque is any number from -2 to 2, as the task has it.

    python3 -m venv build/peers
    build/peers/bin/pip install stable-baselines3==2.9.2 gymnasium==1.4.0
    build/peers/bin/python bench/peers/stable_baselines3_ppo.py pendulum tuned 1 3 curves.csv

usage: stable_baselines3_ppo.py pendulum tuned FIRST_SEED LAST_SEED [CURVES.csv]
"""

import sys

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from stable_baselines3_protocol import run

TUNED = {
    "pendulum": (100_000, dict(learning_rate=1e-3, n_steps=1_024, batch_size=64, n_epochs=10, gamma=0.9,
                               gae_lambda=0.95, clip_range=0.2, ent_coef=0, use_sde=True, sde_sample_freq=4)),
}


def make(name, seed, settings):
    return PPO("MlpPolicy", make_vec_env(name, 4), seed=seed, device="cpu", **settings)


run(sys.argv, __doc__, {"tuned": TUNED}, make)
