// Every key of --deepspeed-config, and every error.
#include "driver/deepspeed/DeepSpeedConfig.h"
#include "lib/Support/Error.h"
#include "test/support/TempFolder.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace kedge::driver;

namespace {

struct Outcome {
  std::string error, text, options; ///< options: "--zero 2 --ranks 4"
  std::optional<int64_t> microBatch;
};

SavedArguments given(const std::string &words) {
  SavedArguments arguments;
  std::istringstream stream(words);
  for (std::string flag, value; stream >> flag;) {
    bool isSwitch = flag == "--nesterov";
    if (!isSwitch)
      stream >> value;
    arguments.push_back({flag, {isSwitch ? "" : value}});
  }
  return arguments;
}

/// What the file says beside the options that were given.
Outcome read(const std::string &json, const std::string &typed = "") {
  kedge::test::TempFolder folder;
  const std::string path = folder.path("ds.json").string();
  std::ofstream(path) << json;
  Outcome outcome;
  try {
    DeepSpeedConfig config(path, given(typed));
    for (const auto &[flag, values] : config.arguments())
      outcome.options +=
          (outcome.options.empty() ? "" : " ") + flag + (values[0].empty() ? "" : " " + values[0]);
    outcome.text = config.text();
    outcome.microBatch = config.microBatch();
  } catch (const kedge::Error &error) {
    outcome.error = error.what();
  }
  return outcome;
}

struct Applied {
  const char *json, *typed, *options, *line;
};

void expectAll(std::initializer_list<Applied> rows) {
  for (const Applied &row : rows) {
    Outcome outcome = read(row.json, row.typed);
    EXPECT_EQ(outcome.error, "") << row.json;
    EXPECT_EQ(outcome.options, row.options) << row.json;
    EXPECT_NE(outcome.text.find(row.line), std::string::npos)
        << row.json << "\nexpected: " << row.line << "\n"
        << outcome.text;
  }
}

TEST(DeepSpeedConfig, Batch) {
  expectAll({
      {R"({"gradient_accumulation_steps": 4})", "", "--accumulate 4",
       "gradient_accumulation_steps 4: applied: --accumulate 4"},
      {R"({"gradient_accumulation_steps": 4})", "--accumulate 4", "",
       "applied: --accumulate 4, as was given"},
      {R"({"gradient_accumulation_steps": "auto"})", "", "",
       "gradient_accumulation_steps \"auto\": decided by Kedge's flag"},
      {R"({"gradient_accumulation_steps": null})", "", "",
       "gradient_accumulation_steps null: decided by Kedge's flag"},
      {R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4})", "--ranks 4", "--accumulate 2",
       "train_batch_size 32: checked: micro-batch 4 x accumulation 2 (--accumulate) x 4 ranks (--ranks)"},
      {R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4})", "--mesh pipeline=2,data=4",
       "--accumulate 2", "micro-batch 4 x accumulation 2 (--accumulate) x 4 ranks"},
      {R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4})", "--ranks 8 --pipeline 2",
       "--accumulate 2", "micro-batch 4 x accumulation 2 (--accumulate) x 4 ranks"},
      {R"({"train_batch_size": 16, "train_micro_batch_size_per_gpu": 4})", "--ranks 4", "",
       "x accumulation 1"},
      {R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": "auto"})", "--ranks 4 --accumulate 2",
       "", "micro-batch 4"},
      {R"({"train_micro_batch_size_per_gpu": 4})", "", "",
       "train_micro_batch_size_per_gpu 4: checked: --shape"},
  });
  EXPECT_EQ(read(R"({"train_batch_size": 32})", "--ranks 4").microBatch, 8);
  EXPECT_EQ(read(R"({"train_micro_batch_size_per_gpu": 3})").microBatch, 3);
  EXPECT_FALSE(read("{}").microBatch);
}

TEST(DeepSpeedConfig, Zero) {
  const char *none = "";
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_EQ(read(R"({"zero_optimization": {"stage": )" + std::to_string(stage) + "}}").options,
              "--zero " + std::to_string(stage));
  expectAll({
      {R"({"zero_optimization": {"reduce_bucket_size": 5e8}})", "", "--bucket-bytes 2000000000",
       "zero_optimization.reduce_bucket_size"},
      {R"({"zero_optimization": {"reduce_bucket_size": 6553600}})", "--bucket-bytes 25MiB", none,
       "as was given"},
      {R"({"zero_optimization": {"reduce_bucket_size": 5e8}, "bf16": {"enabled": true}})", "",
       "--precision bf16 --bucket-bytes 1000000000", ""},
      {R"({"zero_optimization": {"reduce_bucket_size": 5e8}})",
       "--precision bf16 --precision-policy autocast", "--bucket-bytes 2000000000", ""},
      {R"({"zero_optimization": {"allgather_bucket_size": 100}})", "", "--bucket-bytes 400",
       "applied: --bucket-bytes 400"},
      {R"({"zero_optimization": {"allgather_bucket_size": 5, "reduce_bucket_size": 10}})", "",
       "--bucket-bytes 40", "allgather_bucket_size 5: no effect here: --bucket-bytes"},
      {R"({"zero_optimization": {"stage3_param_persistence_threshold": 1e5}})", "--precision fp16",
       "--persist-bytes 200000", ""},
      {R"({"zero_optimization": {"offload_optimizer": {"device": "cpu", "pin_memory": true}}})", "",
       "--offload optimizer", "offload_optimizer.pin_memory true: no effect here"},
      {R"({"zero_optimization": {"offload_optimizer": {"device": "cpu", "ratio": 1}, "offload_param": {"device": "cpu"}}})",
       "", "--offload optimizer,params",
       "zero_optimization.offload_param.device \"cpu\": applied: --offload params"},
      {R"({"zero_optimization": {"offload_param": {"device": "cpu"}}})", "--offload params,gradients", none,
       "as was given"},
      {R"({"zero_optimization": {"offload_param": {"device": "none"}}})", "", none,
       "applied: no --offload params"},
      {R"({"zero_optimization": {"zero_quantized_weights": false, "zero_quantized_gradients": false}})", "",
       none, "Kedge does nothing else"},
  });
}

TEST(DeepSpeedConfig, KeysWithoutMeaningAreToldWhy) {
  for (const char *key : {"overlap_comm", "contiguous_gradients", "reduce_scatter", "allgather_partitions",
                          "round_robin_gradients", "stage3_gather_16bit_weights_on_model_save",
                          "ignore_unused_parameters", "elastic_checkpoint", "load_from_fp32_weights"})
    expectAll({{(std::string(R"({"zero_optimization": {")") + key + R"(": true}})").c_str(), "", "",
                (std::string("zero_optimization.") + key + " true: no effect here: ").c_str()}});
  for (const char *key : {"sub_group_size", "stage3_max_live_parameters", "stage3_max_reuse_distance",
                          "stage3_prefetch_bucket_size"})
    expectAll({{(std::string(R"({"zero_optimization": {")") + key + R"(": 1e9}})").c_str(), "", "",
                (std::string(key) + " 1000000000.0: no effect here: ").c_str()}});
  for (const char *key : {"wall_clock_breakdown", "dump_state", "memory_breakdown", "prescale_gradients",
                          "sparse_gradients", "disable_allgather", "zero_allow_untested_optimizer",
                          "zero_force_ds_cpu_optimizer", "dataloader_drop_last"})
    expectAll({{(std::string(R"({")") + key + R"(": true})").c_str(), "", "",
                (std::string(key) + " true: no effect here: ").c_str()}});
  for (const char *key : {"tensorboard", "wandb", "csv_monitor", "comms_logger", "flops_profiler", "aio"})
    expectAll({{(std::string(R"({")") + key + R"(": {"x": 1}})").c_str(), "", "",
                (std::string(key) + " {").c_str()}});
  expectAll(
      {{R"({"steps_per_print": 10})", "", "", "steps_per_print 10: no effect here"},
       {R"({"gradient_predivide_factor": 2.5})", "", "", "gradient_predivide_factor 2.5: no effect here"}});
  for (const char *key : {"buffer_count", "buffer_size", "max_in_cpu"})
    expectAll({{(std::string(R"({"zero_optimization": {"offload_param": {")") + key + R"(": 5}}})").c_str(),
                "", "", "no effect here"}});
  for (const char *key : {"pipeline", "pipeline_read", "pipeline_write", "fast_init"})
    expectAll(
        {{(std::string(R"({"zero_optimization": {"offload_optimizer": {")") + key + R"(": true}}})").c_str(),
          "", "", "no effect here"}});
  expectAll(
      {{R"({"zero_optimization": {"offload_param": {"nvme_path": "/nvme"}}})", "", "",
        "nvme_path \"/nvme\": no effect here"},
       {R"({"zero_optimization": {"offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}})", "",
        "--offload optimizer=/nvme", "nvme_path \"/nvme\": applied: every process makes a file there"}});
}

TEST(DeepSpeedConfig, Precision) {
  const char *fp16 = "--precision fp16 --loss-scale-init 65536 --loss-scale-window 1000 "
                     "--loss-scale-hysteresis 2 --loss-scale-min 1";
  expectAll({
      {R"({"bf16": {"enabled": true, "immediate_grad_update": true}})", "", "--precision bf16",
       "bf16.enabled true: applied: --precision bf16"},
      {R"({"bf16": {"enabled": true}})", "--precision bf16,fp32", "", "as was given"},
      {R"({"bf16": {"enabled": false}, "fp16": {"enabled": false}})", "", "", "applied: no --precision bf16"},
      {R"({"bf16": {"enabled": "auto"}})", "--precision bf16", "", "decided by Kedge's flag"},
      {R"({"fp16": {"enabled": true, "auto_cast": true}})", "", fp16,
       "fp16.hysteresis: not in the file: DeepSpeed's default is applied: --loss-scale-hysteresis 2"},
      {R"({"fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 12, "loss_scale_window": 50, "hysteresis": 3, "min_loss_scale": 4, "consecutive_hysteresis": false}})",
       "",
       "--precision fp16 --loss-scale dynamic --loss-scale-init 4096 --loss-scale-window 50 "
       "--loss-scale-hysteresis 3 --loss-scale-min 4",
       "fp16.min_loss_scale 4: applied"},
      {R"({"fp16": {"enabled": true}})", "--loss-scale-window 7",
       "--precision fp16 --loss-scale-init 65536 --loss-scale-hysteresis 2 --loss-scale-min 1", ""},
      {R"({"fp16": {"enabled": true, "loss_scale": 128, "hysteresis": 2}})", "",
       "--precision fp16 --loss-scale 128", "fp16.hysteresis 2: without effect: the loss scale is fixed"},
      {R"({"fp16": {"enabled": true, "hysteresis": 2}})", "--loss-scale 64", "--precision fp16",
       "without effect: the loss scale is fixed"},
      {R"({"fp16": {"loss_scale": 1, "loss_scale_window": 9}})", "", "",
       "fp16.loss_scale_window 9: without effect: the precision is not fp16"},
      {R"({"communication_data_type": "fp32"})", "", "", "applied: gradients are sent in this type"},
      {R"({"communication_data_type": "bf16"})", "--precision bf16", "",
       "applied: gradients are sent in this type"},
      {R"({"communication_data_type": "fp32"})", "--precision bf16", "",
       "sums over ranks are made in fp32 and rounded once, to bf16"},
      {R"({"communication_data_type": "fp16"})", "", "--grad-dtype fp16", "applied: --grad-dtype fp16"},
      {R"({"communication_data_type": "bf16", "zero_optimization": {"reduce_bucket_size": 10, "stage3_param_persistence_threshold": 10}})",
       "", "--grad-dtype bf16 --bucket-bytes 20 --persist-bytes 40", ""},
      {R"({"communication_data_type": "fp32"})", "--precision bf16 --grad-dtype fp32", "",
       "applied: gradients are sent in this type"},
      {R"({"data_types": {"grad_accum_dtype": "bf16"}})", "", "--accumulate-dtype bf16",
       "applied: --accumulate-dtype bf16"},
  });
}

TEST(DeepSpeedConfig, Optimizer) {
  expectAll({
      {R"({"gradient_clipping": 1.0})", "", "--clip-norm 1", "gradient_clipping 1.0: applied: --clip-norm 1"},
      {R"({"gradient_clipping": "auto"})", "--clip-norm 3", "", "decided by Kedge's flag"},
      {R"({"optimizer": {"type": "AdamW", "params": {"lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-6, "weight_decay": 0.1}}})",
       "--lr 0.0003", "--optimizer adamw --betas 0.9,0.95 --eps 1e-06 --weight-decay 0.1",
       "optimizer.params.lr 0.0003: applied: --lr 0.0003, as was given"},
      {R"({"optimizer": {"type": "Adam", "params": {}}})", "", "--optimizer adamw --weight-decay 0",
       "weight_decay: not in the file: DeepSpeed's default"},
      {R"({"optimizer": {"type": "Adam", "params": {"adam_w_mode": false, "torch_adam": true}}})", "",
       "--optimizer adam --weight-decay 0", "adam_w_mode false: applied"},
      {R"({"optimizer": {"type": "AdamW", "params": {"torch_adam": true, "amsgrad": false, "bias_correction": true, "fused": true}}})",
       "", "--optimizer adamw --weight-decay 0.01", "fused true: no effect here"},
      {R"({"optimizer": {"type": "AdamW", "params": {"lr": "auto", "weight_decay": "auto"}, "legacy_fusion": false}})",
       "", "--optimizer adamw", "weight_decay \"auto\": decided by Kedge's flag"},
      {R"({"optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9, "nesterov": true, "weight_decay": 1e-4, "dampening": 0}}})",
       "", "--optimizer sgd --lr 0.1 --momentum 0.9 --nesterov --weight-decay 0.0001",
       "nesterov true: applied: --nesterov"},
      {R"({"optimizer": {"type": "SGD", "params": {"nesterov": false}}})", "", "--optimizer sgd",
       "nesterov false: applied: no --nesterov"},
      {R"({"optimizer": {"type": "auto", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}}})",
       "", "", "optimizer.type \"auto\""},
  });
}

TEST(DeepSpeedConfig, Scheduler) {
  expectAll({
      {R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-5, "warmup_max_lr": 1e-3, "warmup_num_steps": 10, "warmup_type": "linear"}}})",
       "", "--schedule constant --warmup 10 --lr 0.001 --warmup-start 0.01",
       "warmup_min_lr 1e-05: applied: --warmup-start 0.01"},
      {R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 10}}})", "",
       "--schedule constant --warmup 10", "scheduler.params.warmup_num_steps 10: applied: --warmup 10"},
      {R"({"scheduler": {"type": "WarmupLR", "params": {}}})", "", "--schedule constant --warmup 1000",
       "scheduler.params.warmup_num_steps: not in the file: DeepSpeed's default is applied: --warmup 1000"},
      {R"({"scheduler": {"type": "WarmupLR"}, "optimizer": {"type": "SGD", "params": {"lr": 1}}})", "",
       "--schedule constant --warmup 1000 --optimizer sgd --lr 1", "optimizer.params.lr 1: applied: --lr 1"},
      {R"({"scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 500}}, "optimizer": {"type": "SGD", "params": {"lr": 1}}})",
       "", "--schedule linear --warmup 1000 --lr 0.001 --decay-steps 500 --optimizer sgd",
       "optimizer.params.lr 1: without effect: the scheduler's warmup_max_lr takes its place"},
      {R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto", "warmup_max_lr": "auto"}}})",
       "", "--schedule constant", "decided by Kedge's flag"},
      {R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-5}}})", "--lr 0.1 --warmup 7",
       "--schedule constant --warmup-start 0.0001", "applied: --warmup-start 0.0001"},
      {R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-5, "warmup_num_steps": 10}}})",
       "", "--schedule constant --warmup 10 --warmup-start 0.01",
       "warmup_min_lr 1e-05: applied: --warmup-start 0.01"},
      {R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_type": "log"}}})", "",
       "--schedule constant --warmup 1000", "not to be had: the program's warm-up is linear"},
      {R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 2e-3}}, "optimizer": {"type": "SGD", "params": {"lr": 1}}})",
       "", "--schedule constant --warmup 1000 --lr 0.002 --optimizer sgd",
       "optimizer.params.lr 1: without effect: the scheduler's warmup_max_lr takes its place"},
      {R"({"scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 500}}})", "",
       "--schedule linear --warmup 1000 --lr 0.001 --decay-steps 500",
       "total_num_steps 500: applied: --decay-steps 500"},
      {R"({"scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto"}}})", "",
       "--schedule linear --warmup 1000 --lr 0.001", "applied: --schedule linear"},
      {R"({"scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 500, "warmup_num_steps": 5, "warmup_min_ratio": 0.25, "cos_min_ratio": 0.5}}})",
       "", "--schedule cosine --warmup 5 --warmup-start 0.25 --decay-steps 500 --min-lr 0.0005",
       "applied: --warmup-start 0.25"},
      {R"({"scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 500, "warmup_num_steps": 5}}, "optimizer": {"type": "SGD", "params": {"lr": 0.5}}})",
       "", "--schedule cosine --warmup 5 --decay-steps 500 --min-lr 5e-05 --optimizer sgd --lr 0.5",
       "scheduler.params.cos_min_ratio: not in the file: DeepSpeed's default is applied: --min-lr 5e-05"},
      {R"({"scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 500, "cos_min_ratio": 0.5}}, "optimizer": {"type": "SGD", "params": {"lr": 0.5}}})",
       "", "--schedule cosine --warmup 1000 --decay-steps 500 --min-lr 0.25 --optimizer sgd --lr 0.5",
       "cos_min_ratio 0.5: applied: --min-lr 0.25"},
      {R"({"scheduler": {"type": "auto", "params": {"warmup_max_lr": "auto"}}})", "", "",
       "scheduler.type \"auto\": decided by Kedge's flag"},
  });
}

TEST(DeepSpeedConfig, ActivationCheckpointing) {
  expectAll({
      {R"({"activation_checkpointing": {"number_checkpoints": 4}})", "", "--recompute segments=4",
       "number_checkpoints 4: applied"},
      {R"({"activation_checkpointing": {"cpu_checkpointing": true}})", "", "--offload activations",
       "give --recompute or --memory-budget"},
      {R"({"activation_checkpointing": {"cpu_checkpointing": false, "number_checkpoints": null}})",
       "--recompute full", "", "no --offload activations"},
      {R"({"activation_checkpointing": {"partition_activations": true, "contiguous_memory_optimization": true, "synchronize_checkpoint_boundary": true, "profile": true}})",
       "", "", "partition_activations true: no effect here"},
  });
}

void expectError(const std::string &json, const std::string &typed, const std::string &message) {
  Outcome outcome = read(json, typed);
  EXPECT_NE(outcome.error.find("--deepspeed-config "), std::string::npos) << json << "\n" << outcome.error;
  EXPECT_NE(outcome.error.find(message), std::string::npos) << json << "\n" << outcome.error;
}

TEST(DeepSpeedConfig, FilesThatAreNoConfiguration) {
  expectError("{\"bf16\": ", "", "expected JSON, found something else at byte");
  expectError("[1]", "", "expected a JSON object of DeepSpeed's keys, found array");
  expectError(R"({"bf16": {"enabled": true, "enabled": false}})", "",
              "key 'enabled' occurs twice in one object");
  EXPECT_THROW(DeepSpeedConfig("/none/ds.json", {}), kedge::Error);
}

TEST(DeepSpeedConfig, UnknownKeysAndWrongTypesAreNamed) {
  expectError(R"({"zero": {}})", "", "unknown key 'zero'; mend its name, or leave it out");
  for (const char *section : {"zero_optimization", "fp16", "bf16", "data_types", "activation_checkpointing"})
    expectError(std::string(R"({")") + section + R"(": {"bogus": 1}})", "",
                std::string("unknown key '") + section + ".bogus'");
  expectError(R"({"zero_optimization": {"offload_param": {"bogus": 1}}})", "",
              "unknown key 'zero_optimization.offload_param.bogus'");
  expectError(R"({"optimizer": {"type": "SGD", "params": {"betas": [0.9, 0.99]}}})", "",
              "unknown key 'optimizer.params.betas'");
  expectError(R"({"optimizer": {"type": "SGD", "bogus": 1}})", "", "unknown key 'optimizer.bogus'");
  expectError(R"({"scheduler": {"type": "WarmupLR", "params": {"total_num_steps": 1}}})", "",
              "unknown key 'scheduler.params.total_num_steps'");
  expectError(R"({"zero_optimization": 2})", "", "'zero_optimization' is 2, expected an object");
  expectError(R"({"bf16": {"enabled": 1}})", "", "'bf16.enabled' is 1, expected true or false");
  expectError(R"({"train_batch_size": 0})", "",
              "'train_batch_size' is 0, expected a whole number, 1 or more");
  expectError(R"({"train_batch_size": 2.5})", "",
              "'train_batch_size' is 2.5, expected a whole number, 1 or more");
  expectError(R"({"train_batch_size": true})", "", "expected a whole number");
  expectError(R"({"gradient_clipping": -1})", "", "'gradient_clipping' is -1, expected a number, 0 or more");
  expectError(R"({"communication_data_type": 32})", "", "'communication_data_type' is 32, expected a string");
  expectError(R"({"optimizer": {"type": "AdamW", "params": {"betas": 0.9}}})", "",
              "expected two numbers, as in [0.9, 0.999]");
}

TEST(DeepSpeedConfig, Contradictions) {
  expectError(
      R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})",
      "",
      "'train_batch_size' is 32, expected micro-batch 4 x accumulation 2 x 1 ranks = 8; mend one of them, or "
      "give another --ranks N");
  expectError(R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 5})", "--ranks 4",
              "micro-batch 5 x accumulation 1 x 4 ranks = 20");
  expectError(R"({"train_batch_size": 30})", "--ranks 4",
              "expected a multiple of 4 (accumulation 1 x 4 ranks)");
  expectError(R"({"train_batch_size": 32})", "--ranks 1,4",
              "'train_batch_size' is for one number of ranks, but --ranks 1,4 was given");
  expectError(R"({"train_micro_batch_size_per_gpu": 2})", "--max-batch input_ids",
              "but --max-batch looks for the largest one");
  expectError(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})", "",
              "'fp16.enabled' and 'bf16.enabled' are both true");
  expectError(R"({"fp16": {"enabled": true}})", "--precision bf16",
              "'fp16.enabled' is true, but --precision bf16 was given");
  expectError(R"({"bf16": {"enabled": false}})", "--precision bf16",
              "'bf16.enabled' is false, but --precision bf16 was given");
  expectError(R"({"gradient_accumulation_steps": 4})", "--accumulate 2",
              "'gradient_accumulation_steps' 4 means --accumulate 4, but --accumulate 2 was given; leave one "
              "of them out");
  expectError(R"({"zero_optimization": {"stage": 4}})", "",
              "'zero_optimization.stage' is 4, expected 0, 1, 2 or 3");
  expectError(R"({"zero_optimization": {"stage": 2}})", "--zero 3", "means --zero 2, but --zero 3 was given");
  expectError(R"({"zero_optimization": {"zero_quantized_weights": true}})", "",
              "'zero_optimization.zero_quantized_weights' is true, expected false");
  expectError(R"({"zero_optimization": {"offload_optimizer": {"device": "nvme"}}})", "",
              "is \"nvme\", expected \"nvme\" with a directory without commas as 'nvme_path'");
  expectError(R"({"zero_optimization": {"offload_optimizer": {"device": "none"}}})", "--offload optimizer",
              "means no --offload optimizer, but --offload optimizer was given");
  expectError(R"({"zero_optimization": {"offload_optimizer": {"device": "cpu"}}})", "--offload params",
              "means an --offload optimizer, but --offload params was given");
  expectError(R"({"zero_optimization": {"offload_optimizer": {"ratio": 0.5}}})", "",
              "'zero_optimization.offload_optimizer.ratio' is 0.5, expected 1");
  expectError(R"({"communication_data_type": "fp8"})", "",
              "'communication_data_type' is \"fp8\", expected \"fp32\", \"fp16\" or \"bf16\"");
  expectError(R"({"communication_data_type": "fp16"})", "--grad-dtype bf16",
              "means --grad-dtype fp16, but --grad-dtype bf16 was given");
  expectError(R"({"data_types": {"grad_accum_dtype": "int8"}})", "",
              "'data_types.grad_accum_dtype' is \"int8\", expected");
  expectError(R"({"fp16": {"enabled": true, "loss_scale": 0}})", "--loss-scale 64",
              "means --loss-scale dynamic, but --loss-scale 64 was given");
  expectError(R"({"fp16": {"enabled": true, "initial_scale_power": 200}})", "", "expected at most 126");
  expectError(R"({"fp16": {"enabled": true, "min_loss_scale": 0}})", "", "expected a number above 0");
  expectError(R"({"fp16": {"consecutive_hysteresis": true}})", "",
              "expected false: hysteresis refills when the scale grows");
  expectError(R"({"optimizer": {"type": "Lamb"}})", "",
              "'optimizer.type' is \"Lamb\", expected \"Adam\", \"AdamW\" or \"SGD\"");
  expectError(R"({"optimizer": {"params": {"lr": 1}}})", "", "'optimizer.type' is missing");
  expectError(R"({"optimizer": {"type": "auto", "params": {"lr": 1}}})", "",
              "'optimizer.params.lr' is set, but 'optimizer.type' is left open");
  expectError(R"({"optimizer": {"type": "AdamW", "params": {"adam_w_mode": false}}})", "",
              "expected true, which AdamW always is");
  expectError(R"({"optimizer": {"type": "AdamW", "params": {"amsgrad": true}}})", "",
              "expected false: Kedge has no AMSGrad");
  expectError(R"({"optimizer": {"type": "AdamW", "params": {"bias_correction": false}}})", "",
              "expected true: Kedge always corrects");
  expectError(R"({"optimizer": {"type": "AdamW", "params": {"betas": [0.9, 0.95]}}})", "--betas 0.9,0.99",
              "means --betas 0.9,0.95, but --betas 0.9,0.99 was given");
  expectError(R"({"optimizer": {"type": "SGD", "params": {"dampening": 0.1}}})", "",
              "expected 0: Kedge's momentum is not dampened");
  expectError(R"({"optimizer": {"type": "SGD", "params": {"nesterov": false}}})", "--nesterov",
              "expected true, as --nesterov was given");
  expectError(R"({"gradient_clipping": 1e999})", "",
              "ds.json: number overflow parsing '1e999'; mend the file");
  expectError(R"({"scheduler": {"type": "OneCycle"}})", "",
              "'scheduler.type' is \"OneCycle\", expected \"WarmupLR\"");
  expectError(R"({"scheduler": {"params": {}}})", "", "'scheduler.type' is missing");
  expectError(R"({"scheduler": {"type": "WarmupDecayLR", "params": {}}})", "",
              "'scheduler.params.total_num_steps' is missing, which WarmupDecayLR needs");
  expectError(R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_type": "cubic"}}})", "",
              "expected \"linear\" or \"log\"");
  expectError(R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 0.1}}})", "--lr 0.2",
              "means --lr 0.1, but --lr 0.2 was given");
  expectError(R"({"activation_checkpointing": {"number_checkpoints": 4}})", "--recompute full",
              "means --recompute segments=4, but --recompute full was given");
}

} // namespace
