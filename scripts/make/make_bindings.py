#!/usr/bin/env python3
"""Declares the functions of include/kedge/session.h for Rust, Java (JNA) and C#: make_bindings.py HEADER FOLDER.

Writes FOLDER/kedge_session.rs, FOLDER/KedgeSession.java and FOLDER/KedgeSession.cs. Swift imports the header itself, by
FOLDER/module.modulemap. What a function does is told in the header alone.
"""
import pathlib
import re
import sys

NOTE = "Declarations of kedge/session.h, made by scripts/make/make_bindings.py; what each does is told there."


class Header:
    """Enums, structs, callbacks and functions, in their order in the file."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.S | re.M)
        self.enums = {name: [tuple(part.split(" = ")) for part in map(str.strip, body.split(",")) if part]
                      for name, body in re.findall(r"typedef enum (\w+) \{(.*?)\}", text, re.S)}
        self.structs = {name: [variable(field) for field in body.split(";") if field.strip()]
                        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\}", text, re.S)}
        self.opaque = re.findall(r"typedef struct (\w+) \1;", text)
        self.callbacks = {name: [variable(part) for part in arguments.split(",")]
                          for name, arguments in re.findall(r"typedef void \(\*(\w+)\)\((.*?)\);", text, re.S)}
        self.functions = [(name, (result, pointer), [variable(part) for part in arguments.split(",")])
                          for result, pointer, name, arguments in
                          re.findall(r"^((?:const )?\w+) (\**)(kedge_\w+)\((.*?)\);", text, re.S | re.M)]


def variable(text):
    """("const char", "*", "name") of "const char *name"."""
    kind, pointer, name = re.fullmatch(r"\s*((?:const )?\w+) (\**)(\w+)\s*", text, re.S).groups()
    return kind, pointer, name


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


class Rust:
    PLAIN = {"int": "c_int", "int64_t": "i64", "size_t": "usize", "double": "f64", "float": "f32", "char": "c_char", "void": "c_void"}

    def __init__(self, header):
        self.header = header

    def type_of(self, kind, pointer):
        name = kind.removeprefix("const ")
        text = self.PLAIN.get(name) or ("c_int" if name in self.header.enums else camel(name))
        for level in range(len(pointer)):
            text = ("*const " if level == 0 and kind.startswith("const ") else "*mut ") + text
        return text

    def arguments(self, parts):
        names = {"type": "r#type", "self": "object"}  # words of the language
        return ", ".join(f"{names.get(name, name)}: {self.type_of(kind, pointer)}" for kind, pointer, name in parts)

    def text(self):
        out = [f"// {NOTE}", "#![allow(dead_code)]", "use std::os::raw::{c_char, c_int, c_void};", ""]
        for values in self.header.enums.values():
            out += [f"pub const {name}: c_int = {value};" for name, value in values]
        for name in self.header.opaque:
            out += ["", "#[repr(C)]", f"pub struct {camel(name)} {{", "    _private: [u8; 0],", "}"]
        for name, fields in self.header.structs.items():
            out += ["", "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {camel(name)} {{",
                    *(f"    pub {self.arguments([field])}," for field in fields), "}"]
        out += ["", *(f'pub type {camel(name)} = unsafe extern "C" fn({self.arguments(parts)});' for name, parts in self.header.callbacks.items())]
        out += ["", 'extern "C" {']
        for name, result, parts in self.header.functions:
            gives = "" if result == ("void", "") else f" -> {self.type_of(*result)}"
            out.append(f"    pub fn {name}({self.arguments(parts)}){gives};")
        return "\n".join(out + ["}", ""])


class Java:
    """An interface for JNA, the library that calls C without a compiler of its own."""
    PLAIN = {"int": "int", "int64_t": "long", "size_t": "Size", "double": "double", "float": "float", "void": "void"}

    def __init__(self, header):
        self.header = header

    def type_of(self, kind, pointer):
        name = kind.removeprefix("const ")
        if pointer == "**":
            return "PointerByReference"
        if pointer:
            if name == "char":
                return "String"
            return {"int64_t": "LongByReference", "double": "DoubleByReference", "float": "float[]"}.get(
                name, camel(name) if name in self.header.structs else "Pointer")
        return self.PLAIN.get(name) or ("int" if name in self.header.enums else camel(name))

    def arguments(self, parts):
        # A list of options is an array of the struct.
        return ", ".join(f"{self.type_of(kind, pointer)}{'[]' if kind == 'const kedge_option' else ''} {name}" for kind, pointer, name in parts)

    def field(self, kind, pointer, name):
        return f"        public {'Pointer' if kind == 'const int64_t' else self.type_of(kind, pointer)} {name};"

    def text(self):
        out = [f"// {NOTE}", *(f"import com.sun.jna.{name};" for name in
               ("Callback", "IntegerType", "Library", "Native", "Pointer", "Structure", "ptr.DoubleByReference", "ptr.LongByReference",
                "ptr.PointerByReference")), "", "public interface KedgeSession extends Library {",
               "    class Size extends IntegerType {", "        public Size() { this(0); }",
               "        public Size(long value) { super(Native.SIZE_T_SIZE, value, true); }", "    }"]
        for values in self.header.enums.values():
            out += [f"    int {name} = {value};" for name, value in values]
        for name, fields in self.header.structs.items():
            names = ", ".join(f'"{field}"' for _, _, field in fields)
            out += ["", f"    @Structure.FieldOrder({{{names}}})", f"    class {camel(name)} extends Structure {{",
                    *(self.field(*field) for field in fields), "    }"]
        for name, parts in self.header.callbacks.items():
            out += ["", f"    interface {camel(name)} extends Callback {{", f"        void invoke({self.arguments(parts)});", "    }"]
        out.append("")
        for name, result, parts in self.header.functions:
            out.append(f"    {self.type_of(*result)} {name}({self.arguments(parts)});")
        return "\n".join(out + ["}", ""])


class CSharp:
    PLAIN = {"int": "int", "int64_t": "long", "size_t": "nuint", "double": "double", "float": "float", "void": "void"}

    def __init__(self, header):
        self.header = header

    def type_of(self, kind, pointer):
        name = kind.removeprefix("const ")
        if pointer == "**":
            return "out IntPtr"
        if pointer:
            if name == "char":
                return "string"
            if name in ("int64_t", "double"):
                return "out " + self.PLAIN[name]
            if name == "float":
                return "float[]"
            if name == "kedge_option":
                return "KedgeOption[]"
            return f"out {camel(name)}" if name in self.header.structs else "IntPtr"
        return self.PLAIN.get(name) or camel(name)

    def arguments(self, parts):
        return ", ".join(f"{self.type_of(kind, pointer)} {name}" for kind, pointer, name in parts)

    def text(self):
        out = [f"// {NOTE}", "using System;", "using System.Runtime.InteropServices;", "", "public static class KedgeSession",
               "{", '    private const string Library = "NAME"; // of kedge compile --emit lib -o NAME']
        for name, values in self.header.enums.items():
            out += ["", f"    public enum {camel(name)} {{ {', '.join(' = '.join(value) for value in values)} }}"]
        for name, fields in self.header.structs.items():
            out += ["", "    [StructLayout(LayoutKind.Sequential)]", f"    public struct {camel(name)}", "    {"]
            for kind, pointer, field in fields:
                is_text = kind == "const char" and name == "kedge_option"
                kind = "string" if is_text else "IntPtr" if pointer else self.type_of(kind, pointer)
                out += ["        [MarshalAs(UnmanagedType.LPUTF8Str)]"] if is_text else []
                out.append(f"        public {kind} {field};")
            out.append("    }")
        for name, parts in self.header.callbacks.items():
            out += ["", "    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]",
                    f"    public delegate void {camel(name)}({self.arguments(parts)});"]
        for name, (kind, pointer), parts in self.header.functions:
            result = "IntPtr" if pointer else self.type_of(kind, pointer)
            arguments = self.arguments(parts).replace("string ", "[MarshalAs(UnmanagedType.LPUTF8Str)] string ")
            out += ["", "    [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]", f"    public static extern {result} {name}({arguments});"]
        return "\n".join(out + ["}", ""])


def main():
    header, folder = map(pathlib.Path, sys.argv[1:3])
    declared = Header(header.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kedge_session.rs").write_text(Rust(declared).text())
    (folder / "KedgeSession.java").write_text(Java(declared).text())
    (folder / "KedgeSession.cs").write_text(CSharp(declared).text())
    (folder / "module.modulemap").write_text(f'// {NOTE}\nmodule KedgeSession {{\n  header "kedge/session.h"\n  export *\n}}\n')


main()
