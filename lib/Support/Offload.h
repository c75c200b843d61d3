// The entries of --offload.
#pragma once
#include "kedge/Support/Words.h"

namespace kedge {

/// What may leave the device's memory.
enum class OffloadKind { Optimizer, Gradients, Params, Activations };

template <> struct Words<OffloadKind> {
  using enum OffloadKind;
  static constexpr Word<OffloadKind> list[] = {
      {Optimizer, "optimizer", "moments and averages"},
      {Gradients, "gradients", "the sums that micro-batches add to"},
      {Params, "params", "weights, trained and frozen"},
      {Activations, "activations", "values between forward and backward"}};
};

/// "optimizer", or "optimizer=DIR".
struct Offload {
  OffloadKind kind = OffloadKind::Optimizer;
  std::string directory; ///< of the file that holds them, on the machine that trains; empty: host memory does

  bool operator==(const Offload &) const = default;

  /// Throws kedge::Error.
  static Offload parse(const std::string &text);
  std::string text() const;
};

/// "optimizer,activations"; empty for none.
std::string offloadText(const std::vector<Offload> &offloads);

} // namespace kedge
