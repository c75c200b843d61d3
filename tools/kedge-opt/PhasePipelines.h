// The phases of kedge compile as pipelines.
#pragma once

namespace kedge::tool {

/// Registers --kedge-raise-pipeline, -step-, -schedule-, -rematerialize-, -memory- and -lower-pipeline: the
/// passes that `kedge compile` runs in these phases. Their options are those of `kedge compile`, without
/// dashes:
/// --kedge-step-pipeline='precision=bf16 zero=2 ranks=4'. Each phase takes what it reads.
void registerPhasePipelines();

} // namespace kedge::tool
