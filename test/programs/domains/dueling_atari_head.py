import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Nature CNN over uint8 frames, dueling streams, double-DQN target and huber TD error with priorities."""

    def __init__(self, actions):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(4, 32, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.adv = nn.Sequential(nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, actions))
        self.val = nn.Sequential(nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 1))

    def q(self, obs):
        h = self.net(obs.to(self.adv[0].weight.dtype) / 255.0)
        a, v = self.adv(h), self.val(h)
        return v + a - a.mean(dim=1, keepdim=True)

    def forward(self, obs, nxt, action, reward, done, target_q, weight):
        q = self.q(obs).gather(1, action.unsqueeze(1)).squeeze(1)
        best = self.q(nxt).argmax(dim=1, keepdim=True)
        boot = target_q.gather(1, best).squeeze(1)
        target = reward.clamp(-1, 1) + 0.99**3 * (1 - done) * boot
        loss = F.smooth_l1_loss(q, target, reduction="none")
        return (weight * loss).mean(), (q - target).abs() + 1e-6


def get_inputs():
    B = 516
    return [
        torch.randint(0, 256, (B, 4, 84, 84), dtype=torch.uint8),
        torch.randint(0, 256, (B, 4, 84, 84), dtype=torch.uint8),
        torch.randint(0, 18, (B,)),
        torch.randn(B),
        (torch.rand(B) < 0.05).float(),
        torch.randn(B, 18),
        torch.rand(B),
    ]


def get_init_inputs():
    return [18]
