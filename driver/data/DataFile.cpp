#include "driver/data/DataFile.h"
#include "lib/Support/Error.h"
#include "runtime/io/FileMap.h"
#include "runtime/io/JsonSize.h"

namespace kedge::driver {
namespace {
std::string formPath(const std::string &output) { return output + "-form.json"; }
} // namespace

void writeForm(const std::string &output, const nlohmann::json &form) {
  rt::AtomicFile file(formPath(output));
  file.write(form.dump(1) + "\n");
  file.commit();
}

nlohmann::json readForm(const std::string &output, const std::string &kind) {
  const std::string path = formPath(output);
  const rt::FileMap file(path, "form of a data set (--like)");
  nlohmann::json form = nlohmann::json::parse(rt::jsonText(file), nullptr, false);
  if (!form.is_object() || form.value("kind", "") != kind)
    fail("{}: is not the form of {} as kedge data writes it", path, kind);
  return form;
}

void writeNames(const std::string &path, const std::vector<std::string> &names) {
  rt::AtomicFile file(path);
  for (const std::string &name : names)
    file.write(name + "\n");
  file.commit();
}

} // namespace kedge::driver
