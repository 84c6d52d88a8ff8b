import math

import torch
import torch.nn as nn


def layer(i, o, gain=math.sqrt(2)):
    l = nn.Linear(i, o)
    nn.init.orthogonal_(l.weight, gain)
    nn.init.zeros_(l.bias)
    return l


class Model(nn.Module):
    """PPO minibatch for a diagonal-gaussian humanoid policy: ratio clip, value clip, entropy, approx KL, clip fraction."""

    def __init__(self, obs, act, clip=0.2):
        super().__init__()
        self.clip = clip
        self.critic = nn.Sequential(
            layer(obs, 256), nn.Tanh(), layer(256, 256), nn.Tanh(), layer(256, 1, 1.0)
        )
        self.actor_mean = nn.Sequential(
            layer(obs, 256), nn.Tanh(), layer(256, 256), nn.Tanh(), layer(256, act, 0.01)
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, act) - 0.5)

    def forward(self, obs, action, old_logp, adv, returns, old_value):
        mean = self.actor_mean(obs)
        logstd = self.actor_logstd.expand_as(mean)
        std = logstd.exp()
        logp = (-((action - mean) ** 2) / (2 * std**2) - logstd - 0.5 * math.log(2 * math.pi)).sum(
            1
        )
        entropy = (0.5 + 0.5 * math.log(2 * math.pi) + logstd).sum(1)
        value = self.critic(obs).view(-1)
        logratio = logp - old_logp
        ratio = logratio.exp()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pg = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - self.clip, 1 + self.clip)).mean()
        v_clip = old_value + torch.clamp(value - old_value, -self.clip, self.clip)
        v_loss = 0.5 * torch.max((value - returns) ** 2, (v_clip - returns) ** 2).mean()
        kl = ((ratio - 1) - logratio).mean()
        frac = ((ratio - 1.0).abs() > self.clip).to(obs.dtype).mean()
        return pg - 0.003 * entropy.mean() + v_loss * 0.5, kl, frac


def get_inputs():
    n = 24000
    act = torch.randn(n, 17) * 0.6
    old = (-(act**2) / (2 * math.exp(-1.0)) + 0.5 - 0.919).sum(1) + 0.1 * torch.randn(n)
    return [torch.randn(n, 376), act, old, torch.randn(n), torch.randn(n), torch.randn(n)]


def get_init_inputs():
    return [376, 17]
