// RUN: kedge-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{has 'tune.adapter' = 3 : i64: expected a #tune.adapter, a #tune.encoding, a unit or the number of a dimension, a type, a #tune.fake_quantized, a #tune.folded_norm, a #tune.resized or a number under the names}}
train.state parameter @a tensor<4xf32> {tune.adapter = 3 : i64}
