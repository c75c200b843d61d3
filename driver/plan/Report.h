// --report FILE.json|FILE.html of plan and compile.
#pragma once
#include "driver/Compilation.h"

namespace kedge::driver {

/// Throws unless the name's ending says which kind it is, and its folder can be written; before any work.
void checkReportFile(const std::string &path);
/// For a page, that all values of the plan are priced: its reader may ask about each. Else null.
ValueChooser pricedForPage(const CompileOptions &options);
/// After plan(). An empty path is fine. A page answers what kedge why does, where its values were priced.
void writeReport(Compilation &compilation, const CompileOptions &options);
/// The same with a report that is not the compilation's own. `ofCache`: facts of the kernel cache, for JSON;
/// may be null.
void writeReport(nlohmann::json report, Compilation &compilation, const CompileOptions &options,
                 const nlohmann::json &ofCache = {});
/// Adds to a report in JSON that is written; where there is none, nothing.
void addToReport(const CompileOptions &options, const char *key, const nlohmann::json &value);
/// Writes the report of a program that is made: what it took is known now.
void addToReport(Compilation &compilation, const CompileOptions &options, const nlohmann::json &ofCache);

} // namespace kedge::driver
