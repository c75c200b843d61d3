"""Hugging Face families with tiny, random configurations. mobilenets are left out: with so few values a channel their
BatchNormalization is so badly conditioned that PyTorch's fp32 is as far from its own fp64."""
import torch
import transformers as hf

from .case import Case

hf.logging.set_verbosity_error()
TEXT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=32)
GROUPED = dict(TEXT, num_key_value_heads=2)
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8)


def named(model, *inputs):
    """A module whose forward has exactly these inputs: exporters read the signature."""
    cached = ", use_cache=False" if getattr(model.config, "use_cache", None) is not None else ""
    scope = {}
    exec(f"def forward(self, {', '.join(inputs)}):\n"
         f" return self.model({', '.join(f'{i}={i}' for i in inputs)}{cached}).logits", scope)
    module = type("Model", (torch.nn.Module,), {"forward": scope["forward"]})()
    module.model = model
    return module


def ids(length=16):
    return torch.randint(0, 64, (2, length))


def text(family, head="ForCausalLM", config="Config", optimize=True, **words):
    def build():
        made = getattr(hf, family + config)(vocab_size=64, bos_token_id=0, eos_token_id=0, pad_token_id=0,
                                            attn_implementation="eager", **words)
        return Case(named(getattr(hf, family + head)(made), "input_ids"), {"input_ids": ids()}, ids(), "ce", optimize=optimize)
    return build


def bart():
    config = hf.BartConfig(vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                           decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=32,
                           attn_implementation="eager")
    module = named(hf.BartForConditionalGeneration(config), "input_ids", "decoder_input_ids")
    return Case(module, {"input_ids": ids(), "decoder_input_ids": ids(12)}, ids(12), "ce")


def image(family, size=32, train_mode=False, optimize=True, **words):
    def build():
        config = getattr(hf, family + "Config")(num_labels=4, **words)
        module = named(getattr(hf, family + "ForImageClassification")(config), "pixel_values")
        pixels, labels = torch.randn(6, 3, size, size), torch.randint(0, 4, (6,))
        return Case(module, {"pixel_values": pixels}, labels, "ce", train_mode, optimize and not train_mode)
    return build


def wav2vec2():
    config = hf.Wav2Vec2Config(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, conv_dim=[16, 16], conv_stride=[5, 2],
        conv_kernel=[10, 3], num_feat_extract_layers=2, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
        num_labels=4, classifier_proj_size=16, attn_implementation="eager", apply_spec_augment=False)
    module = named(hf.Wav2Vec2ForSequenceClassification(config), "input_values")
    return Case(module, {"input_values": torch.randn(2, 400)}, torch.randint(0, 4, (2,)), "ce", optimize=False)


CASES = {
    "distilbert": text("DistilBert", "ForMaskedLM", dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=32),
    "roberta": text("Roberta", "ForMaskedLM", **TEXT),
    "albert": text("Albert", "ForMaskedLM", embedding_size=16, **TEXT),
    "electra": text("Electra", "ForMaskedLM", embedding_size=16, **TEXT),
    "deberta-v2": text("DebertaV2", "ForMaskedLM", **TEXT),
    "opt": text("OPT", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, max_position_embeddings=32,
                word_embed_proj_dim=32),
    "gpt-neo": text("GPTNeo", hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
                    window_size=8, max_position_embeddings=32),
    "gpt-neox": text("GPTNeoX", **TEXT),
    "gptj": text("GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=32),
    "bloom": text("Bloom", hidden_size=32, n_layer=2, n_head=4),
    "falcon": text("Falcon", hidden_size=32, num_hidden_layers=2, num_attention_heads=4),
    "phi": text("Phi", **TEXT),
    "mistral": text("Mistral", **GROUPED),
    "qwen2": text("Qwen2", **GROUPED),
    "qwen3": text("Qwen3", head_dim=8, **GROUPED),
    "gemma": text("Gemma", head_dim=8, optimize=False, **GROUPED),
    "gemma2": text("Gemma2", head_dim=8, optimize=False, **GROUPED),
    "gemma3": text("Gemma3", config="TextConfig", head_dim=8, optimize=False, **GROUPED),
    "starcoder2": text("Starcoder2", **GROUPED),
    "olmo": text("Olmo", **GROUPED),
    "olmo2": text("Olmo2", **GROUPED),
    "stablelm": text("StableLm", **GROUPED),
    "mpt": text("Mpt", d_model=32, n_layers=2, n_heads=4, max_seq_len=32),
    "granite": text("Granite", **GROUPED),
    "cohere": text("Cohere", **GROUPED),
    "mamba": text("Mamba", hidden_size=16, num_hidden_layers=1, state_size=4, optimize=False),
    "bart": bart,
    "deit": image("DeiT", **VISION),
    "dinov2": image("Dinov2", **VISION),
    "beit": image("Beit", **VISION),
    "swinv2": image("Swinv2", optimize=False, image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                    window_size=4),
    "convnext": image("ConvNext", hidden_sizes=[16, 32], depths=[1, 1], num_stages=2),
    "convnext-v2": image("ConvNextV2", hidden_sizes=[16, 32], depths=[1, 1], num_stages=2),
    "regnet": image("RegNet", train_mode=True, embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4,
                    layer_type="y"),
    "resnet": image("ResNet", train_mode=True, embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"),
    "poolformer": image("PoolFormer", hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], drop_path_rate=0.0),
    "mobilevit": image("MobileViT", size=64, train_mode=True, image_size=64, hidden_sizes=[16, 16, 16],
                       neck_hidden_sizes=[8, 8, 8, 16, 16, 16, 32], num_attention_heads=2, hidden_dropout_prob=0.0,
                       attention_probs_dropout_prob=0.0, classifier_dropout_prob=0.0),
    "segformer": image("Segformer", num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32],
                       patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], drop_path_rate=0.0,
                       hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout_prob=0.0),
    "wav2vec2": wav2vec2,
}
