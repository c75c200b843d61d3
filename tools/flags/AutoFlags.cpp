#include "tools/flags/AutoFlags.h"
#include "lib/Support/Error.h"

namespace kedge::tool {

using driver::CompileOptions;

void addAutoOptions(CLI::App &command, CompileOptions &o) {
  command
      .add_flag(
          "--auto", o.joint.on,
          "choose the mesh, the ZeRO stage, micro-batches, --sequence-parallel, --pipeline-schedule, "
          "--offload, --bucket-bytes and one of the types of --precision for the least predicted time that "
          "fits, with a proven bound; options that are given stay")
      ->group("Ranks");
  command.add_flag("--explain", o.joint.explains, "with --auto: what each value of each choice would take")
      ->group("Ranks");
}

void removeAutoOptions(CLI::App &command) {
  for (const char *flag : {"--auto", "--explain"})
    command.remove_option(command.get_option(flag));
}

void resolveAuto(const CLI::App &command, CompileOptions &o) {
  if (o.joint.explains && !o.joint.on)
    fail("--explain tells what --auto has compared; give --auto with it");
  if (!o.joint.on)
    return;
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0)
      o.joint.fixed.insert(option->get_name());
}

} // namespace kedge::tool
