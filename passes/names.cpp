#include "passes/names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include <cstdlib>

using namespace llvm;

namespace adprof {

std::string SourceName::joined() const {
  std::string result = module;
  auto append = [&result](StringRef part) {
    if (!result.empty())
      result += '.';
    result += part;
  };
  for (const std::string &host : hosts)
    append(host);
  append(base);
  return result;
}

/// `_Q` then parts of one upper-case letter (M module, S submodule, F host, B block, C common, P procedure, E variable) and a
/// lower-case name. Blocks carry numbers. Anything else is not a procedure's name.
static bool parse_flang(StringRef ir_name, SourceName &name) {
  if (!ir_name.consume_front("_Q"))
    return false;
  while (!ir_name.empty()) {
    char kind = ir_name.front();
    size_t end = 1;
    while (end < ir_name.size() && (isLower(ir_name[end]) || isDigit(ir_name[end]) || ir_name[end] == '_'))
      ++end;
    StringRef part = ir_name.slice(1, end);
    ir_name = ir_name.drop_front(end);
    if (kind == 'M')
      name.module = part.str();
    else if (kind == 'F')
      name.hosts.push_back(part.str());
    else if (kind == 'P')
      name.base = part.str();
    else if (kind != 'S' && kind != 'B')
      return false;
  }
  name.is_fortran = true;
  return !name.base.empty();
}

static bool parse_itanium(StringRef ir_name, SourceName &name) {
  if (!ir_name.starts_with("_Z"))
    return false;
  ItaniumPartialDemangler demangler;
  std::string mangled = ir_name.str(); // what the demangler parsed refers to it
  if (demangler.partialDemangle(mangled.c_str()) || !demangler.isFunction())
    return false;
  auto take = [](char *text) {
    std::string result = text ? text : "";
    std::free(text);
    return result;
  };
  name.base = take(demangler.getFunctionBaseName(nullptr, nullptr));
  std::string context = take(demangler.getFunctionDeclContextName(nullptr, nullptr));
  if (!context.empty())
    name.hosts.push_back(std::move(context));
  return !name.base.empty();
}

SourceName parse_ir_name(StringRef ir_name) {
  SourceName name;
  ir_name.consume_front("\01");
  if (parse_flang(ir_name, name) || parse_itanium(ir_name, name))
    return name;
  name = SourceName();
  if (ir_name.size() > 1 && ir_name.ends_with("_") && !ir_name.ends_with("__")) {
    ir_name = ir_name.drop_back();
    name.is_fortran = true;
  }
  name.base = ir_name.str();
  return name;
}

uint64_t fnv1a(StringRef bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

} // namespace adprof
