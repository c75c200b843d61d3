#include "runtime/cuda/driver/SharedLibrary.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <glob.h>

namespace kedge::rt::cuda {
namespace {

namespace fs = std::filesystem;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

void addMatches(std::vector<std::string> &folders, const std::string &pattern) {
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      if (std::find(folders.begin(), folders.end(), found.gl_pathv[i]) == folders.end())
        folders.push_back(found.gl_pathv[i]);
  globfree(&found);
}

void addToolkit(std::vector<std::string> &folders, const std::string &root) {
  for (const char *part : {"/lib64", "/lib", "/targets/*/lib"})
    addMatches(folders, root + part);
}

void addWheels(std::vector<std::string> &folders, const std::string &prefix) {
  for (const char *packages :
       {"/lib/python3*/site-packages", "/lib/python3*/dist-packages", "/lib/python3/dist-packages"})
    addMatches(folders, prefix + packages + "/nvidia/*/lib");
}

/// Where the installation of a python3 on PATH begins: <prefix>/bin/python3. Virtual environments link to
/// others.
void addPythons(std::vector<std::string> &folders) {
  const std::string path = variable("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    std::error_code ignored;
    const fs::path python = fs::path(path.substr(begin, end - begin)) / "python3";
    if (fs::exists(python, ignored)) {
      addWheels(folders, python.parent_path().parent_path().string());
      addWheels(folders, fs::canonical(python, ignored).parent_path().parent_path().string());
    }
    begin = end + 1;
  }
}

void *openNamed(const std::string &path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL); }

} // namespace

std::vector<std::string> searchFolders() {
  std::vector<std::string> folders;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string root = variable(name); !root.empty())
      addToolkit(folders, root);
  addToolkit(folders, "/usr/local/cuda");
  addToolkit(folders, "/usr/local/cuda-*");
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string root = variable(name); !root.empty())
      addWheels(folders, root);
  if (const std::string home = variable("HOME"); !home.empty())
    addWheels(folders, home + "/.local");
  addPythons(folders);
  for (const char *prefix : {"/usr/local", "/usr", "/opt/conda", "/opt/venv"})
    addWheels(folders, prefix);
  return folders;
}

SharedLibrary SharedLibrary::tryOpen(const std::vector<std::string> &sonames) {
  SharedLibrary library;
  for (const std::string &soname : sonames)
    if ((library.handle = openNamed(soname))) {
      library.opened = soname;
      return library;
    }
  const std::vector<std::string> folders = searchFolders();
  for (const std::string &soname : sonames)
    for (const std::string &folder : folders) {
      const std::string path = folder + "/" + soname;
      std::error_code ignored;
      if (!fs::exists(path, ignored) || !(library.handle = openNamed(path)))
        continue;
      library.opened = path;
      return library;
    }
  return library;
}

SharedLibrary SharedLibrary::open(const std::vector<std::string> &sonames, const std::string &remedy) {
  SharedLibrary library = tryOpen(sonames);
  if (!library.isOpen()) {
    const std::vector<std::string> folders = searchFolders();
    fail("{} was not found: looked where the loader does (LD_LIBRARY_PATH={}) and in {}; {}",
         fmt::join(sonames, " or "), variable("LD_LIBRARY_PATH"),
         folders.empty() ? "no other folder, there is no toolkit and no wheel"
                         : fmt::format("{}", fmt::join(folders, ", ")),
         remedy);
  }
  return library;
}

void *SharedLibrary::trySymbol(const char *function) const { return dlsym(handle, function); }

void *SharedLibrary::symbol(const char *function) const {
  void *found = trySymbol(function);
  if (!found)
    fail("{} has no function {}: it is older than this program needs; install a newer one", opened, function);
  return found;
}

} // namespace kedge::rt::cuda
