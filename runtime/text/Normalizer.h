// The first step of a tokenizer: text becomes the text that is cut.
#pragma once
#include "runtime/text/TokenizerJson.h"
#include <memory>
#include <vector>

namespace kedge::rt {

class NormalizerStep {
public:
  virtual ~NormalizerStep() = default;
  virtual std::string apply(std::string_view text) const = 0;
};

class Normalizer {
public:
  /// Of tokenizer.json's `normalizer`. Throws rt::RuntimeError that names what is not available.
  void read(const TokenizerPart &part);
  bool empty() const { return steps.empty(); }
  std::string apply(std::string_view text) const;

private:
  std::vector<std::unique_ptr<NormalizerStep>> steps;
};

} // namespace kedge::rt
