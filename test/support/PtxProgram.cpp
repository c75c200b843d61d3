#include "test/support/PtxProgram.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <charconv>

namespace kedge::test {
namespace {

using Kind = PtxInstruction::Kind;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

/// At commas (or another sign) outside of brackets.
std::vector<std::string_view> split(std::string_view text, char sign = ',') {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && (text[at] == '{' || text[at] == '['))
      ++depth;
    if (at < text.size() && (text[at] == '}' || text[at] == ']'))
      --depth;
    if (at == text.size() || (text[at] == sign && depth == 0)) {
      if (std::string_view part = trimmed(text.substr(begin, at - begin)); !part.empty())
        parts.push_back(part);
      begin = at + 1;
    }
  }
  return parts;
}

uint64_t number(std::string_view text) {
  const bool isNegative = text.starts_with('-');
  text.remove_prefix(isNegative);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && std::string_view("fdxFDX").find(text[1]) != text.npos) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return isNegative ? 0 - value : value;
}

/// Of a type such as b32 or f16x2.
int bytesOfType(std::string_view type) {
  const size_t pair = type.find('x');
  return static_cast<int>(number(type.substr(1, pair - 1))) / 8 * (pair == type.npos ? 1 : 2);
}

std::string withoutComments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    const size_t comment = line.find("//");
    result += line.substr(0, comment);
    result += '\n';
  }
  return result;
}

class KernelReader {
public:
  KernelReader(PtxKernel &kernel, const std::map<std::string, std::vector<uint64_t>> &tables)
      : kernel(kernel), tables(tables) {
    kernel.registers.push_back(0);
  }

  void parameter(std::string_view name) {
    symbols[std::string(name)] = fresh(0);
    kernel.parameters.push_back(symbols[std::string(name)]);
  }

  void statement(std::string_view text) {
    text = trimmed(text);
    // Labels, in front of what they name.
    while (text.starts_with('$')) {
      const size_t colon = text.find(':');
      std::string label(text.substr(0, colon));
      text = trimmed(text.substr(colon + 1));
      if (text.starts_with(".branchtargets")) {
        for (std::string_view target : split(text.substr(14)))
          targets[label].emplace_back(target);
        return;
      }
      labels[label] = static_cast<int32_t>(kernel.code.size());
    }
    if (text.starts_with(".shared"))
      return shared(text);
    if (!text.empty() && text[0] != '.')
      instruction(text);
  }

  void finish() {
    for (auto &[at, label] : jumps) {
      std::vector<std::string> names = targets.contains(label) ? targets[label] : std::vector{label};
      for (const std::string &name : names) {
        const auto found = labels.find(name);
        if (found == labels.end())
          fail("PTX kernel {}: there is no label {}", kernel.name, name);
        kernel.code[at].targets.push_back(found->second);
      }
    }
  }

private:
  int32_t fresh(uint64_t value) {
    kernel.registers.push_back(value);
    return static_cast<int32_t>(kernel.registers.size() - 1);
  }

  int32_t constant(uint64_t value) {
    const auto [place, isNew] = constants.try_emplace(value, 0);
    if (isNew)
      place->second = fresh(value);
    return place->second;
  }

  void shared(std::string_view text) {
    const size_t open = text.find('['), space = text.rfind(' ', open);
    const int64_t align = static_cast<int64_t>(number(trimmed(text.substr(text.find(".align") + 6, 4))));
    kernel.sharedBytes = (kernel.sharedBytes + align - 1) / align * align;
    symbols[std::string(text.substr(space + 1, open - space - 1))] = fresh(kPtxShared + kernel.sharedBytes);
    kernel.sharedBytes += static_cast<int64_t>(number(text.substr(open + 1, text.find(']') - open - 1)));
  }

  int32_t reg(std::string_view text) {
    if (text == "_")
      return 0;
    if (text[0] == '%') {
      const auto [place, isNew] = kernel.byName.try_emplace(std::string(text), 0);
      if (isNew)
        place->second = fresh(0);
      return place->second;
    }
    if (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'))
      return constant(number(text));
    if (const auto symbol = symbols.find(std::string(text)); symbol != symbols.end())
      return symbol->second;
    const auto table = tables.find(std::string(text));
    if (table == tables.end())
      fail("PTX kernel {}: there is no symbol {}", kernel.name, text);
    return constant(reinterpret_cast<uint64_t>(table->second.data()));
  }

  /// A register or several; of an address, its base.
  void add(std::vector<int32_t> &list, std::string_view text, PtxInstruction &to) {
    if (text[0] == '{') {
      for (std::string_view part : split(text.substr(1, text.size() - 2)))
        list.push_back(reg(part));
      return;
    }
    if (text[0] != '[') {
      const size_t plus = text[0] == '-' ? text.npos : text.find('+');
      if (plus == text.npos)
        return list.push_back(reg(text));
      return list.push_back(
          fresh(kernel.registers[reg(text.substr(0, plus))] + number(text.substr(plus + 1))));
    }
    text = text.substr(1, text.size() - 2);
    const size_t plus = text.find('+');
    list.push_back(reg(trimmed(text.substr(0, plus))));
    if (plus != text.npos)
      to.offsets[addresses] = static_cast<int64_t>(number(text.substr(plus + 1)));
    ++addresses;
  }

  void instruction(std::string_view text) {
    PtxInstruction made;
    made.text = text;
    std::replace(made.text.begin(), made.text.end(), '\t', ' ');
    if (text[0] == '@') {
      const size_t end = text.find_first_of(" \t");
      made.whenFalse = text[1] == '!';
      made.predicate = reg(text.substr(1 + made.whenFalse, end - 1 - made.whenFalse));
      text = trimmed(text.substr(end));
    }
    const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    const std::string mnemonic(text.substr(0, end));
    const auto words = split(mnemonic, '.');
    const auto parts = split(text.substr(end));
    addresses = 0;
    if (!hopper(made, words, parts) && !control(made, words, parts) && !memory(made, words, parts) &&
        !together(made, words, parts))
      compute(made, mnemonic, parts);
    kernel.code.push_back(std::move(made));
  }

  static bool has(const std::vector<std::string_view> &words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  using Words = std::vector<std::string_view>;

  void addAll(std::vector<int32_t> &list, const Words &parts, PtxInstruction &to) {
    for (std::string_view part : parts)
      add(list, part, to);
  }

  /// Barriers on which copies arrive, fences, the copy engine, warpgroups.
  bool hopper(PtxInstruction &made, const Words &words, const Words &parts) {
    const std::string_view head = words[0], what = words.size() > 1 ? words[1] : "";
    if (head == "mbarrier") {
      const bool waits = what == "try_wait" && has(words, "parity");
      if (!waits && what != "init" && what != "arrive")
        return false;
      kernel.hasArrivals = true;
      made.kind = waits ? Kind::TryWait : what == "init" ? Kind::MakeBarrier : Kind::Arrive;
      if (what != "init")
        add(made.results, parts[0], made);
      addAll(made.operands, Words(parts.begin() + (what != "init"), parts.end()), made);
    } else if (head == "cp" && words.size() > 3 && words[2] == "bulk" && words[3] == "tensor" &&
               has(words, "shared::cluster")) {
      made.kind = Kind::Bring;
      add(made.operands, parts[0], made);
      addAll(made.operands, split(parts[1].substr(1, parts[1].size() - 2)), made);
      add(made.operands, parts[2], made);
    } else if (head == "fence" && what == "proxy") {
      made.kind = words[2] == "async" ? Kind::FenceProxy : Kind::FenceMap;
      addAll(made.operands, parts, made);
    } else if (head == "fence" && what == "mbarrier_init") {
      made.kind = Kind::Nothing;
    } else if (head == "setmaxnreg") {
      made.kind = Kind::KeepRegisters;
      made.operands.push_back(reg(parts[0]));
    } else if (head == "bar" && what == "warp") {
      made.kind = Kind::SyncWarp;
    } else if (head == "griddepcontrol") {
      made.kind = Kind::Nothing; // launches run one after the other here
      expectInFront(what);
    } else {
      return head == "wgmma" && product(made, words, parts);
    }
    return true;
  }

  /// A kernel that is started before the end of the one in front of it touches no memory until it has waited;
  /// the next one may come when it has.
  void expectInFront(std::string_view what) {
    const auto touches = [](const PtxInstruction &earlier) {
      return earlier.kind != Kind::Compute && earlier.kind != Kind::Pack && earlier.kind != Kind::Unpack &&
             earlier.kind != Kind::Nothing;
    };
    if (std::any_of(kernel.code.begin(), kernel.code.end(), touches))
      fail("PTX kernel {}: it does something before griddepcontrol.{}", kernel.name, what);
    if (what != "wait" && !kernel.waits)
      fail("PTX kernel {}: it lets the next kernel start before it waits for the one in front", kernel.name);
    kernel.waits = true;
  }

  bool product(PtxInstruction &made, const Words &words, const Words &parts) {
    made.kind = words[1] == "fence"          ? Kind::FenceProducts
                : words[1] == "commit_group" ? Kind::CommitProducts
                : words[1] == "wait_group"   ? Kind::WaitForProducts
                                             : Kind::Product;
    if (made.kind == Kind::WaitForProducts)
      made.operands.push_back(reg(parts[0]));
    if (made.kind != Kind::Product)
      return true;
    if (words[1] != "mma_async" || !words[4].ends_with("k16") || words[5] != "f32" || parts[1][0] != '{')
      return false;
    made.isBrain = words[6] == "bf16";
    made.isTransposed = parts.back() == "1";
    add(made.results, parts[0], made);
    addAll(made.operands, Words(parts.begin() + 1, parts.begin() + 4), made);
    return true;
  }

  bool control(PtxInstruction &made, const Words &words, const Words &parts) {
    const std::string_view head = words[0];
    if (head == "bra" || head == "brx") {
      made.kind = head == "bra" ? Kind::Jump : Kind::JumpByTable;
      if (head == "brx")
        made.operands.push_back(reg(parts[0]));
      jumps.emplace_back(kernel.code.size(), std::string(parts.back()));
    } else if (head == "ret" || head == "exit") {
      made.kind = Kind::Return;
    } else if (head == "trap") {
      made.kind = Kind::Trap;
    } else if ((head == "bar" || head == "barrier") && words.size() > 1 && words[1] == "sync" &&
               parts.size() == 1) {
      made.kind = Kind::Barrier;
    } else {
      return false;
    }
    return true;
  }

  bool memory(PtxInstruction &made, const Words &words, const Words &parts) {
    if (words[0] == "cp" && words.size() > 2 && words[1] == "async")
      return copy(made, words, parts);
    const bool loads = words[0] == "ld";
    if (!loads && words[0] != "st")
      return false;
    if (loads && has(words, "param")) {
      made.compute = ptxFunction("mov.b64");
    } else {
      if (!has(words, "global") && !has(words, "shared"))
        return false;
      made.kind = loads ? Kind::Load : Kind::Store;
      made.isShared = has(words, "shared");
      made.isSigned = words.back()[0] == 's';
      made.bytes = bytesOfType(words.back());
    }
    add(loads ? made.results : made.operands, parts[0], made);
    add(made.operands, parts[1], made);
    return true;
  }

  bool copy(PtxInstruction &made, const Words &words, const Words &parts) {
    if (words[2] == "commit_group") {
      made.kind = Kind::Commit;
    } else if (words[2] == "wait_group" || words[2] == "wait_all") {
      made.kind = Kind::Wait;
      made.operands.push_back(words[2] == "wait_all" ? constant(0) : reg(parts[0]));
    } else {
      made.kind = Kind::Copy;
      for (std::string_view part : parts)
        add(made.operands, part, made);
    }
    return true;
  }

  /// What the threads of a warp do together.
  bool together(PtxInstruction &made, const Words &words, const Words &parts) {
    if (words[0] == "shfl" && words[1] == "sync") {
      made.kind = Kind::Shuffle;
      made.shuffle = words[2][0];
    } else if (words[0] == "mma" && has(words, "m16n8k16") && has(words, "row") && has(words, "col")) {
      made.kind = Kind::Multiply;
      made.isBrain = has(words, "bf16");
    } else if (words[0] == "ldmatrix") {
      made.kind = Kind::LoadMatrix;
      made.isTransposed = has(words, "trans");
    } else {
      return false;
    }
    add(made.results, parts[0], made);
    for (std::string_view part : Words(parts.begin() + 1, parts.end()))
      add(made.operands, part, made);
    return true;
  }

  void compute(PtxInstruction &made, const std::string &mnemonic, const Words &parts) {
    const bool packs = mnemonic.starts_with("mov.") && parts[1][0] == '{';
    const bool unpacks = mnemonic.starts_with("mov.") && parts[0][0] == '{';
    made.compute = ptxFunction(mnemonic);
    if (!made.compute || parts[0].find('|') != parts[0].npos)
      fail("PTX kernel {}: the interpreter does not know '{}'", kernel.name, made.text);
    made.kind = packs ? Kind::Pack : unpacks ? Kind::Unpack : Kind::Compute;
    add(made.results, parts[0], made);
    for (std::string_view part : Words(parts.begin() + 1, parts.end()))
      add(made.operands, part, made);
    if (packs || unpacks)
      made.bytes = bytesOfType(mnemonic.substr(4)) /
                   static_cast<int>(std::max(made.results.size(), made.operands.size()));
  }

  PtxKernel &kernel;
  const std::map<std::string, std::vector<uint64_t>> &tables;
  std::map<std::string, int32_t> symbols, labels;
  std::map<std::string, std::vector<std::string>> targets;
  std::map<uint64_t, int32_t> constants;
  std::vector<std::pair<size_t, std::string>> jumps;
  size_t addresses = 0; ///< of the instruction that is read
};

} // namespace

PtxProgram::PtxProgram(std::string_view ptx) {
  const std::string text = withoutComments(ptx);
  const std::string_view whole = text;
  for (size_t at = whole.find("\n.global"); at != whole.npos; at = whole.find("\n.global", at + 1))
    readTable(whole.substr(at + 1, whole.find(';', at) - at - 1));
  for (size_t at = whole.find(".entry "); at != whole.npos; at = whole.find(".entry ", at)) {
    const size_t open = whole.find("\n{", at), close = whole.find("\n}", open);
    readKernel(whole.substr(at + 7, open - at - 7), whole.substr(open + 2, close - open - 2));
    at = close;
  }
}

PtxKernel &PtxProgram::kernel(const std::string &name) {
  const auto found = kernels.find(name);
  if (found == kernels.end())
    fail("PTX: there is no kernel {}", name);
  return found->second;
}

bool PtxProgram::isInTable(uint64_t address, int64_t bytes) const {
  return std::any_of(tables.begin(), tables.end(), [&](const auto &entry) {
    const auto begin = reinterpret_cast<uint64_t>(entry.second.data());
    return address >= begin && address + bytes <= begin + entry.second.size() * sizeof(uint64_t);
  });
}

/// .global .align 4 .b32 name[3] = {1, 2, 3}
void PtxProgram::readTable(std::string_view line) {
  const size_t open = line.find('['), space = line.rfind(' ', open), list = line.find('{');
  const std::string_view type = line.substr(line.rfind('.', space) + 1);
  const size_t bytes = bytesOfType(type.substr(0, type.find(' ')));
  const size_t count = number(line.substr(open + 1, line.find(']') - open - 1));
  auto &table = tables[std::string(line.substr(space + 1, open - space - 1))];
  table.resize((count * bytes + 7) / 8);
  if (list == line.npos)
    return;
  auto *at = reinterpret_cast<char *>(table.data());
  for (std::string_view part : split(line.substr(list + 1, line.find('}') - list - 1))) {
    const uint64_t value = number(part);
    std::memcpy(at, &value, bytes);
    at += bytes;
  }
}

void PtxProgram::readKernel(std::string_view head, std::string_view body) {
  const size_t open = head.find('('), close = head.find(')');
  const std::string name(trimmed(head.substr(0, open)));
  PtxKernel &kernel = kernels[name];
  kernel.name = name;
  KernelReader reader(kernel, tables);
  for (std::string_view parameter : split(head.substr(open + 1, close - open - 1)))
    reader.parameter(parameter.substr(parameter.find_last_of(" \t") + 1));
  if (const size_t at = head.find(".maxntid"); at != head.npos) {
    const std::string_view line = head.substr(at + 8, head.find('\n', at) - at - 8);
    kernel.threads = 1;
    for (std::string_view part : split(line))
      kernel.threads *= static_cast<int64_t>(number(part));
  }
  if (const size_t at = head.find(".minnctapersm"); at != head.npos)
    kernel.blocks =
        static_cast<int64_t>(number(trimmed(head.substr(at + 13, head.find('\n', at) - at - 13))));
  for (std::string_view statement : split(body, ';'))
    reader.statement(statement);
  reader.finish();
}

} // namespace kedge::test
