"""Tiny models with random weights, saved as those on the hub are."""

import json


def save_pair(folder, family="clip", width=16, seed=0, dtype="float32"):
    """A pair of towers that share one space, with processor and tokenizer."""
    import torch

    from aezsl.encoders import torchvision  # noqa: F401

    from transformers import AutoConfig, AutoModel  # isort: skip

    torch.manual_seed(seed)
    small = {"hidden_size": width, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    words = {"vocab_size": 60, "max_position_embeddings": 16, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    extra = {"projection_size": width} if family == "siglip" else {"projection_dim": width}
    text, vision = {**small, **words, **extra}, {**small, "image_size": 32, "patch_size": 8}
    top = {"projection_dim": width} if family == "clip" else {}
    config = AutoConfig.for_model(family, text_config=text, vision_config=vision, **top)
    AutoModel.from_config(config).to(getattr(torch, dtype)).save_pretrained(folder)
    save_processor(folder, "CLIPImageProcessor" if family == "clip" else "SiglipImageProcessor")
    save_tokenizer(folder)
    return str(folder)


def save_vision(folder, family, **options):
    """A network of images alone."""
    import torch

    from aezsl.encoders import torchvision  # noqa: F401

    from transformers import AutoConfig, AutoModel  # isort: skip

    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = AutoConfig.for_model(family, **small, image_size=32, patch_size=8, **options)
    AutoModel.from_config(config).save_pretrained(folder)
    save_processor(folder, "BitImageProcessor" if family == "dinov2" else "ViTImageProcessor")
    return str(folder)


def save_tower(folder, width=12):
    """The image tower of a pair alone, with its projection."""
    import torch

    from aezsl.encoders import torchvision  # noqa: F401

    from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection  # isort: skip

    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = CLIPVisionConfig(**small, image_size=32, patch_size=8, projection_dim=width)
    CLIPVisionModelWithProjection(config).save_pretrained(folder)
    save_processor(folder, "CLIPImageProcessor")
    return str(folder)


def without_weights(folder, part):
    """The same model, but weights with ``part`` in their names are in no file."""
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    save_file({name: value for name, value in load_file(file).items() if part not in name}, file, {"format": "pt"})
    return str(folder)


def save_processor(folder, kind):
    processor = {
        "image_processor_type": kind,
        "do_resize": True,
        "do_center_crop": kind in ("CLIPImageProcessor", "BitImageProcessor"),
        "size": {"height": 32, "width": 32},
        "crop_size": {"height": 32, "width": 32},
        "resample": 3,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "do_convert_rgb": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.25, 0.25, 0.25],
    }
    if processor["do_center_crop"]:
        processor["size"] = {"shortest_edge": 32}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))


def save_tokenizer(folder):
    """One token per word of a small list."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["a", "photo", "of", "the", "red", "fox", "melon", "green", "fruit", "animal", "round", "drawing"]
    vocabulary = {word: number for number, word in enumerate(["<s>", "</s>", "<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special, model_max_length=16).save_pretrained(folder)
