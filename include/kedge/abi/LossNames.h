// What a loss adds to a program, by name: outputs, inputs, and what the log says of a step.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace kedge::abi {

/// The log-probabilities that the model gives a row's labels, in all and each: outputs that read labels.
inline constexpr std::string_view kRowLogs = "logps", kTokenLogs = "token_logps";

/// Which tokens count, as an input; without data all do.
inline constexpr std::string_view kLossMask = "loss_mask";

/// What the log says of a step beside its loss: a mean over the loss's items.
enum class StepMetric : uint8_t { Margin, Accuracy, Kl, Clipped };
inline constexpr std::array<std::string_view, 4> kStepMetrics = {"margin", "accuracy", "kl", "clipped"};

/// How the results of @step are called that are sums of them: "metric.margin".
inline constexpr std::string_view kMetricPrefix = "metric.";

/// How the results of @step are called that are the terms of a loss, each without its weight: "loss.aux".
/// A loss of one term has none.
inline constexpr std::string_view kLossPrefix = "loss.";
inline constexpr size_t kMostLosses = 32;

} // namespace kedge::abi
