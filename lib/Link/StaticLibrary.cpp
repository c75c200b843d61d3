#include "lib/Link/StaticLibrary.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace kedge::link {
namespace {

template <typename T> T take(llvm::Expected<T> value, const std::string &file) {
  if (!value)
    fail("{}: {}", file, llvm::toString(value.takeError()));
  return std::move(*value);
}

void check(llvm::Error error, const std::string &file) {
  if (error)
    fail("{}: {}", file, llvm::toString(std::move(error)));
}

void addNames(llvm::objcopy::NameMatcher &matcher, llvm::ArrayRef<std::string> names) {
  const auto asIs = [](llvm::Error error) { return error; };
  for (const std::string &name : names)
    llvm::cantFail(matcher.addMatcher(
        llvm::objcopy::NameOrPattern::create(name, llvm::objcopy::MatchStyle::Literal, asIs)));
}

llvm::SmallVector<char, 0> copied(llvm::StringRef object, llvm::objcopy::ConfigManager &config,
                                  const std::string &file) {
  const auto binary = take(llvm::object::createBinary(llvm::MemoryBufferRef(object, file)), file);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  check(llvm::objcopy::executeObjcopyOnBinary(config, *binary, stream), file);
  return bytes;
}

} // namespace

std::unique_ptr<llvm::MemoryBuffer> archiveOf(llvm::ArrayRef<llvm::NewArchiveMember> members,
                                              llvm::SymtabWritingMode names) {
  return take(llvm::writeArchiveToBuffer(members, names, llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                         /*Thin=*/false),
              "an archive of objects");
}

void writeStaticLibrary(const std::string &object, const std::string &archive,
                        llvm::ArrayRef<std::string> own, llvm::ArrayRef<std::string> common) {
  auto whole = llvm::MemoryBuffer::getFile(object);
  if (!whole)
    fail("{}: cannot be read: {}", object, whole.getError().message());
  llvm::objcopy::ConfigManager hiding, weakening;
  addNames(hiding.Common.SymbolsToKeepGlobal, own);
  addNames(hiding.Common.SymbolsToKeepGlobal, common);
  const auto hidden = copied((*whole)->getBuffer(), hiding, object);
  addNames(weakening.Common.SymbolsToWeaken, common);
  weakening.Common.StripUnneeded = true;
  auto member = std::make_unique<llvm::SmallVectorMemoryBuffer>(
      copied(llvm::StringRef(hidden.data(), hidden.size()), weakening, object), "model.o",
      /*RequiresNullTerminator=*/false);
  llvm::NewArchiveMember only;
  only.Buf = std::move(member);
  only.MemberName = "model.o";
  writeText(archive, archiveOf(only, llvm::SymtabWritingMode::NormalSymtab)->getBuffer().str());
}

} // namespace kedge::link
