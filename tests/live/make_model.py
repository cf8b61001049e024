"""Writes a tiny Llama (config and tokenizer, no weights) so that a real vLLM has something to serve on any machine.

Runs inside `.venv-vllm` (it needs `tokenizers` and `transformers`), fetches nothing: the tokenizer is trained on the
Python manual that CPython carries for `help()`. vLLM makes the weights up itself (`--load-format dummy`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from pydoc_data.topics import topics

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # type: ignore[import-not-found]
from transformers import PreTrainedTokenizerFast  # type: ignore[import-not-found]

VOCABULARY = 512
BOS, EOS = "<|begin|>", "<|end|>"
CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 8,
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "initializer_range": 0.02,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_cache": True,
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": 1,
}


def train_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE, so that any text encodes and every token id decodes; the same on every run."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((topics[name] for name in sorted(topics)), trainer)
    if tokenizer.get_vocab_size() != VOCABULARY:
        raise SystemExit(f"the training text gave {tokenizer.get_vocab_size()} tokens, {VOCABULARY} are needed")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS)
    fast.chat_template = CHAT_TEMPLATE
    return fast


def main(directory: Path) -> None:
    """Write the model folder; `config.json` comes last, so that its presence means a complete folder."""
    directory.mkdir(parents=True, exist_ok=True)
    train_tokenizer().save_pretrained(directory)
    (directory / "config.json").write_text(json.dumps(CONFIG, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
