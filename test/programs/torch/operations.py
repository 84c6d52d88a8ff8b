"""Single operations of PyTorch at the sizes that models give them: one that falls off shows here."""

from __future__ import annotations

import torch
from cases import Cases
from torch.nn import functional as fn

BF, F16, F32, I32, I64, B8 = (
    torch.bfloat16, torch.float16, torch.float32, torch.int32, torch.int64, torch.bool,
)  # fmt: skip
C = Cases()
add = C.add
WIDE = ((4096, 4096), F32)
LONG = ((1 << 24,), F32)
IMAGE = ((16, 64, 112, 112), F32)
ROWS = ((8192, 2000), F32)
SIGNAL = ((16, 64, 8192), F32)
VOLUME = ((4, 32, 24, 48, 48), F32)


# ---- element by element
for name in (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp2", "expm1", "frac",
    "log10", "log1p", "round", "rsqrt", "sgn", "sigmoid", "sin", "sinc", "sinh", "tan", "tanh", "trunc",
):  # fmt: skip
    add(name, getattr(torch, name), WIDE)
for name in ("atan2", "copysign", "fmod", "hypot", "logaddexp", "nextafter", "pow", "remainder", "xlogy"):  # fmt: skip
    add(name, getattr(torch, name), WIDE, WIDE)
add("floor_divide", lambda x, y: torch.floor_divide(x, y + 1), (WIDE[0], I32), (WIDE[0], I32))
add("frexp", torch.frexp, WIDE)
add("nan_to_num", torch.nan_to_num, WIDE)
add("lerp", torch.lerp, WIDE, WIDE, WIDE)
add("where_columns", lambda c, x: torch.where(c[:, None], x, -x), ((4096,), B8), WIDE)
add("float_power", lambda x: torch.float_power(x.abs(), 0.3).float(), ((2048, 2048), F32))
add("gelu_bf16", fn.gelu, ((8192, 8192), BF))
add("mish_f16", fn.mish, ((8192, 8192), F16))
add(
    "bucketize", lambda x, y: torch.bucketize(x, torch.cumsum(y.abs(), 0) - 40), LONG, ((100,), F32)
)
add("isin", lambda x, y: torch.isin(x, y), ((1 << 20,), I64), ((64,), I64))

# ---- reductions
add("all_rows", lambda x: torch.all(x, -1), ((8192, 8192), B8))
add("any_rows", lambda x: torch.any(x, -1), ((8192, 8192), B8))
add("amax_all", torch.amax, LONG)
add("aminmax", lambda x: torch.aminmax(x, dim=-1), WIDE)
add("argmax_all", torch.argmax, LONG)
add("argmin_columns", lambda x: torch.argmin(x, 0), WIDE)
add("count_nonzero", lambda x: torch.count_nonzero(x, -1), ((8192, 8192), I32))
add("logsumexp_columns", lambda x: torch.logsumexp(x, 0), WIDE)
add("logsumexp_all", lambda x: torch.logsumexp(x, 0), LONG)
add("max_rows", lambda x: torch.max(x, -1), ROWS)
add("max_middle", lambda x: torch.max(x, 1), ((64, 1000, 300), F32))
add("nanmean", lambda x: torch.nanmean(x, 0), WIDE)
add("prod_rows", lambda x: torch.prod(x, -1), ROWS)
add("prod_all", torch.prod, LONG)
add("std_mean", lambda x: torch.std_mean(x, 1), ((256, 100, 900), F32))
add("var_columns", lambda x: torch.var(x, 0), ((100000, 100), F32))
add("sum_bf16_columns", lambda x: x.sum(0), ((65536, 1000), BF))
add("sum_last_short", lambda x: x.sum(-1), ((1 << 22, 7), F32))
add("mean_first_short", lambda x: x.mean(0), ((7, 1 << 21), F32))
add("norm_one", lambda x: torch.linalg.vector_norm(x, 1, -1), ROWS)
add("norm_inf", lambda x: torch.linalg.vector_norm(x, float("inf"), -1), ROWS)
add("norm_three", lambda x: torch.linalg.vector_norm(x, 3, 0), WIDE)
add("dist", torch.dist, WIDE, WIDE)
add("trace", torch.trace, ((4096, 4096), F32))
add("dot", torch.dot, LONG, LONG)
add("mean_bool", lambda x: (x > 0).float().mean(), LONG)
add("renorm", lambda x: torch.renorm(x, 2, 0, 1.0), ((8192, 1024), F32))

# ---- scans, orders
add("cumsum_first", lambda x: torch.cumsum(x, 0), ((10000, 1000), F32))
add("cumsum_i64", lambda x: torch.cumsum(x, -1), ((4096, 4096), I64))
add("cumsum_bf16", lambda x: torch.cumsum(x, -1), ((8192, 4096), BF))
add("cumprod_last", lambda x: torch.cumprod(x, -1), ROWS)
add("cummin_last", lambda x: torch.cummin(x, -1), ROWS)
add("cummax_first", lambda x: torch.cummax(x, 0), WIDE)
add("diff", lambda x: torch.diff(x, dim=-1), WIDE)
add("trapezoid", lambda x: torch.trapezoid(x, dim=-1), WIDE)
add("sort_short", lambda x: torch.sort(x, -1), ((65536, 64), F32))
add("sort_long", lambda x: torch.sort(x, -1), ((16, 1 << 18), F32))
add("sort_columns", lambda x: torch.sort(x, 0), ((1024, 4096), F32))
add("msort_i64", lambda x: torch.sort(x, -1)[0], ((4096, 512), I64))
add("topk_5", lambda x: torch.topk(x, 5, -1), ((65536, 1000), F32))
add("topk_40_bf16", lambda x: torch.topk(x, 40, -1), ((64, 50257), BF))
add("topk_100_columns", lambda x: torch.topk(x, 100, 0), ((5000, 1000), F32))
add("median_columns", lambda x: torch.median(x, 0), ((1000, 5000), F32))
add("searchsorted", lambda x, y: torch.searchsorted(torch.cumsum(x.abs(), -1), y), ((512, 1000), F32), ((512, 4000), F32))  # fmt: skip

# ---- gathers and scatters
add("embedding", lambda w, i: fn.embedding(i * 500, w), ((50257, 1024), BF), ((32, 1024), I64))
add("embedding_bag", lambda w, i: w[i * 500].mean(1), ((50257, 256), F32), ((4096, 50), I64))
add("gather_last", lambda x, i: torch.gather(x, -1, i * 10), ROWS, ((8192, 500), I64))
add("gather_first", lambda x, i: torch.gather(x, 0, i * 10), ROWS, ((4096, 2000), I64))
add("index_select_columns", lambda x, i: torch.index_select(x, 1, i * 20), ROWS, ((1000,), I64))
add(
    "index_add",
    lambda x, i, y: torch.index_add(x, 0, i * 81, y),
    ROWS,
    ((4096,), I64),
    ((4096, 2000), F32),
)
add(
    "index_copy",
    lambda x, i, y: torch.index_copy(x, 0, i * 81, y),
    ROWS,
    ((100,), I64),
    ((100, 2000), F32),
)
add(
    "index_put_pairs",
    lambda x, i, j, y: x.index_put((i * 81, j * 20), y),
    ROWS,
    ((100000,), I64),
    ((100000,), I64),
    ((100000,), F32),
)
add(
    "scatter_rows",
    lambda x, i, y: torch.scatter(x, -1, i * 20, y),
    ROWS,
    ((8192, 300), I64),
    ((8192, 300), F32),
)
add(
    "scatter_add_long",
    lambda x, i, y: torch.scatter_add(x, 0, i * 10000, y),
    ((1 << 20,), F32),
    ((1 << 22,), I64),
    ((1 << 22,), F32),
)
add(
    "scatter_reduce_mean",
    lambda x, i, y: torch.scatter_reduce(x, 0, i[:, None].expand(-1, 64) * 100, y, "mean"),
    ((10000, 64), F32),
    ((100000,), I64),
    ((100000, 64), F32),
)
add("one_hot", lambda i: fn.one_hot(i, 100), ((1 << 18,), I64))
add("take_along_dim", lambda x, i: torch.take_along_dim(x, i * 20, 1), ROWS, ((8192, 8), I64))
add(
    "masked_scatter",
    lambda x, m, y: torch.masked_scatter(x, m, y),
    ((1 << 22,), F32),
    ((1 << 22,), B8),
    ((1 << 22,), F32),
)
add("masked_fill", lambda x, m: x.masked_fill(m, -1.0), WIDE, (WIDE[0], B8))
add("histc", lambda x: torch.histc(x, 64, -3.0, 3.0), ((1 << 22,), F32))
add(
    "unpool",
    lambda x: fn.max_unpool2d(*fn.max_pool2d(x, 2, return_indices=True), 2),
    ((8, 64, 56, 56), F32),
)
add(
    "grid_sample",
    lambda x, g: fn.grid_sample(x, torch.tanh(g), align_corners=False),
    ((8, 64, 64, 64), F32),
    ((8, 64, 64, 2), F32),
)

# ---- layouts
add("transpose_last", lambda x: x.transpose(-1, -2).contiguous(), ((64, 512, 1024), F32))
add("permute_four", lambda x: x.permute(0, 2, 3, 1).contiguous(), IMAGE)
add("permute_back", lambda x: x.permute(0, 3, 1, 2).contiguous(), ((16, 112, 112, 64), BF))
add("flip_last", lambda x: torch.flip(x, (-1,)), WIDE)
add("flip_images", lambda x: torch.flip(x, (2, 3)), IMAGE)
add("rot90", lambda x: torch.rot90(x, 1, (0, 1)), WIDE)
add("roll_last", lambda x: torch.roll(x, 1000, -1), WIDE)
add("repeat", lambda x: x.repeat(2, 3), WIDE)
add("repeat_interleave", lambda x: x.repeat_interleave(4, 1), ((8, 8, 2048, 128), BF))
add("stack_last", lambda x, y: torch.stack((x, y), -1), WIDE, WIDE)
add("cat_last_odd", lambda x, y: torch.cat((x, y), -1), ((8192, 1001), F32), ((8192, 999), F32))
add("tril", torch.tril, ((8, 2048, 2048), F32))
add("diag_embed", torch.diag_embed, ((1000, 128), F32))
add("kron", torch.kron, ((64, 64), F32), ((64, 64), F32))
add("outer", torch.outer, ((8192,), F32), ((8192,), F32))
add("unfold_images", lambda x: fn.unfold(x, 3, padding=1), ((8, 32, 56, 56), F32))
add("fold_images", lambda x: fn.fold(x, (56, 56), 3, padding=1), ((8, 288, 3136), F32))
add("pixel_unshuffle", lambda x: fn.pixel_unshuffle(x, 4), IMAGE)
add("pad_constant", lambda x: fn.pad(x, (1, 2, 3, 4)), IMAGE)
add("pad_circular", lambda x: fn.pad(x, (3, 3, 3, 3), mode="circular"), IMAGE)
add("pad_replicate", lambda x: fn.pad(x, (3, 3, 3, 3), mode="replicate"), IMAGE)
add("slice_step", lambda x: x[:, ::2, 1::3].contiguous(), ((64, 1024, 900), F32))
add(
    "slice_scatter",
    lambda x, y: torch.slice_scatter(x, y, 1, 100, 1124),
    ((4096, 4096), F32),
    ((4096, 1024), F32),
)
add("meshgrid_add", lambda x, y: x[:, None] + y, ((8192,), F32), ((8192,), F32))
add("fftshift", lambda x: torch.fft.fftshift(x), WIDE)

# ---- windows
add("avg_pool_2d", lambda x: fn.avg_pool2d(x, 3, 2, 1), IMAGE)
add("max_pool_2d", lambda x: fn.max_pool2d(x, 3, 2, 1), IMAGE)
add("max_pool_indices", lambda x: fn.max_pool2d(x, 2, return_indices=True), IMAGE)
add("max_pool_1d", lambda x: fn.max_pool1d(x, 5, 2), SIGNAL)
add("avg_pool_3d", lambda x: fn.avg_pool3d(x, 2), VOLUME)
add("adaptive_max", lambda x: fn.adaptive_max_pool2d(x, 7), IMAGE)
add("adaptive_odd", lambda x: fn.adaptive_avg_pool2d(x, (5, 9)), IMAGE)
add("local_response", lambda x: fn.local_response_norm(x, 5), IMAGE)
add("lp_pool", lambda x: fn.lp_pool2d(x, 2, 3, 2), IMAGE)
add("bicubic", lambda x: fn.interpolate(x, scale_factor=2, mode="bicubic"), ((8, 32, 64, 64), F32))
add("bilinear_down", lambda x: fn.interpolate(x, size=(48, 48), mode="bilinear"), IMAGE)
add("nearest_odd", lambda x: fn.interpolate(x, size=(200, 150)), ((16, 32, 64, 64), F32))
add(
    "trilinear",
    lambda x: fn.interpolate(x, scale_factor=2, mode="trilinear"),
    ((2, 16, 16, 32, 32), F32),
)
add("area", lambda x: fn.interpolate(x, size=(28, 28), mode="area"), IMAGE)
add("sliding_max", lambda x: x.unfold(-1, 32, 1).amax(-1), ((64, 16384), F32))

# ---- norms, losses, distances
add("batch_norm", lambda x: fn.batch_norm(x, None, None, training=True), IMAGE)
add("batch_norm_1d", lambda x: fn.batch_norm(x, None, None, training=True), ((65536, 256), F32))
add("group_norm_3d", lambda x: fn.group_norm(x, 8), VOLUME)
add("instance_norm_1d", lambda x: fn.instance_norm(x), SIGNAL)
add("layer_norm_two_dims", lambda x: fn.layer_norm(x, (64, 64)), ((4096, 64, 64), F32))
add("normalize_channels", lambda x: fn.normalize(x, dim=1), IMAGE)
add("softmax_middle", lambda x: fn.softmax(x, 2), ((16, 32, 256, 64), F32))
add("log_softmax_short", lambda x: fn.log_softmax(x, -1), ((1 << 20, 10), F32))
add(
    "gumbel",
    lambda x, u: fn.softmax((x - torch.log(-torch.log(torch.sigmoid(u)))) / 0.5, -1),
    ROWS,
    ROWS,
)
add("softmin", lambda x: fn.softmin(x, 1), ROWS)
add(
    "cross_entropy_images",
    lambda x, t: fn.cross_entropy(x, t % 21),
    ((8, 21, 256, 256), F32),
    ((8, 256, 256), I64),
)
add(
    "cross_entropy_smooth",
    lambda x, t: fn.cross_entropy(x, t, label_smoothing=0.1),
    ((16384, 1000), F32),
    ((16384,), I64),
)
add(
    "nll_rows",
    lambda x, t: fn.nll_loss(x, t, reduction="none"),
    ((16384, 1000), F32),
    ((16384,), I64),
)
add(
    "kl_div",
    lambda x, y: fn.kl_div(fn.log_softmax(x, -1), fn.softmax(y, -1), reduction="batchmean"),
    ROWS,
    ROWS,
)
add("multi_margin", lambda x, t: fn.multi_margin_loss(x, t), ROWS, ((8192,), I64))
add("cosine_embedding", lambda x, y: fn.cosine_similarity(x, y), ROWS, ROWS)
add("pdist", fn.pdist, ((1024, 64), F32))
add("cdist_1", lambda x, y: torch.cdist(x, y, 1.0), ((1024, 64), F32), ((1024, 64), F32))
add("cdist_2", torch.cdist, ((4096, 64), F32), ((4096, 64), F32))
add("pairwise_distance", fn.pairwise_distance, ROWS, ROWS)
add("smooth_l1", fn.smooth_l1_loss, LONG, LONG)
add("poisson", fn.poisson_nll_loss, LONG, LONG)
add("glu_middle", lambda x: fn.glu(x, 1), ((64, 512, 1000), F32))
add("prelu", fn.prelu, IMAGE, ((64,), F32))

# ---- products
add(
    "addmm",
    lambda c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2.0),
    ((1000, 3000), BF),
    ((1000, 2000), BF),
    ((2000, 3000), BF),
)
add("addmv", torch.addmv, ((8192,), F32), ((8192, 4096), F32), ((4096,), F32))
add("addr", torch.addr, WIDE, ((4096,), F32), ((4096,), F32))
add("baddbmm", torch.baddbmm, ((64, 256, 256), F16), ((64, 256, 128), F16), ((64, 128, 256), F16))
add("bmm_thin", torch.bmm, ((512, 16, 1024), BF), ((512, 1024, 16), BF))
add("bmm_vectors", torch.bmm, ((4096, 1, 256), F32), ((4096, 256, 64), F32))
add("mm_f64", torch.mm, ((1024, 1024), torch.float64), ((1024, 1024), torch.float64))
add("mm_tall", torch.mm, ((1 << 18, 64), F32), ((64, 64), F32))
add("mm_wide_k", torch.mm, ((32, 1 << 17), BF), ((1 << 17, 32), BF))
add("mm_i32", lambda x, y: (x[:, :, None] * y[None]).sum(1), ((256, 256), I32), ((256, 256), I32))
add(
    "tensordot",
    lambda x, y: torch.tensordot(x, y, ([1, 2], [0, 1])),
    ((512, 32, 64), BF),
    ((32, 64, 512), BF),
)
add(
    "multi_dot",
    lambda x, y, z: torch.linalg.multi_dot((x, y, z)),
    ((2000, 100), F32),
    ((100, 3000), F32),
    ((3000, 50), F32),
)
add("cross", lambda x, y: torch.linalg.cross(x, y), ((1 << 21, 3), F32), ((1 << 21, 3), F32))
add("conv_1d_long", lambda x, w: fn.conv1d(x, w, stride=4), SIGNAL, ((128, 64, 9), F32))
add(
    "conv_2d_even",
    lambda x, w: fn.conv2d(x, w, stride=2),
    ((32, 48, 57, 57), F16),
    ((96, 48, 4, 4), F16),
)
add(
    "conv_2d_grouped",
    lambda x, w: fn.conv2d(x, w, padding=1, groups=4),
    ((16, 128, 56, 56), F16),
    ((128, 32, 3, 3), F16),
)
add(
    "conv_3d",
    lambda x, w: fn.conv3d(x, w, padding=1),
    ((2, 16, 16, 56, 56), F32),
    ((32, 16, 3, 3, 3), F32),
)
add(
    "conv_one_channel",
    lambda x, w: fn.conv2d(x, w, padding=2),
    ((64, 1, 128, 128), F32),
    ((16, 1, 5, 5), F32),
)
add(
    "conv_transpose_1d",
    lambda x, w: fn.conv_transpose1d(x, w, stride=4, padding=2),
    ((8, 128, 2000), F32),
    ((128, 64, 8), F32),
)
add(
    "conv_transpose_3d",
    lambda x, w: fn.conv_transpose3d(x, w, stride=2),
    ((2, 32, 8, 28, 28), F16),
    ((32, 16, 2, 2, 2), F16),
)
add(
    "bilinear_layer",
    lambda x, y, w: fn.bilinear(x, y, w),
    ((1024, 64), F32),
    ((1024, 64), F32),
    ((100, 64, 64), F32),
)
