// RUN: kedge-opt %s --split-input-file --verify-diagnostics

train.state parameter @w tensor<4xf32>
train.state working_copy @w.working tensor<4xbf16> from unit {of = @w}
// expected-error @+1 {{is a working copy of nothing: expected 'of' with the state that it copies}}
train.state working_copy @v.working tensor<4xbf16> from unit

// -----

// expected-error @+1 {{is a working copy of @gone, and no state has that name}}
train.state working_copy @gone.working tensor<4xbf16> from unit {of = @gone}
