#include "tools/kedge-opt/PluginWords.h"
#include "driver/Plugins.h"

mlir::DialectRegistry kedge::tool::dialectsOfWords(int &argc, char **argv) {
  constexpr llvm::StringRef flag = "load-pass-plugin";
  std::vector<std::string> plugins;
  int kept = 1;
  for (int at = 1; at < argc; ++at) {
    llvm::StringRef word = llvm::StringRef(argv[at]).ltrim('-');
    if (word == flag && at + 1 < argc)
      plugins.push_back(argv[++at]);
    else if (word.consume_front(flag) && word.consume_front("="))
      plugins.push_back(word.str());
    else
      argv[kept++] = argv[at];
  }
  argc = kept;
  return driver::dialectsWith(plugins);
}
