"""A decoder-only Transformer, trained from scratch: rotary positions, RMS norms, SwiGLU.

The geometry is Qwen3's (grouped-query attention with normalised queries and keys, head tied to
the embedding), and parameters have the names that transformers gives them, so that a folder of
config and weights loads there unchanged. Sources: RoPE arXiv 2104.09864, RMSNorm 1910.07467,
SwiGLU 2002.05202, grouped queries 2305.13245, query and key norms 2010.04245.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from worker_client.contract.formats import Decoder as Shape


class RMSNorm(nn.Module):
    """Scale to a root mean square of 1 over the last dimension, computed in float32."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * scaled.to(x.dtype)


class Rotary(nn.Module):
    """Cosines and sines of rotary positions, float32 ``[length, head_dim]``."""

    def __init__(self, head_dim: int, theta: float) -> None:
        super().__init__()
        self.exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
        self.theta = theta

    def forward(self, start: int, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
        frequencies = (1.0 / self.theta**self.exponents).to(device)
        positions = torch.arange(start, start + length, dtype=torch.float32, device=device)
        angles = torch.outer(positions, frequencies).repeat(1, 2)
        return angles.cos(), angles.sin()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Turn each pair ``(x[i], x[i + half])`` of ``x [..., length, head_dim]`` by its angle."""
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return x * cosines.to(x.dtype) + turned * sines.to(x.dtype)


class KeysValues:
    """Keys and values that one layer has seen, ``[batch, kv_heads, length, head_dim]``."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self.keys is None else self.keys.shape[2]

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if self.keys is not None and self.values is not None:
            keys = torch.cat((self.keys, keys), dim=2)
            values = torch.cat((self.values, values), dim=2)
        self.keys, self.values = keys, values
        return keys, values


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width, head = shape.width, shape.head_dim
        self.q_proj = nn.Linear(width, shape.heads * head, bias=False)
        self.k_proj = nn.Linear(width, shape.kv_heads * head, bias=False)
        self.v_proj = nn.Linear(width, shape.kv_heads * head, bias=False)
        self.o_proj = nn.Linear(shape.heads * head, width, bias=False)
        self.q_norm = RMSNorm(head, shape.norm_eps)
        self.k_norm = RMSNorm(head, shape.norm_eps)

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor], seen: KeysValues | None = None
    ) -> Tensor:
        batch, length, _ = x.shape
        split = (batch, length, -1, self.shape.head_dim)
        queries = rotate(self.q_norm(self.q_proj(x).view(split)).transpose(1, 2), *turn)
        keys = rotate(self.k_norm(self.k_proj(x).view(split)).transpose(1, 2), *turn)
        values = self.v_proj(x).view(split).transpose(1, 2)
        if seen is not None:
            keys, values = seen.append(keys, values.to(keys.dtype))
        mixed = functional.scaled_dot_product_attention(
            queries,
            keys,
            values.to(keys.dtype),
            attn_mask=_visible(length, keys.shape[2], x.device),
            is_causal=length == keys.shape[2],
            enable_gqa=True,
        )
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))


def _visible(queries: int, keys: int, device: torch.device) -> Tensor | None:
    """Which keys each of the last ``queries`` positions may see; None: plain causal order."""
    if queries == keys:
        return None
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


class GatedMLP(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(shape.width, shape.norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RMSNorm(shape.width, shape.norm_eps)
        self.mlp = GatedMLP(shape)

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor], seen: KeysValues | None = None
    ) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), turn, seen)
        return x + self.mlp(self.post_attention_layernorm(x))


class Trunk(nn.Module):
    """Everything below the head."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.width, shape.norm_eps)


class Decoder(nn.Module):
    """``input_ids [batch, length]`` int64 to logits ``[batch, length, vocab]``.

    With ``checkpointing`` each layer's activations are computed again in the backward pass, so
    that a step holds one layer's at a time instead of all (arXiv 1604.06174).
    """

    def __init__(self, shape: Shape, *, checkpointing: bool = False) -> None:
        super().__init__()
        self.shape, self.checkpointing = shape, checkpointing
        self.model = Trunk(shape)
        self.rotary = Rotary(shape.head_dim, shape.rope_theta)

    @property
    def head(self) -> Tensor:
        """``[vocab, width]``, the embedding itself."""
        return self.model.embed_tokens.weight

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.hidden(input_ids) @ self.head.T

    def hidden(self, input_ids: Tensor, seen: list[KeysValues] | None = None) -> Tensor:
        """What the head is applied to, ``[batch, length, width]``.

        ``seen``, one per layer, holds what came before ``input_ids`` and takes them in.
        """
        start = seen[0].length if seen else 0
        turn = self.rotary(start, input_ids.shape[1], input_ids.device)
        x = self.model.embed_tokens(input_ids)
        for number, layer in enumerate(self.model.layers):
            if self.checkpointing and self.training and seen is None:
                x = checkpoint(layer, x, turn, use_reentrant=False)
            else:
                x = layer(x, turn, seen[number] if seen else None)
        return self.model.norm(x)

    @torch.inference_mode()
    def generate(
        self,
        prompt: Tensor,
        *,
        temperature: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Iterator[Tensor]:
        """Continue ``prompt [batch, length]`` token by token, each ``[batch]`` int64, until the
        context is full; keys and values are kept, so that a token costs one position.

        ``temperature`` 0 takes the likeliest token.
        """
        seen, fresh = [KeysValues() for _ in self.model.layers], prompt
        for _ in range(self.shape.context - prompt.shape[1]):
            logits = (self.hidden(fresh, seen)[:, -1] @ self.head.T).float()
            token = _choose(logits, temperature, generator)
            yield token
            fresh = token[:, None]


def _choose(logits: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    if temperature <= 0:
        return logits.argmax(-1)
    chances = torch.softmax(logits / temperature, dim=-1)
    return torch.multinomial(chances, 1, generator=generator)[:, 0]
