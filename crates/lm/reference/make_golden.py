"""Makes the golden files of journeyman-lm with other people's code, from the same GGUF files.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make_golden.py --models DIR [--out ../golden]

DIR holds the model files named in crates/cli/models.toml. What is compared, and the format of each
file, is written in ../golden/README.md. Running it again gives the same files up to rounding.

What the reference is:

- Block decoders: `gguf.quants` of the `gguf` package.
- Model: transformers, `from_pretrained(gguf_file=...)`, which decodes the file to f32 and undoes
  the q/k permutation of llama files. Attention is `eager`. We check two things that are easily
  wrong: every linear weight is plain f32, and the head is `output.weight` where the file has
  one (Qwen's file has it, though the published model ties it to the embedding, as llama.cpp
  also does), decoded by the `gguf` package, else the embedding.
- Tokenizer: transformers' own conversion from GGUF. It leaves out two steps of the published
  tokenizer.json files, which are put back: NFC for Qwen (its own `Qwen2Tokenizer` has it), and
  `Digits(individual)` before ByteLevel for SmolLM2. "Plain" ids are made with `encode_special_tokens`, which keeps control tokens text.
- Templates: transformers' own renderer.
- Adapter: peft, saved by peft.
"""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file
from tokenizers import normalizers, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX
from transformers.utils.chat_template_utils import render_jinja_template

import corpus

MODELS = {
    "qwen2.5-coder-0.5b": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "smollm2-135m": "smollm2-135m-instruct-q4_1.gguf",
}
POSITIONS = [0, 1, 7, 15, 16, 31, 63, 127, 200, 255, 383, 511]
TOP = 64
STRIDED = 96
GREEDY_TOKENS = 128
ADAPTER_MODEL = "smollm2-135m"
ADAPTER_RANK = 2
ADAPTER_SEED = 7


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "golden")
    parser.add_argument("--only", choices=["files", "models"], help="tokens and blocks, or numbers")
    args = parser.parse_args()

    torch.set_grad_enabled(False)
    if args.only != "models":
        write(args.out / "blocks.json", golden_blocks())
        write(args.out / "tojson.json", golden_tojson())
    for name, file in MODELS.items():
        out = args.out / name
        out.mkdir(parents=True, exist_ok=True)
        tokenizer = load_tokenizer(args.models, file, name)
        if args.only != "models":
            write(out / "tokens.json", golden_tokens(tokenizer))
            write(out / "templates.json", golden_templates(tokenizer))
        if args.only == "files":
            continue
        model = load_model(args.models, file)
        write(out / "logits.json", golden_logits(model, tokenizer))
        write(out / "logprobs.json", golden_logprobs(model, tokenizer, args.models / file))
        write(out / "greedy.json", golden_greedy(model, tokenizer))
        if name == ADAPTER_MODEL:
            write(out / "adapter_logits.json", golden_adapter(model, tokenizer, out))
        del model


def golden_blocks():
    """Random blocks of each type: stored bytes, and decoded values as little-endian f32, in hex."""
    rng = np.random.default_rng(1)
    blocks = []
    # Where the half-precision scales lie in a block; random bits there could be NaN.
    scales = {
        "F32": [], "F16": [0], "BF16": [], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0],
        "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    }
    for name, offsets in scales.items():
        kind = gguf.GGMLQuantizationType[name]
        length, size = gguf.GGML_QUANT_SIZES[kind]
        count = max(1, 64 // length) * 2
        if name in ("F32", "BF16"):
            values = rng.normal(size=count * length).astype(np.float32)
            raw = gguf.quants.quantize(values, kind).view(np.uint8).reshape(-1)
        else:
            raw = rng.integers(0, 256, size=(count, size), dtype=np.uint8)
            for offset in offsets:
                halves = rng.normal(scale=0.1, size=(count, 1)).astype(np.float16)
                raw[:, offset : offset + 2] = halves.view(np.uint8)
            raw = raw.reshape(-1)
        # Plain floats are passed as such, blocks as bytes.
        stored = {"F32": np.float32, "F16": np.float16}.get(name)
        decoded = gguf.quants.dequantize(raw.view(stored) if stored else raw, kind)
        values = np.asarray(decoded, dtype="<f4").reshape(-1)
        assert len(values) == count * length and np.isfinite(values).all()
        blocks.append({"type": name, "bytes": raw.tobytes().hex(), "values": values.tobytes().hex()})
    return blocks


def golden_tojson():
    """What the `tojson` filter of transformers writes, with and without `indent`."""
    template = "{{ messages[0].value | tojson }}\n---\n{{ messages[0].value | tojson(indent=2) }}"
    cases = []
    for value in corpus.JSON_VALUES:
        [text], _ = render_jinja_template([[{"value": value}]], chat_template=template)
        cases.append({"value": value, "text": text})
    return {"template": template, "cases": cases}


def load_tokenizer(models, file, name):
    tokenizer = AutoTokenizer.from_pretrained(models, gguf_file=file)
    backend = tokenizer.backend_tokenizer
    if name.startswith("smollm2"):
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    else:
        backend.normalizer = normalizers.NFC()
        split = json.loads(backend.to_str())["pre_tokenizer"]["pretokenizers"][0]
        assert split["pattern"]["Regex"] == PRETOKENIZE_REGEX, split
    return tokenizer


def ids_of(tokenizer, text, plain=False):
    """Token ids; `plain` leaves control tokens in the text as text."""
    backend = tokenizer.backend_tokenizer
    backend.encode_special_tokens = plain
    ids = backend.encode(text, add_special_tokens=False).ids
    backend.encode_special_tokens = False
    return ids


def golden_tokens(tokenizer):
    cases = []
    for text in corpus.TEXTS:
        parsed = ids_of(tokenizer, text)
        cases.append(
            {
                "text": text,
                "parsed": parsed,
                "plain": ids_of(tokenizer, text, plain=True),
                "decoded": tokenizer.backend_tokenizer.decode(parsed, skip_special_tokens=True),
            }
        )
    return cases


def golden_templates(tokenizer):
    cases = []

    def add(name, messages, generation, tools=None):
        text = tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=generation, tokenize=False
        )
        case = {"name": name, "messages": messages, "add_generation_prompt": generation, "text": text}
        if tools:
            case["tools"] = tools
        else:
            case["ids"] = chat_ids(tokenizer, messages, generation, text)
        cases.append(case)

    for name, messages in corpus.CHATS.items():
        for generation in (True, False):
            add(name, messages, generation)
    if "tools" in tokenizer.chat_template:
        call = {"function": {"name": "lookup", "arguments": {"limit": 2, "x": 0.5, "s": "é<\n"}}}
        result = {"role": "tool", "content": "[1, 2]"}
        user = {"role": "user", "content": "Look."}
        assistant = {"role": "assistant", "content": "", "tool_calls": [call, call]}
        add("tools", [user], True, corpus.TOOLS)
        add("tool calls", [user, assistant, result, result, user], True, corpus.TOOLS)
    return cases


def chat_ids(tokenizer, messages, generation, text):
    """Ids of a ChatML chat, with message contents as plain text.

    Built message by message; where no content has a control token, they must be the ids of the
    whole rendered text.
    """
    start, end = tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    ids = []
    if messages[0]["role"] != "system":
        default = text.removeprefix("<|im_start|>").split("<|im_end|>")[0]
        messages = [{"role": "system", "content": default.removeprefix("system\n")}] + messages
    for message in messages:
        body = message["role"] + "\n" + message["content"]
        ids += [start, *ids_of(tokenizer, body, plain=True), end, *ids_of(tokenizer, "\n")]
    if generation:
        ids += [start, *ids_of(tokenizer, "assistant\n")]
    if not any("<|" in message["content"] for message in messages):
        assert ids == ids_of(tokenizer, text), text
    return ids


def load_model(models, file):
    model = AutoModelForCausalLM.from_pretrained(
        models, gguf_file=file, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    linears = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    assert len(linears) == 7 * model.config.num_hidden_layers + 1
    assert all(type(m) is torch.nn.Linear and m.weight.dtype == torch.float32 for m in linears)

    tensors = {t.name: t for t in gguf.GGUFReader(models / file).tensors}
    head = tensors.get("output.weight", tensors["token_embd.weight"])
    for weight, tensor in [
        (model.lm_head.weight, head),
        (model.model.embed_tokens.weight, tensors["token_embd.weight"]),
        (model.model.layers[3].mlp.down_proj.weight, tensors["blk.3.ffn_down.weight"]),
    ]:
        decoded = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        assert torch.equal(weight, torch.from_numpy(decoded)), tensor.name
    return model


def passage_ids(tokenizer):
    ids = ids_of(tokenizer, corpus.PASSAGE)
    assert len(ids) >= 512, len(ids)
    return ids[:512]


def golden_logits(model, tokenizer):
    ids = passage_ids(tokenizer)
    logits = model(torch.tensor([ids])).logits[0]
    return {"ids": ids, **selected(logits)}


def selected(logits):
    """The largest logits, and a regular sample of all, at each of POSITIONS."""
    stride = logits.shape[1] // STRIDED
    positions = []
    for position in POSITIONS:
        row = logits[position]
        top = torch.topk(row, TOP)
        positions.append(
            {
                "position": position,
                "top_ids": top.indices.tolist(),
                "top_values": rounded(top.values),
                "strided_values": rounded(row[::stride]),
            }
        )
    return {"stride": stride, "positions": positions}


def golden_logprobs(model, tokenizer, path):
    text = tokenizer.apply_chat_template(
        corpus.LOGPROB_CHAT, add_generation_prompt=True, tokenize=False
    )
    prompt = ids_of(tokenizer, text)
    continuation = ids_of(tokenizer, corpus.LOGPROB_CONTINUATION)
    logits = model(torch.tensor([prompt + continuation])).logits[0].double()
    rows = logits[len(prompt) - 1 : -1]
    target = torch.tensor(continuation).unsqueeze(1)

    types = gguf.GGUFReader(path).fields["tokenizer.ggml.token_type"].contents()
    unused = torch.tensor([kind == gguf.TokenType.UNUSED for kind in types])
    masked = rows.masked_fill(unused, -torch.inf)
    return {
        "prompt": prompt,
        "continuation": continuation,
        "logprobs": rounded(rows.log_softmax(1).gather(1, target).squeeze(1)),
        "logprobs_masked": rounded(masked.log_softmax(1).gather(1, target).squeeze(1)),
        "entropy_masked": rounded(torch.distributions.Categorical(logits=masked).entropy()),
    }


def golden_greedy(model, tokenizer):
    """The largest logit again and again, not stopping at end tokens."""
    cases = []
    for messages in corpus.GREEDY_PROMPTS:
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        prompt = ids_of(tokenizer, text)
        ids, margins, cache, fresh = [], [], None, prompt
        for _ in range(GREEDY_TOKENS):
            result = model(torch.tensor([fresh]), past_key_values=cache, use_cache=True)
            cache = result.past_key_values
            top = torch.topk(result.logits[0, -1], 2)
            margins.append((top.values[0] - top.values[1]).item())
            ids.append(top.indices[0].item())
            fresh = ids[-1:]
        cases.append({"prompt": prompt, "ids": ids, "margin_min": round(min(margins), 5)})
        print(tokenizer.decode(ids), "\nsmallest margin", min(margins))
    return cases


def golden_adapter(model, tokenizer, out):
    """Logits with a random adapter on all linear layers, and the adapter as peft saves it."""
    torch.manual_seed(ADAPTER_SEED)
    config = LoraConfig(
        r=ADAPTER_RANK, lora_alpha=2 * ADAPTER_RANK, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    adapted = get_peft_model(model, config).eval()
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            # B is zero at first, which would test nothing. Rounded to f16, as they are stored.
            noise = torch.randn_like(parameter) * (0.04 if "lora_A" in name else 0.05)
            parameter.copy_(noise.half().float())
    state = get_peft_model_state_dict(adapted)
    assert len(state) == 2 * 7 * model.config.num_hidden_layers
    save_file(
        {name: tensor.half().contiguous() for name, tensor in state.items()},
        out / "adapter_model.safetensors",
    )
    ids = passage_ids(tokenizer)
    logits = adapted(torch.tensor([ids])).logits[0]
    with adapted.disable_adapter():
        shift = (logits - adapted(torch.tensor([ids])).logits[0]).abs()
    print(f"adapter moves logits by {shift.mean():.3f} on average, {shift.max():.3f} at most")
    return {"rank": ADAPTER_RANK, "alpha": 2 * ADAPTER_RANK, "ids": ids, **selected(logits)}


def rounded(tensor):
    """Seven significant digits, which keep an f32 to within its own rounding."""
    return [float(f"{value:.7g}") for value in tensor.tolist()]


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
