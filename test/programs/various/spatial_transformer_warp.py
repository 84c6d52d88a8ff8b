import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Spatial transformer: localisation net, affine grid, bilinear sampling with border padding, photometric error."""

    def __init__(self, c):
        super().__init__()
        self.loc = nn.Sequential(
            nn.Conv2d(c, 8, 7, stride=2),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(8, 10, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
        )
        self.fc = nn.Linear(10 * 4 * 4, 6)
        self.register_buffer("bias", torch.tensor([1.0, 0, 0, 0, 1.0, 0]))

    def forward(self, img, ref):
        z = F.adaptive_avg_pool2d(self.loc(img), 4).flatten(1)
        theta = (self.bias + 0.1 * torch.tanh(self.fc(z))).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(img.shape), align_corners=False)
        out = F.grid_sample(img, grid, mode="bilinear", padding_mode="border", align_corners=False)
        err = torch.sqrt((out - ref) ** 2 + 1e-4).mean((1, 2, 3))
        return out, err


def get_inputs():
    smooth = lambda: F.interpolate(
        torch.rand(19, 3, 9, 7), size=(129, 97), mode="bilinear", align_corners=True
    )
    return [smooth(), smooth()]


def get_init_inputs():
    return [3]
