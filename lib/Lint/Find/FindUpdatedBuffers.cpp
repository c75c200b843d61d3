// Buffers that forward changes: what becomes of them.
#include "lib/Lint/BufferUpdates.h"
#include "lib/Lint/Find/Findings.h"
#include <fmt/format.h>

namespace kedge::lint {

void findUpdatedBuffers(FindingContext &context) {
  const BufferUpdates updates = findBufferUpdates(context.graph());
  for (const BufferUpdate &update : updates.kept) {
    if (update.buffer.empty() || context.verdicts[update.buffer] != Verdict::Buffer)
      continue;
    const model::Node &node = context.graph().nodes[update.node];
    context.findings.push_back(
        {Severity::Note, "updated-buffer", nodeName(node), update.buffer, parentModule(update.target),
         update.followsBuffers
             ? "forward updates it: a step begins with what the step before left, and no gradient passes "
               "through the new value; "
               "evaluation, --predict and exported files read it as it is"
             : "forward puts a new value into it: a step begins with what the step before left; what reads "
               "the new value reads it with "
               "its gradient and in every mode, since the file does not tell it from the buffer",
         "nothing to do", false, ""});
  }
  for (const LostUpdate &update : updates.lost)
    if (context.verdicts[update.buffer] == Verdict::Buffer)
      context.findings.push_back(
          {Severity::Error, "lost-update", "", update.buffer, parentModule(update.target),
           fmt::format("forward changes this buffer (BUFFER_MUTATION in the graph signature), but {}: it "
                       "would keep its first value",
                       update.reason),
           "let forward update the buffer before it reads it, or return the new value as another output (the "
           "exporter leaves out what "
           "no output needs, and detach() of an input), or keep the first value with --allow lost-update",
           false, ""});
}

} // namespace kedge::lint
