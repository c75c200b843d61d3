// Words of options that no pass takes.
#pragma once
#include "kedge/Support/Words.h"

namespace kedge::driver {

/// The C library of a program.
enum class CLibrary { Shared, Static, Musl };
/// What compile makes: the IR of a level, kernels as text, or a form of the program.
enum class Emit { Onnx, Train, Schedule, Exec, Llvm, Ptx, C, Web, Obj, Exe, Lib, Archive };
constexpr bool isLibrary(Emit emit) { return emit >= Emit::Lib; }
/// C, or what is made of it.
constexpr bool isInC(Emit emit) { return emit == Emit::C || emit == Emit::Web; }
constexpr bool isLevel(Emit emit) { return emit <= Emit::Exec; }
constexpr bool isProgram(Emit emit) { return emit >= Emit::Obj; }
/// Where a whole copy of the state is.
enum class Replicas { Node };

} // namespace kedge::driver

template <> struct kedge::Words<kedge::driver::CLibrary> {
  using enum driver::CLibrary;
  static constexpr Word<driver::CLibrary> list[] = {
      {Shared, "shared", "the system's"}, {Static, "static", "linked in"}, {Musl, "musl", "musl, linked in"}};
};

template <> struct kedge::Words<kedge::driver::Emit> {
  using enum driver::Emit;
  static constexpr Word<driver::Emit> list[] = {
      {Onnx, "onnx", "level 1"},
      {Train, "train", "level 2"},
      {Schedule, "schedule", "level 3"},
      {Exec, "exec", "level 4"},
      {Llvm, "llvm", "kernels, in LLVM's dialect"},
      {Ptx, "ptx", "kernels of a GPU"},
      {C, "c", "one file in C11 and its header, for machines without an operating system"},
      {Web, "web", "a WebAssembly module with JavaScript and a page, for browsers and node"},
      {Obj, "obj", "an object file"},
      {Exe, "exe", "a program"},
      {Lib, "lib", "a library that learns within another program"},
      {Archive, "archive", "the same as an archive"}};
};

template <> struct kedge::Words<kedge::driver::Replicas> {
  static constexpr Word<driver::Replicas> list[] = {{driver::Replicas::Node, "node", "on each machine"}};
};
