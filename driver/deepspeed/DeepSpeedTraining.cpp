// Precision, optimizer and schedule of a DeepSpeed configuration.
#include "driver/deepspeed/DeepSpeedMapping.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace kedge::driver {

void DeepSpeedMapping::precision() {
  DeepSpeedSection fp16 = top.section("fp16"), bf16 = top.section("bf16");
  std::optional<bool> half = fp16.flag("enabled"), brain = bf16.flag("enabled");
  if (half == true && brain == true)
    file.refuse(
        "'fp16.enabled' and 'bf16.enabled' are both true, expected one of them; set the other to false");
  // A list of plan --compare is a plan of its first.
  std::string given = givenValue("--precision").value_or("");
  given = given.substr(0, given.find(','));
  const auto decide = [&](DeepSpeedSection &section, std::optional<bool> enabled, const char *name) {
    if (enabled && (given == name) != *enabled && !given.empty())
      file.refuse(
          fmt::format("'{}' is {}, but --precision {} was given; leave one of them out, or make them agree",
                      section.pathOf("enabled"), *enabled, given));
    if (enabled == true && !given.empty())
      section.say("enabled", fmt::format("applied: --precision {}, as was given", name));
    else if (enabled == true)
      apply(section, "enabled", "--precision", name);
    else if (enabled)
      section.say("enabled", fmt::format("applied: no --precision {}", name));
  };
  decide(fp16, half, "fp16");
  decide(bf16, brain, "bf16");
  working = half == true ? "fp16" : brain == true ? "bf16" : given.empty() ? "fp32" : given;
  lossScale(fp16);
  bf16.finish();
}

void DeepSpeedMapping::lossScale(DeepSpeedSection &fp16) {
  fp16.only("consecutive_hysteresis", false, "hysteresis refills when the scale grows; leave it out");
  std::optional<double> scale = fp16.number("loss_scale");
  const std::string given = givenValue("--loss-scale").value_or("dynamic");
  if (working != "fp16") {
    for (const char *key :
         {"loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis", "min_loss_scale"})
      if (key == std::string("loss_scale") ? scale.has_value() : fp16.number(key).has_value())
        fp16.say(key, "without effect: the precision is not fp16");
  } else {
    if (scale)
      apply(fp16, "loss_scale", "--loss-scale", *scale == 0 ? "dynamic" : fmt::format("{}", *scale));
    if (scale.value_or(0) == 0 && given == "dynamic")
      dynamicScale(fp16);
    else
      for (const char *key : {"initial_scale_power", "loss_scale_window", "hysteresis", "min_loss_scale"})
        if (fp16.number(key))
          fp16.say(key, "without effect: the loss scale is fixed");
  }
  fp16.finish();
}

void DeepSpeedMapping::dynamicScale(DeepSpeedSection &fp16) {
  if (std::optional<int64_t> power = fp16.count("initial_scale_power")) {
    if (*power > 126)
      fp16.refuse("initial_scale_power", "at most 126: the scale is an fp32 number");
    apply(fp16, "initial_scale_power", "--loss-scale-init",
          fmt::format("{}", std::ldexp(1.0, static_cast<int>(*power))));
  }
  if (std::optional<int64_t> window = fp16.count("loss_scale_window", 1))
    apply(fp16, "loss_scale_window", "--loss-scale-window", std::to_string(*window));
  if (std::optional<int64_t> hysteresis = fp16.count("hysteresis", 1))
    apply(fp16, "hysteresis", "--loss-scale-hysteresis", std::to_string(*hysteresis));
  std::optional<double> least = fp16.number("min_loss_scale");
  if (least == 0.0)
    fp16.refuse("min_loss_scale", "a number above 0");
  if (least)
    apply(fp16, "min_loss_scale", "--loss-scale-min", fmt::format("{}", *least));
  if (!fp16.exists())
    return;
  applyDefault(fp16, "initial_scale_power", "--loss-scale-init", "65536");
  applyDefault(fp16, "loss_scale_window", "--loss-scale-window", "1000");
  applyDefault(fp16, "hysteresis", "--loss-scale-hysteresis", "2");
  applyDefault(fp16, "min_loss_scale", "--loss-scale-min", "1");
}

void DeepSpeedMapping::optimizer() {
  if (std::optional<double> norm = top.number("gradient_clipping"))
    apply(top, "gradient_clipping", "--clip-norm", fmt::format("{}", *norm));
  DeepSpeedSection types = top.section("data_types");
  if (std::optional<std::string> type = types.word("grad_accum_dtype")) {
    if (*type != "fp32" && *type != "fp16" && *type != "bf16")
      types.refuse("grad_accum_dtype", "\"fp32\", \"fp16\" or \"bf16\"");
    apply(types, "grad_accum_dtype", "--accumulate-dtype", *type);
  }
  types.finish();
  DeepSpeedSection section = top.section("optimizer"), params = section.section("params");
  std::string type = section.word("type").value_or("");
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (type == "adam" || type == "adamw")
    adam(params, type);
  else if (type == "sgd")
    sgd(params);
  else if (!type.empty())
    section.refuse("type", "\"Adam\", \"AdamW\" or \"SGD\"");
  else if (section.exists() && !section.has("type"))
    file.refuse("'optimizer.type' is missing, expected \"Adam\", \"AdamW\" or \"SGD\"; name it, or leave "
                "'optimizer' out");
  if (type.empty())
    openParams(params);
  section.finish();
  params.finish();
}

/// Of an optimizer that Kedge's flags name: nothing but "auto" can be told what it is of.
void DeepSpeedMapping::openParams(DeepSpeedSection &params) {
  for (const char *key : {"lr", "betas", "eps", "weight_decay"}) {
    if (params.has(key) && params.valueOf(key) != "\"auto\"")
      file.refuse(
          fmt::format("'optimizer.params.{}' is set, but 'optimizer.type' is left open; name the type", key));
    params.number(key);
  }
}

/// DeepSpeed's Adam is AdamW unless `adam_w_mode` is false, and none of them decays by default.
void DeepSpeedMapping::adam(DeepSpeedSection &params, const std::string &type) {
  DeepSpeedSection section = top.section("optimizer");
  const std::optional<bool> decoupled = params.flag("adam_w_mode");
  const bool w = type == "adamw" || decoupled.value_or(true);
  apply(section, "type", "--optimizer", w ? "adamw" : "adam");
  if (decoupled && type == "adamw" && !*decoupled)
    params.refuse("adam_w_mode", "true, which AdamW always is; make the type Adam, or leave it out");
  if (decoupled)
    params.say("adam_w_mode", fmt::format("applied: --optimizer {}", w ? "adamw" : "adam"));
  rate(params);
  if (std::optional<std::vector<double>> betas = params.pair("betas"))
    apply(params, "betas", "--betas", fmt::format("{},{}", (*betas)[0], (*betas)[1]));
  if (std::optional<double> eps = params.number("eps"))
    apply(params, "eps", "--eps", fmt::format("{}", *eps));
  const std::optional<bool> ofTorch = params.flag("torch_adam");
  if (ofTorch)
    params.say("torch_adam", "applied: the formulas are PyTorch's either way");
  if (std::optional<double> decay = params.number("weight_decay"))
    apply(params, "weight_decay", "--weight-decay", fmt::format("{}", *decay));
  applyDefault(params, "weight_decay", "--weight-decay", w && ofTorch == true ? "0.01" : "0");
  params.only("amsgrad", false, "Kedge has no AMSGrad; leave it out");
  params.only("bias_correction", true, "Kedge always corrects the moments; leave it out");
}

void DeepSpeedMapping::sgd(DeepSpeedSection &params) {
  DeepSpeedSection section = top.section("optimizer");
  apply(section, "type", "--optimizer", "sgd");
  rate(params);
  if (std::optional<double> momentum = params.number("momentum"))
    apply(params, "momentum", "--momentum", fmt::format("{}", *momentum));
  if (std::optional<bool> nesterov = params.flag("nesterov")) {
    if (!*nesterov && givenValue("--nesterov"))
      params.refuse("nesterov", "true, as --nesterov was given; make them agree");
    *nesterov ? apply(params, "nesterov", "--nesterov", "")
              : params.say("nesterov", "applied: no --nesterov");
  }
  if (std::optional<double> decay = params.number("weight_decay"))
    apply(params, "weight_decay", "--weight-decay", fmt::format("{}", *decay));
  if (std::optional<double> dampening = params.number("dampening")) {
    if (*dampening != 0)
      params.refuse("dampening", "0: Kedge's momentum is not dampened; leave it out");
    params.say("dampening", "applied: Kedge does nothing else");
  }
}

void DeepSpeedMapping::rate(DeepSpeedSection &params) {
  std::optional<double> lr = params.number("lr");
  if (lr && scheduledRate)
    return params.say("lr", "without effect: the scheduler's warmup_max_lr takes its place");
  if (lr)
    apply(params, "lr", "--lr", fmt::format("{}", *lr));
}

/// DeepSpeed's defaults. Its WarmupDecayLR does not ask for the optimizer's rate, the others do.
constexpr int64_t kWarmUpSteps = 1000;
constexpr double kWarmUpRate = 0.001, kLeastShare = 0.0001;

/// Defaults of the program: its own flags win.
void DeepSpeedMapping::scheduler() {
  DeepSpeedSection section = top.section("scheduler"), params = section.section("params");
  std::optional<std::string> type = section.word("type");
  if (section.exists() && !section.has("type"))
    file.refuse("'scheduler.type' is missing, expected \"WarmupLR\", \"WarmupDecayLR\" or "
                "\"WarmupCosineLR\"; name it, or leave "
                "'scheduler' out");
  if (type && *type != "WarmupLR" && *type != "WarmupDecayLR" && *type != "WarmupCosineLR")
    section.refuse(
        "type",
        "\"WarmupLR\", \"WarmupDecayLR\" or \"WarmupCosineLR\"; leave 'scheduler' out and give the program "
        "--schedule");
  if (type) {
    apply(section, "type", "--schedule",
          *type == "WarmupLR"        ? "constant"
          : *type == "WarmupDecayLR" ? "linear"
                                     : "cosine");
    schedule(params, *type);
  } else if (section.exists()) {
    for (const char *key : {"warmup_min_lr", "warmup_max_lr", "warmup_num_steps", "total_num_steps"})
      params.number(key);
  }
  section.finish();
  params.finish();
}

void DeepSpeedMapping::schedule(DeepSpeedSection &params, const std::string &type) {
  warmUp(params, type);
  if (type == "WarmupLR")
    return;
  if (std::optional<int64_t> steps = params.count("total_num_steps", 1))
    apply(params, "total_num_steps", "--decay-steps", std::to_string(*steps));
  else if (!params.has("total_num_steps"))
    file.refuse(fmt::format(
        "'scheduler.params.total_num_steps' is missing, which {} needs; name it, or make it \"auto\"", type));
  if (type != "WarmupCosineLR")
    return;
  if (std::optional<double> ratio = params.number("cos_min_ratio"))
    apply(params, "cos_min_ratio", "--min-lr", fmt::format("{}", *ratio * optimizerRate()));
  applyDefault(params, "cos_min_ratio", "--min-lr", fmt::format("{}", kLeastShare * optimizerRate()));
}

void DeepSpeedMapping::warmUp(DeepSpeedSection &params, const std::string &type) {
  if (std::optional<int64_t> steps = params.count("warmup_num_steps"))
    apply(params, "warmup_num_steps", "--warmup", std::to_string(*steps));
  applyDefault(params, "warmup_num_steps", "--warmup", std::to_string(kWarmUpSteps));
  if (std::optional<std::string> shape = params.word("warmup_type")) {
    if (*shape != "linear" && *shape != "log")
      params.refuse("warmup_type", "\"linear\" or \"log\"");
    *shape == "linear" ? params.say("warmup_type", "applied: the program's warm-up is linear")
                       : params.ask("warmup_type", "not to be had: the program's warm-up is linear");
  } else if (!params.has("warmup_type")) {
    params.ask("warmup_type",
               "not in the file: DeepSpeed's default is \"log\", the program's warm-up is linear");
  }
  if (type == "WarmupCosineLR") {
    if (std::optional<double> ratio = params.number("warmup_min_ratio"))
      warmUpFrom(params, "warmup_min_ratio", *ratio);
    return;
  }
  scheduledRate = params.number("warmup_max_lr");
  if (scheduledRate) {
    apply(params, "warmup_max_lr", "--lr", fmt::format("{}", *scheduledRate));
  } else if (type == "WarmupDecayLR" && !params.has("warmup_max_lr") && !givenValue("--lr")) {
    scheduledRate = kWarmUpRate;
    applyDefault(params, "warmup_max_lr", "--lr", fmt::format("{}", kWarmUpRate));
  }
  std::optional<double> least = params.number("warmup_min_lr");
  if (least && scheduledRate.value_or(0) > 0)
    warmUpFrom(params, "warmup_min_lr", *least / *scheduledRate);
  else if (least && optimizerRate() > 0)
    warmUpFrom(params, "warmup_min_lr", *least / optimizerRate());
}

/// `share` of the rate. Without warm-up there is nothing to start from.
void DeepSpeedMapping::warmUpFrom(DeepSpeedSection &params, const char *key, double share) {
  if (share < 0 || share > 1)
    params.refuse(key, "a rate that warm-up rises from: at most the rate that it reaches");
  if (params.has("warmup_num_steps") && params.count("warmup_num_steps").value_or(0) == 0 &&
      !givenValue("--warmup"))
    return params.say(key, "without effect: there is no warm-up");
  apply(params, key, "--warmup-start", fmt::format("{}", share));
}

/// The rate that a schedule's shares are of.
double DeepSpeedMapping::optimizerRate() {
  if (const std::optional<std::string> given = givenValue("--lr")) {
    double rate = 0;
    std::from_chars(given->data(), given->data() + given->size(), rate);
    return rate;
  }
  DeepSpeedSection optimizer = top.section("optimizer"), params = optimizer.section("params");
  return params.number("lr").value_or(CompileOptions().lrOrDefault());
}

} // namespace kedge::driver
