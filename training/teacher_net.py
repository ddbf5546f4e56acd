"""The teacher: a language model of 1.5 billion weights (Qwen2.5-Coder-1.5B-Instruct, Apache-2.0) out of its GGUF file.

    python training/teacher_net.py qwen.gguf

Writes `qwen.json` beside the file: what it holds, and where; so `teacher.py` needs no reader of such files. The
blocks of 4 and 6 bits are unpacked on the device.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM

_PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")


def name_of(name: str) -> str | None:
    """The name that transformers gives a tensor of the file; None for what repeats the word vectors."""
    found = _BLOCK.fullmatch(name)
    if found is None:
        return _OUTSIDE.get(name)
    return f"model.layers.{found[1]}.{_PARTS[found[2]]}.{found[3]}"


def index_of(path: Path) -> dict[str, Any]:
    """The shape of the network, and for each tensor its name, kind of block, shape, place and length in the file."""
    from gguf import GGUFReader

    reader = GGUFReader(path)

    def number(key: str) -> float:
        return float(reader.fields[f"qwen2.{key}"].contents())

    tensors = [
        (name, tensor.tensor_type.name, tensor.shape.tolist()[::-1], int(tensor.data_offset), int(tensor.n_bytes))
        for tensor in reader.tensors
        if (name := name_of(tensor.name)) is not None
    ]
    config = {
        "vocab_size": {name: shape for name, _, shape, _, _ in tensors}["model.embed_tokens.weight"][0],
        "hidden_size": int(number("embedding_length")),
        "intermediate_size": int(number("feed_forward_length")),
        "num_hidden_layers": int(number("block_count")),
        "num_attention_heads": int(number("attention.head_count")),
        "num_key_value_heads": int(number("attention.head_count_kv")),
        "rms_norm_eps": number("attention.layer_norm_rms_epsilon"),
        "rope_parameters": {"rope_type": "default", "rope_theta": number("rope.freq_base")},
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
    }
    return {"config": config, "tensors": tensors}


def _halves(data: Tensor) -> Tensor:
    return data.contiguous().view(torch.float16).float()


def _unpack_4(data: Tensor) -> Tensor:
    """Blocks of 256 weights: two scales, eight pairs of a scale and a minimum of 6 bits, and the weights in 4 bits."""
    scale, least, packed = _halves(data[:, :2]), _halves(data[:, 2:4]), data[:, 4:16].int().view(-1, 3, 4)
    low, high, both = packed[:, 0], packed[:, 1], packed[:, 2]
    scales = torch.cat([low & 63, (both & 15) | ((low >> 2) & 48)], 1)
    minima = torch.cat([high & 63, (both >> 4) | ((high >> 2) & 48)], 1)
    bits = data[:, 16:].view(-1, 4, 1, 32)
    values = torch.cat([bits & 15, bits >> 4], 2).view(-1, 8, 32).float()
    return ((scale * scales)[..., None] * values - (least * minima)[..., None]).view(-1)


def _unpack_6(data: Tensor) -> Tensor:
    """Blocks of 256 weights: their lower 4 bits, their upper 2, sixteen scales of 8 bits, and one scale for all."""
    lower = data[:, :128].view(-1, 2, 1, 64)
    upper = data[:, 128:192].view(-1, 2, 1, 32)
    low = torch.cat([lower & 15, lower >> 4], 2).view(-1, 8, 32)
    high = torch.cat([(upper >> shift) & 3 for shift in (0, 2, 4, 6)], 2).view(-1, 8, 32)
    values = (low.int() | (high.int() << 4)) - 32
    scales = data[:, 192:208].contiguous().view(torch.int8).float()
    return (_halves(data[:, 208:210])[..., None] * scales[..., None] * values.view(-1, 16, 16)).view(-1)


_UNPACK: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {"Q4_K": (144, _unpack_4), "Q6_K": (210, _unpack_6)}


def load_teacher(path: Path, device: str) -> Qwen2ForCausalLM:
    """The whole model in single precision; its word vectors are also its output layer."""
    index = json.loads(path.with_suffix(".json").read_text("utf-8"))
    file = np.memmap(path, np.uint8, "r")
    weights: dict[str, Tensor] = {}
    for name, kind, shape, start, length in index["tensors"]:
        raw = torch.from_numpy(np.array(file[start : start + length])).to(device)
        if kind == "F32":
            weights[name] = raw.view(torch.float32).view(shape)
        else:
            size, unpack = _UNPACK[kind]
            weights[name] = unpack(raw.view(-1, size)).view(shape)
    model = empty_teacher(index["config"], device)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    return model


def empty_teacher(config: dict[str, Any], device: str) -> Qwen2ForCausalLM:
    """The network before its weights are read."""
    settings = Qwen2Config(**config, attn_implementation="sdpa")
    with torch.device("meta"):
        model = Qwen2ForCausalLM(settings).float()
    model.to_empty(device=device)
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(settings).to(device)  # frequencies are worked out, not read
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    path = parser.parse_args().file
    path.with_suffix(".json").write_text(json.dumps(index_of(path)), "utf-8")


if __name__ == "__main__":
    main()
