import torch


class Model(torch.nn.Module):
    """CLAHE: luma, 8x8 tiles, 256-bin histograms by scatter_add, clip and redistribute, CDF look-up tables, bilinear blend of four tile tables."""

    def __init__(self, tiles, clip):
        super().__init__()
        self.t, self.clip = tiles, clip
        self.register_buffer("luma", torch.tensor([0.299, 0.587, 0.114]))

    def forward(self, rgb):
        N, _, H, W = rgb.shape
        t, th, tw = self.t, H // self.t, W // self.t
        y = (rgb * self.luma[:, None, None]).sum(1)
        q = (y * 255).round().clamp(0, 255).long()
        tile = q.view(N, t, th, t, tw).transpose(2, 3).reshape(N * t * t, th * tw)
        hist = torch.zeros(N * t * t, 256, device=rgb.device).scatter_add(
            1, tile, torch.ones_like(tile, dtype=torch.float32)
        )
        limit = self.clip * th * tw / 256
        over = (hist - limit).clamp(min=0).sum(1, keepdim=True)
        cdf = (hist.clamp(max=limit) + over / 256).cumsum(1)
        lut = (cdf / (th * tw)).clamp(0, 1).view(N, t * t * 256)
        gy = (torch.arange(H, device=rgb.device) + 0.5) / th - 0.5
        gx = (torch.arange(W, device=rgb.device) + 0.5) / tw - 0.5
        y0, x0 = gy.floor(), gx.floor()
        fy, fx = (gy - y0)[:, None], (gx - x0)[None]
        c = lambda v: v.long().clamp(0, t - 1)

        def look(a, b):
            idx = (c(a)[:, None] * t + c(b)[None]) * 256 + q
            return lut.gather(1, idx.view(N, -1)).view(N, H, W)

        top = look(y0, x0) * (1 - fx) + look(y0, x0 + 1) * fx
        bot = look(y0 + 1, x0) * (1 - fx) + look(y0 + 1, x0 + 1) * fx
        out = top * (1 - fy) + bot * fy
        gain = (out / y.clamp(min=1 / 255)).clamp(max=4.0)
        return (rgb * gain[:, None]).clamp(0, 1)


def get_inputs():
    return [torch.rand(5, 3, 360, 640) * 0.6 + 0.1]


def get_init_inputs():
    return [8, 2.5]
