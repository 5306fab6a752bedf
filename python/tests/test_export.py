"""Policies of other libraries play here what they play there."""

import numpy as np
import pytest

import coplay
from coplay import export


def kitchen():
    return coplay.make("overcooked", layout="cramped_room", horizon=40)


def actions(env, model):
    """The actions of a model in an episode, seen from its own seat."""
    partner = coplay._coplay.Partner(str(model), env._world)
    partner.reset(0, 3)
    seen, _ = env.reset(seed=3)
    done, pairs = False, []
    while not done:
        action = partner.act(seen)
        pairs.append((seen.copy(), action))
        seen, _, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
    return pairs


def test_a_policy_of_stable_baselines_plays_as_it_predicts(tmp_path):
    from stable_baselines3 import PPO

    env = kitchen()
    model = PPO("MlpPolicy", env, policy_kwargs={"net_arch": [16, 16]}, seed=1, n_steps=32)
    path = export.stable_baselines3(model, tmp_path / "ppo.onnx")
    pairs = actions(env, coplay.Agent(path))
    assert len(pairs) == 40
    predicted = [int(model.predict(seen, deterministic=True)[0]) for seen, _ in pairs]
    assert predicted == [action for _, action in pairs]


def test_a_recurrent_module_remembers(tmp_path):
    import torch

    env = kitchen()
    size, count = env.observation_space.shape[0], env.action_space.n

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out = torch.nn.GRUCell(size, 8), torch.nn.Linear(8, int(count))

        def forward(self, obs, h):
            h = self.cell(obs / 4, h)
            return self.out(h), h

    torch.manual_seed(2)
    policy = Policy()
    path = export.torch(policy, tmp_path / "gru.onnx", (size,), memory=[(8,)])
    h, wanted, pairs = torch.zeros(1, 8), [], actions(env, path)
    for seen, _ in pairs:
        with torch.no_grad():
            logits, h = policy(torch.from_numpy(seen)[None], h)
        wanted.append(int(logits.argmax()))
    assert wanted == [action for _, action in pairs]


def test_the_actor_of_a_cleanrl_agent_is_taken(tmp_path):
    import torch

    env = kitchen()
    size, count = env.observation_space.shape[0], int(env.action_space.n)
    agent = torch.nn.Module()
    agent.critic = torch.nn.Linear(size, 1)
    agent.actor = torch.nn.Sequential(torch.nn.Linear(size, 8), torch.nn.Tanh(), torch.nn.Linear(8, count))
    path = export.torch(agent, tmp_path / "actor.onnx", (size,))
    for seen, action in actions(env, path):
        with torch.no_grad():
            assert int(agent.actor(torch.from_numpy(seen)[None]).argmax()) == action


def test_a_model_of_another_environment_is_refused(tmp_path):
    import torch

    path = export.torch(torch.nn.Linear(5, 7), tmp_path / "odd.onnx", (5,))
    with pytest.raises(ValueError, match="takes 5 values"):
        coplay.make("overcooked", partners=str(path))
    with pytest.raises(ValueError, match="cannot read"):
        coplay.make("overcooked", partners="nowhere.onnx")


def test_a_memory_of_stable_baselines_is_not_left_out(tmp_path):
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", kitchen(), n_steps=32)
    model.policy.lstm_actor = model.policy.action_net
    with pytest.raises(ValueError, match="has a memory, which this call would leave out"):
        export.stable_baselines3(model, tmp_path / "recurrent.onnx")


def test_what_is_not_installed_is_named():
    with pytest.raises(ImportError, match="install it: pip install nowhere"):
        export._library("nowhere_to_be_found", "pip install nowhere")


def test_masked_agents_keep_to_the_mask(tmp_path):
    import torch

    env = kitchen()
    size, count = env.observation_space.shape[0], int(env.action_space.n)
    torch.manual_seed(4)
    path = export.torch(torch.nn.Linear(size, count), tmp_path / "free.onnx", (size,))
    vector = coplay.make_vec(
        "overcooked", 8, partners=coplay.Agent(path, temperature=5.0, action_mask=True), horizon=40
    )
    _, info = vector.reset(seed=1)
    forbidden = 0
    for _ in range(40):
        masks = vector._vector.arrays["masks"].view(np.int8)[:, 1].copy()
        vector.step(np.zeros(8, np.int64))
        chosen = vector._vector.actions()[:, 1]
        assert masks[np.arange(8), chosen].all()
        forbidden += int((masks == 0).sum())
    assert forbidden > 0
