"""Tiny sizes of mobius' architectures: what all have, and what some need beyond it."""
from mobius import _configs as configs

COMMON = dict(hidden_size=64, intermediate_size=128, num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_hidden_layers=2, vocab_size=256,
              max_position_embeddings=128, type_vocab_size=2, hidden_act="silu", rms_norm_eps=1e-6, rope_type="default", rope_theta=10_000.0, pad_token_id=0)
EXPERTS = dict(num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32)
LINEAR = dict(linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=16, linear_value_head_dim=16, linear_conv_kernel_dim=4)
LATENT = dict(q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, num_key_value_heads=4)
LOCAL = dict(rope_local_base_freq=10_000.0, attn_qk_norm=True, layer_types=["full_attention", "sliding_attention"], sliding_window=8)
EAGLE = dict(draft_vocab_size=64)
MAMBA2 = dict(mamba_n_heads=4, mamba_d_head=32, mamba_d_state=8, mamba_n_groups=1, mamba_d_conv=4, mamba_expand=2)
GEMMA3N = dict(hidden_act="gelu_pytorch_tanh", altup_num_inputs=2, altup_active_idx=0, laurel_rank=16, hidden_size_per_layer_input=32, vocab_size_per_layer_input=256)
ASSISTANT = dict(global_partial_rotary_factor=1.0, num_kv_shared_layers=2, layer_types=["sliding_attention", "full_attention"], sliding_window=8, global_head_dim=16, global_rope_theta=10_000.0,
                 rope_local_base_freq=10_000.0, attn_qk_norm=True)


def vision(**more):
    return configs.VisionConfig(**{**dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8,
                                          out_hidden_size=64, num_position_embeddings=16, mm_tokens_per_image=4, head_dim=16, spatial_merge_size=2,
                                          temporal_patch_size=2, window_size=16, fullatt_block_indexes=[1], deepstack_visual_indexes=[0],
                                          hidden_act="gelu", rope_theta=10_000.0, mrope_section=[4, 2, 2], position_embedding_size=16,
                                          pooling_kernel_size=2), **more})


AUDIO = configs.AudioConfig(d_model=64, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=128, num_mel_bins=16, max_source_positions=64,
                            downsample_hidden_size=8, output_dim=64, attention_dim=64, attention_heads=4, num_blocks=2, linear_units=128, kernel_size=3,
                            input_size=16, n_window=8, n_window_infer=16, tp_num_blocks=1, adaptor_proj_dim=64, adaptor_num_blocks=1,
                            adaptor_ffn_dim=128, adaptor_num_heads=4)

# Two halvings of mel bins and times are cut out of windows of n_window.
SPEECH = dict(attn_qk_norm=True, mrope_interleaved=True, mrope_section=[3, 3, 2], audio=configs.AudioConfig(
    d_model=64, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=128, num_mel_bins=128, max_source_positions=256, downsample_hidden_size=32, output_dim=64, audio_token_id=100))
TALKER = configs.TTSConfig(text_hidden_size=64, text_vocab_size=256, num_code_groups=4, code_predictor=configs.CodePredictorConfig(
    hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=64))
DECODER = configs.CodecDecoderConfig(codebook_dim=32, codebook_size=64, latent_dim=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=4, head_dim=8, max_position_embeddings=128, decoder_dim=96, num_quantizers=4, upsample_rates=[2, 2, 2, 2], upsampling_ratios=[2, 2])
ENCODER = configs.CodecEncoderConfig(codebook_dim=256, codebook_size=64, hidden_size=512, intermediate_size=128, num_hidden_layers=1, num_attention_heads=8, num_key_value_heads=8,
                                     head_dim=64, max_position_embeddings=128, num_quantizers=8, num_semantic_quantizers=1)

EXPERT_NAMES = ("arctic dbrx ernie4_5_moe flex_olmo glm4_moe glm4v_moe_text granitemoe granitemoeshared hunyuan_v1_moe minimax mixtral olmoe phimoe "
                "qwen2_moe qwen3_moe qwen3_omni_moe qwen3_vl_moe gpt_oss jetmoe").split()
BY_NAME = {name: EXPERTS for name in EXPERT_NAMES}
BY_NAME.update({name: {**EXPERTS, **LINEAR, "partial_rotary_factor": 1.0, "layer_types": ["linear_attention", "full_attention"], "attn_qk_norm": True}
                for name in ("qwen3_5_moe", "qwen3_5_moe_vl", "qwen3_next")})
BY_NAME.update({name: {**LINEAR, "partial_rotary_factor": 0.25, "layer_types": ["linear_attention", "full_attention"]}
                for name in ("qwen3_5", "qwen3_5_vl")})
BY_NAME["qwen3_5_text"] = {**LINEAR, "partial_rotary_factor": 1.0, "layer_types": ["linear_attention", "full_attention"]}  # GroupQueryAttention turns 16 numbers at least
# Partial angles of heads of 16: onnxruntime's GroupQueryAttention takes multiples of 8.
BY_NAME.update({name: dict(num_key_value_heads=4) for name in ("codegen", "gpt_neox", "gpt_neox_japanese", "gptj", "mpt", "persimmon", "doge")})
BY_NAME.update({name: LOCAL for name in ("gemma3", "gemma3_text")})
BY_NAME.update({name: {**LOCAL, **GEMMA3N} for name in ("gemma3n", "gemma3n_text")})
BY_NAME.update({name: ASSISTANT for name in ("Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM", "gemma4_assistant", "gemma4_unified_assistant")})
BY_NAME.update({name: EAGLE for name in ("Eagle3DraftModel", "Eagle3LlamaForCausalLM", "Eagle3Speculator", "LlamaForCausalLMEagle3")})
BY_NAME.update(
    longcat_flash={**EXPERTS, **LATENT, "head_dim": 24}, mamba2=dict(intermediate_size=128, num_heads=8, head_dim=16, state_size=16, n_groups=1),
    granitemoehybrid={**EXPERTS, **MAMBA2, "layer_types": ["mamba2", "full_attention"], "shared_intermediate_size": 32}, DFlashDraftModel=dict(target_layer_ids=[0, 1], block_size=4, num_target_layers=4),
    gemma4={"global_partial_rotary_factor": 1.0, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 8, "global_head_dim": 16, "global_rope_theta": 10_000.0,
            "rope_local_base_freq": 10_000.0, "attn_qk_norm": True, "final_logit_softcapping": 30.0},
    deepseek_v4={**EXPERTS, "num_key_value_heads": 1, "q_lora_rank": 32, "qk_rope_head_dim": 8, "o_groups": 2, "o_lora_rank": 16, "n_shared_experts": 1,
                 "scoring_func": "sqrtsoftplus", "num_hash_layers": 1, "hc_mult": 2, "hc_sinkhorn_iters": 2, "swiglu_limit": 10.0, "rope_interleave": True, "sliding_window": 8},
    fastconformer_rnnt=dict(rnnt_pred_hidden=32, rnnt_joint_hidden=32, rnnt_num_classes=20, fastconformer_feat_in=16, fastconformer_subsampling_conv_channels=8,
                            fastconformer_att_context_size=(16, 4), fastconformer_streaming_cache_size=16, fastconformer_pos_emb_max_len=64),
    whisper=dict(num_mel_bins=16, max_source_positions=32, max_target_positions=32),
    qwen3_asr=SPEECH, qwen3_forced_aligner=SPEECH, qwen3_tts=dict(tts=TALKER, mrope_section=[3, 3, 2]), qwen3_tts_tokenizer_12hz=dict(codec_decoder=DECODER, codec_encoder=ENCODER),
    modernbert={"rope_local_base_freq": 10_000.0}, depth_anything=dict(image_size=32, patch_size=8, backbone_out_indices=[1, 2], neck_hidden_sizes=[16, 32], reassemble_factors=[2.0, 1.0], fusion_hidden_size=16,
                                                                     head_hidden_size=8),
    sam2=dict(image_size=32, sam2_embed_dims=[16, 32, 64, 128], sam2_blocks_per_stage=[1, 1, 2, 1], sam2_num_heads_per_stage=[1, 2, 4, 8],
              sam2_fpn_hidden_size=32))


def sizes_of(name, cls, task):
    sizes = dict(COMMON)
    if "generation" not in task and "vision" not in task and "vl" not in task:
        sizes.update(num_key_value_heads=4)
    if "seq2seq" in task or task in ("speech-to-text", "image-to-text"):
        sizes.update(num_decoder_layers=2, num_key_value_heads=4)
    if "vision" in task or "vl" in task or task.startswith("gemma4") or "multimodal" in task:
        sizes.update(vision=vision(), image_token_id=250, mm_tokens_per_image=4, spatial_merge_size=2, mrope_section=[4, 2, 2], image_size=32, patch_size=8,
                     num_query_tokens=4, qformer_hidden_size=64, qformer_num_hidden_layers=2, qformer_num_attention_heads=4, qformer_intermediate_size=128)
    if "image" in task or "object" in task:
        sizes.update(image_size=32, patch_size=8)
    if "speech" in task or "audio" in task or "asr" in task:
        sizes.update(audio=AUDIO)
    sizes.update(BY_NAME.get(name, {}))
    return sizes
