"""LightOnOCR's network in plain PyTorch, batched over images of one size, with the published parameter names.

`transformers` runs the images of a batch through the vision encoder as one long sequence, quadratic in the batch; here
they are a batch. `evaluate` reads the written checkpoint with the `transformers` class, so a difference between the two
cannot stay unseen. B = images, N = patches, T = tokens, D = hidden size.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  (PyTorch's own convention)

from standins.checkpoint import Sizes

PATCH, MERGE = 14, 2
VISION_EPS, TEXT_EPS = 1e-5, 1e-6
VISION_THETA, TEXT_THETA = 1e4, 1e6


class RMSNorm(nn.Module):
    """x / rms(x) * weight."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Any shape [..., size]."""
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), self.eps)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotary embedding, halves paired: x [B, heads, T, d], angles [T, d/2]."""
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def text_angles(positions: Tensor, head_dim: int) -> Tensor:
    """[T] to [T, head_dim/2]."""
    frequencies = TEXT_THETA ** -(torch.arange(0, head_dim, 2) / head_dim)
    return torch.outer(positions.float(), frequencies)


def vision_angles(rows: int, columns: int, head_dim: int) -> Tensor:
    """[rows*columns, head_dim/2]: even frequencies turn with the row, odd ones with the column."""
    frequencies = VISION_THETA ** -(torch.arange(0, head_dim, 2) / head_dim)
    by_row = torch.outer(torch.arange(rows).float(), frequencies[::2])[:, None].expand(-1, columns, -1)
    by_column = torch.outer(torch.arange(columns).float(), frequencies[1::2])[None].expand(rows, -1, -1)
    return torch.cat((by_row, by_column), dim=-1).reshape(rows * columns, -1)


def linear(inputs: int, outputs: int) -> nn.Linear:
    """No layer of this model has a bias."""
    return nn.Linear(inputs, outputs, bias=False)


class GatedMLP(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, hidden: int, inter: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = linear(hidden, inter), linear(hidden, inter)
        self.down_proj = linear(inter, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] to [..., D]."""
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class VisionAttention(nn.Module):
    """Full attention over the patches of one image."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        width = s.vision_heads * s.vision_head_dim
        self.heads = s.vision_heads
        self.q_proj, self.k_proj, self.v_proj = (linear(s.vision_hidden, width) for _ in range(3))
        self.o_proj = linear(width, s.vision_hidden)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        """[B, N, D] to [B, N, D]."""
        q, k, v = (
            p(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        out = F.scaled_dot_product_attention(rotate(q, angles), rotate(k, angles), v)
        result: Tensor = self.o_proj(out.transpose(1, 2).flatten(-2))
        return result


class VisionLayer(nn.Module):
    """Pixtral's layer."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.attention = VisionAttention(s)
        self.attention_norm = RMSNorm(s.vision_hidden, VISION_EPS)
        self.feed_forward = GatedMLP(s.vision_hidden, s.vision_inter)
        self.ffn_norm = RMSNorm(s.vision_hidden, VISION_EPS)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        """[B, N, D] to [B, N, D]."""
        x = x + self.attention(self.attention_norm(x), angles)
        out: Tensor = x + self.feed_forward(self.ffn_norm(x))
        return out


class VisionEncoder(nn.Module):
    """Pixtral: patches of 14 x 14 px, no norm at the end."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.head_dim = s.vision_head_dim
        self.patch_conv = nn.Conv2d(3, s.vision_hidden, PATCH, stride=PATCH, bias=False)
        self.ln_pre = RMSNorm(s.vision_hidden, VISION_EPS)
        self.transformer = nn.ModuleDict({"layers": nn.ModuleList(VisionLayer(s) for _ in range(s.vision_layers))})

    def forward(self, pixels: Tensor) -> Tensor:
        """[B, 3, H, W] to [B, H/14, W/14, D]."""
        patches = self.patch_conv(pixels)
        rows, columns = patches.shape[-2:]
        x = self.ln_pre(patches.flatten(2).transpose(1, 2))
        angles = vision_angles(rows, columns, self.head_dim)
        for layer in self.transformer["layers"]:
            x = layer(x, angles)
        return x.unflatten(1, (rows, columns))


class Projector(nn.Module):
    """Merges 2 x 2 patches and maps them to the text model's width."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        # vLLM hard-codes this epsilon; transformers takes the text model's.
        self.norm = RMSNorm(s.vision_hidden, 1e-5)
        self.patch_merger = nn.ModuleDict({"merging_layer": linear(MERGE * MERGE * s.vision_hidden, s.vision_hidden)})
        self.linear_1, self.linear_2 = linear(s.vision_hidden, s.text_hidden), linear(s.text_hidden, s.text_hidden)

    def forward(self, x: Tensor) -> Tensor:
        """[B, rows, columns, D] to [B, rows*columns/4, D_text]; within a merged patch the channel varies slowest."""
        b, rows, columns, d = x.shape
        x = self.norm(x).view(b, rows // MERGE, MERGE, columns // MERGE, MERGE, d).permute(0, 1, 3, 5, 2, 4)
        x = self.patch_merger["merging_layer"](x.reshape(b, -1, d * MERGE * MERGE))
        out: Tensor = self.linear_2(F.gelu(self.linear_1(x)))
        return out


class TextAttention(nn.Module):
    """Qwen3's attention: grouped keys, norms on queries and keys."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.head_dim, self.groups = s.text_head_dim, s.text_heads // s.text_kv_heads
        self.q_proj = linear(s.text_hidden, s.text_heads * s.text_head_dim)
        self.k_proj, self.v_proj = (linear(s.text_hidden, s.text_kv_heads * s.text_head_dim) for _ in range(2))
        self.o_proj = linear(s.text_heads * s.text_head_dim, s.text_hidden)
        self.q_norm, self.k_norm = RMSNorm(s.text_head_dim, TEXT_EPS), RMSNorm(s.text_head_dim, TEXT_EPS)

    def forward(self, x: Tensor, angles: Tensor, cache: list[Tensor], first_text: int) -> tuple[Tensor, Tensor | None]:
        """[B, T, D] to [B, T, D], and the log of head 0's attention from tokens first_text.. to all ([B, T', T]).

        `cache` holds keys and values of earlier tokens (empty: none); it is extended in place. The second result is
        None for first_text < 0.
        """
        q, k, v = (
            p(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(self.q_norm(q), angles), rotate(self.k_norm(k), angles)
        if cache:
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        cache[:] = [k, v]
        keys, values = (t.repeat_interleave(self.groups, dim=1) for t in (k, v))
        out = F.scaled_dot_product_attention(q, keys, values, is_causal=q.shape[2] == k.shape[2] and q.shape[2] > 1)
        pointer = None
        if first_text >= 0:
            scores = (q[:, 0, first_text:] @ k[:, 0].transpose(1, 2)).float() / self.head_dim**0.5
            hidden = torch.ones(scores.shape[1:], dtype=torch.bool).triu(first_text + 1)
            pointer = scores.masked_fill(hidden, float("-inf")).log_softmax(-1)
        return self.o_proj(out.transpose(1, 2).flatten(-2)), pointer


class TextLayer(nn.Module):
    """Qwen3's layer."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.self_attn = TextAttention(s)
        self.mlp = GatedMLP(s.text_hidden, s.text_inter)
        self.input_layernorm = RMSNorm(s.text_hidden, TEXT_EPS)
        self.post_attention_layernorm = RMSNorm(s.text_hidden, TEXT_EPS)

    def forward(self, x: Tensor, angles: Tensor, cache: list[Tensor], first_text: int) -> tuple[Tensor, Tensor | None]:
        """As TextAttention."""
        attended, pointer = self.self_attn(self.input_layernorm(x), angles, cache, first_text)
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), pointer


class TextModel(nn.Module):
    """Qwen3 without its output layer, which is the embedding."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.head_dim = s.text_head_dim
        self.embed_tokens = nn.Embedding(s.vocab, s.text_hidden)
        self.layers = nn.ModuleList(TextLayer(s) for _ in range(s.text_layers))
        self.norm = RMSNorm(s.text_hidden, TEXT_EPS)


class Network(nn.Module):
    """The whole model. `state_dict()` has the published names, each behind `model.`."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.model = nn.ModuleDict(
            {
                "vision_encoder": VisionEncoder(sizes),
                "vision_projection": Projector(sizes),
                "language_model": TextModel(sizes),
            }
        )
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.05)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)

    def see(self, pixels: Tensor) -> Tensor:
        """Image tokens: [B, 3, H, W] to [B, H*W/28/28, D_text]."""
        out: Tensor = self.model["vision_projection"](self.model["vision_encoder"](pixels))
        return out

    def embed(self, ids: Tensor) -> Tensor:
        """[B, T] to [B, T, D]."""
        out: Tensor = self.text.embed_tokens(ids)
        return out

    @property
    def text(self) -> TextModel:
        """The language model."""
        module = self.model["language_model"]
        assert isinstance(module, TextModel)  # noqa: S101  (for the type checker)
        return module

    def read(
        self,
        x: Tensor,
        positions: Tensor,
        caches: list[list[Tensor]] | None = None,
        aid: int = -1,
        first_text: int = -1,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Hidden states after the last norm [B, T, D]; pointer attention of layer `aid`, and that layer's input.

        `positions` [T] are the tokens' places in the sequence, from 0.
        `caches` (one list for each layer) makes the call continue an earlier one.
        """
        caches = caches if caches is not None else [[] for _ in self.text.layers]
        angles = text_angles(positions, self.text.head_dim)
        pointer = entering = None
        for index, layer in enumerate(self.text.layers):
            if index == aid:
                entering = x
            x, found = layer(x, angles, caches[index], first_text if index == aid else -1)
            pointer = found if index == aid else pointer
        return self.text.norm(x), pointer, entering

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., D] to [..., vocabulary]."""
        return F.linear(hidden, self.text.embed_tokens.weight)


def tensors(network: nn.Module) -> dict[str, tuple[tuple[int, ...], bytes]]:
    """The parameters rounded to BF16: name -> (shape, little-endian bytes)."""
    state = network.state_dict()
    return {
        name: (tuple(value.shape), value.to(torch.bfloat16).contiguous().view(torch.int16).numpy().tobytes())
        for name, value in state.items()
    }
