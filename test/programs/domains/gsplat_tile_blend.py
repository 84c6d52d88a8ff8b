import torch


class Model(torch.nn.Module):
    """Gaussian splatting: quaternion and scale to 3-D covariance, EWA projection, depth sort, per-tile gather of listed splats, front-to-back alpha blend."""

    def __init__(self, focal, width, height, tile):
        super().__init__()
        self.f, self.W, self.H, self.tile = focal, width, height, tile

    def project(self, xyz, q, log_s):
        w, x, y, z = (q / q.norm(dim=1, keepdim=True)).unbind(1)
        R = torch.stack(
            [
                1 - 2 * (y * y + z * z),
                2 * (x * y - w * z),
                2 * (x * z + w * y),
                2 * (x * y + w * z),
                1 - 2 * (x * x + z * z),
                2 * (y * z - w * x),
                2 * (x * z - w * y),
                2 * (y * z + w * x),
                1 - 2 * (x * x + y * y),
            ],
            1,
        ).view(-1, 3, 3)
        M = R * log_s.exp()[:, None]
        X, Y, Z = xyz.unbind(1)
        o = torch.zeros_like(X)
        J = torch.stack(
            [self.f / Z, o, -self.f * X / Z**2, o, self.f / Z, -self.f * Y / Z**2], 1
        ).view(-1, 2, 3)
        T = J @ M
        cov = T @ T.transpose(1, 2)
        a, b, c = cov[:, 0, 0] + 0.3, cov[:, 0, 1], cov[:, 1, 1] + 0.3
        det = (a * c - b * b).clamp(min=1e-6)
        mean = torch.stack([self.f * X / Z + self.W / 2, self.f * Y / Z + self.H / 2], 1)
        return mean, torch.stack([c / det, -b / det, a / det], 1), Z

    def forward(self, xyz, q, log_s, opacity, color, lists):
        mean, conic, depth = self.project(xyz, q, log_s)
        key = depth[lists]
        lists = lists.gather(1, key.argsort(dim=1))  # tiles, K
        ty, tx, t = self.H // self.tile, self.W // self.tile, self.tile
        r = torch.arange(t, device=xyz.device, dtype=xyz.dtype) + 0.5
        py = torch.arange(ty, device=xyz.device)[:, None, None, None] * t + r[None, None, :, None]
        px = torch.arange(tx, device=xyz.device)[None, :, None, None] * t + r[None, None, None, :]
        py, px = torch.broadcast_tensors(py, px)
        pix = torch.stack([px, py], -1).reshape(ty * tx, t * t, 1, 2)
        d = pix - mean[lists][:, None]
        A, B, C = conic[lists][:, None].unbind(-1)
        power = -0.5 * (A * d[..., 0] ** 2 + C * d[..., 1] ** 2) - B * d[..., 0] * d[..., 1]
        alpha = (torch.sigmoid(opacity)[lists][:, None] * power.clamp(max=0).exp()).clamp(max=0.99)
        alpha = torch.where(alpha < 1 / 255, torch.zeros_like(alpha), alpha)
        T = torch.cumprod(1 - alpha, dim=-1)
        w = alpha * torch.cat([torch.ones_like(T[..., :1]), T[..., :-1]], -1)
        rgb = torch.bmm(w, color[lists]) + T[..., -1:] * 0.2
        return rgb.view(ty, tx, t, t, 3).permute(4, 0, 2, 1, 3).reshape(3, self.H, self.W)


def get_inputs():
    n, K = 60000, 57
    z = torch.rand(n, 1) * 4 + 2
    xy = (torch.rand(n, 2) - 0.5) * torch.tensor([400.0, 240.0]) / 300 * z
    tx, ty = 25, 15
    u = xy / z * 300 + torch.tensor([200.0, 120.0])
    tile = (u[:, 1].clamp(0, 239) // 16).long() * tx + (u[:, 0].clamp(0, 399) // 16).long()
    order = tile.argsort()
    start = torch.searchsorted(tile[order], torch.arange(tx * ty))
    lists = order[(start[:, None] + torch.arange(K)).clamp(max=n - 1)]
    return [
        torch.cat([xy, z], 1),
        torch.randn(n, 4),
        torch.randn(n, 3) * 0.3 - 3.5,
        torch.randn(n),
        torch.rand(n, 3),
        lists,
    ]


def get_init_inputs():
    return [300.0, 400, 240, 16]
