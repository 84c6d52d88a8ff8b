import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Bottleneck with CBAM (avg+max channel MLP, 7x7 spatial gate) followed by an embedded-gaussian non-local block with pooled keys."""

    def __init__(self, c, mid, r):
        super().__init__()
        self.c1 = nn.Conv2d(c, mid, 1, bias=False)
        self.c2 = nn.Conv2d(mid, mid, 3, padding=1, bias=False)
        self.c3 = nn.Conv2d(mid, c, 1, bias=False)
        self.b1, self.b2, self.b3 = nn.BatchNorm2d(mid), nn.BatchNorm2d(mid), nn.BatchNorm2d(c)
        self.w_down, self.w_up = nn.Linear(c, c // r, bias=False), nn.Linear(c // r, c, bias=False)
        self.spatial = nn.Conv2d(2, 1, kernel_size=7, padding=3, bias=False)
        self.theta, self.phi, self.g = (nn.Conv2d(c, c // 2, 1) for _ in range(3))
        self.wz = nn.Conv2d(c // 2, c, 1)

    def cbam(self, x):
        n, c, h, w = x.shape
        mlp = lambda v: self.w_up(torch.relu(self.w_down(v)))
        ca = mlp(F.adaptive_avg_pool2d(x, 1).view(n, c)) + mlp(
            F.adaptive_max_pool2d(x, 1).view(n, c)
        )
        x = x * torch.sigmoid(ca)[:, :, None, None]
        sa = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], 1)
        return x * torch.sigmoid(self.spatial(sa))

    def nonlocal_(self, x):
        n, c, h, w = x.shape
        q = self.theta(x).flatten(2).permute(0, 2, 1)
        k = F.max_pool2d(self.phi(x), 2).flatten(2)
        v = F.max_pool2d(self.g(x), 2).flatten(2).permute(0, 2, 1)
        y = torch.matmul(F.softmax(torch.matmul(q, k), dim=-1), v)
        return x + self.wz(y.permute(0, 2, 1).contiguous().view(n, c // 2, h, w))

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        y = F.relu(self.b2(self.c2(y)))
        y = self.cbam(self.b3(self.c3(y)))
        return self.nonlocal_(F.relu(x + y))


def get_inputs():
    return [torch.randn(6, 256, 46, 62)]


def get_init_inputs():
    return [256, 64, 16]
