#include "passes/dialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>

using namespace llvm;

namespace adprof {

// --- sizes ------------------------------------------------------------------------------------------------------------

namespace {

template <typename... Parts> Error make_error(const Parts &...parts) {
  std::string text;
  ((text += parts), ...);
  return createStringError(inconvertibleErrorCode(), "%s", text.c_str());
}

/// sum := product (('+'|'-') product)*; product := atom (('*'|'/') atom)*; atom := number | '$' number | 'descriptor' '(' '$' number ')' | '(' sum ')'
class SizeParser {
public:
  using Op = SizeExpression::Op;
  SizeParser(StringRef text, std::vector<SizeExpression::Step> &steps) : rest_(text), steps_(steps) {}

  bool parse() {
    return sum(0) && (skip(), rest_.empty());
  }
  StringRef rest() const { return rest_; }

private:
  static constexpr unsigned kMaxDepth = 32;

  void skip() { rest_ = rest_.ltrim(); }
  bool accept(char c) {
    skip();
    return rest_.consume_front(StringRef(&c, 1));
  }
  bool number(int64_t &value) {
    skip();
    return !rest_.empty() && isDigit(rest_.front()) && !rest_.consumeInteger(10, value);
  }
  bool argument(Op op) {
    int64_t value = 0;
    if (!accept('$') || !number(value) || value < 1 || value > 64)
      return false;
    steps_.push_back({op, value});
    return true;
  }
  bool atom(unsigned depth) {
    skip();
    int64_t value = 0;
    if (rest_.consume_front("descriptor"))
      return accept('(') && argument(Op::Descriptor) && accept(')');
    if (rest_.starts_with("$"))
      return argument(Op::Argument);
    if (accept('('))
      return sum(depth + 1) && accept(')');
    if (!number(value) || value > (int64_t(1) << 40))
      return false;
    steps_.push_back({Op::Constant, value});
    return true;
  }
  bool product(unsigned depth) {
    if (!atom(depth))
      return false;
    for (;;) {
      Op op = accept('*') ? Op::Multiply : accept('/') ? Op::Divide : Op::Constant;
      if (op == Op::Constant)
        return true;
      if (!atom(depth))
        return false;
      steps_.push_back({op, 0});
    }
  }
  bool sum(unsigned depth) {
    if (depth > kMaxDepth || !product(depth))
      return false;
    for (;;) {
      Op op = accept('+') ? Op::Add : accept('-') ? Op::Subtract : Op::Constant;
      if (op == Op::Constant)
        return true;
      if (!product(depth))
        return false;
      steps_.push_back({op, 0});
    }
  }

  StringRef rest_;
  std::vector<SizeExpression::Step> &steps_;
};

} // namespace

Expected<SizeExpression> SizeExpression::parse(StringRef text) {
  SizeExpression result;
  StringRef body = text.trim();
  bool in_bits = body.consume_front("bits:");
  SizeParser parser(body, result.steps_);
  if (!parser.parse())
    return make_error("size \"", text.str(), "\": cannot read it from \"", parser.rest().str(),
                      "\" on; accepted are numbers, $1..$64 (arguments), descriptor($N), + - * / and parentheses, in bytes, or in "
                      "bits behind \"bits:\"");
  if (!in_bits) {
    result.steps_.push_back({Op::Constant, 8});
    result.steps_.push_back({Op::Multiply, 0});
  }
  return result;
}

unsigned SizeExpression::argument_count() const {
  unsigned count = 0;
  for (const Step &step : steps_)
    if (step.op == Op::Argument || step.op == Op::Descriptor)
      count = std::max(count, unsigned(step.value));
  return count;
}

std::optional<int64_t> SizeExpression::constant_bits() const {
  if (argument_count())
    return std::nullopt;
  return evaluate([](const Step &) { return std::optional<int64_t>(); });
}

std::optional<int64_t>
SizeExpression::evaluate(const std::function<std::optional<int64_t>(const Step &)> &leaf) const {
  std::vector<int64_t> stack;
  for (const Step &step : steps_) {
    if (step.op == Op::Constant) {
      stack.push_back(step.value);
      continue;
    }
    if (step.op == Op::Argument || step.op == Op::Descriptor) {
      std::optional<int64_t> value = leaf(step);
      if (!value)
        return std::nullopt;
      stack.push_back(*value);
      continue;
    }
    uint64_t right = uint64_t(stack.back());
    stack.pop_back();
    uint64_t left = uint64_t(stack.back());
    if (step.op == Op::Divide && right == 0)
      return std::nullopt;
    stack.back() = int64_t(step.op == Op::Add        ? left + right
                           : step.op == Op::Subtract ? left - right
                           : step.op == Op::Multiply ? left * right
                                                     : uint64_t(int64_t(left) / int64_t(right)));
  }
  return stack.back();
}

// --- names ------------------------------------------------------------------------------------------------------------

void Dialect::add_pattern(StringRef text, NameRole role) {
  auto [prefix, suffix] = text.split('*');
  patterns_.push_back({prefix.str(), suffix.str(), role});
}

void Dialect::add_operation(StringRef name, StackRole role, StringRef bits) {
  operations_[name.lower()] = {role, cantFail(SizeExpression::parse(bits))};
}

Dialect Dialect::builtin() {
  Dialect dialect;
  for (StringRef pattern : {"*_b", "*_bv", "*_adm"})
    dialect.add_pattern(pattern, NameRole::Adjoint);
  dialect.add_pattern("*_fwd", NameRole::Forward);
  dialect.add_pattern("*_bwd", NameRole::Backward);
  dialect.add_pattern("*_nodiff", NameRole::Copy);
  dialect.add_pattern("*_cb", NameRole::Copy);
  for (StringRef suffix : {"_diff", "_b", "_adm"})
    dialect.module_patterns_.push_back({"", suffix.str(), NameRole::Copy});

  // Booleans and controls are bits on the stack; an array of booleans is one of Fortran LOGICALs.
  struct {
    const char *type;
    int bytes;
  } const types[] = {{"integer4", 4}, {"integer8", 8},  {"real4", 4},     {"real8", 8},    {"real16", 16},  {"complex8", 8},
                     {"complex16", 16}, {"complex32", 32}, {"character", 1}, {"pointer4", 4}, {"pointer8", 8}};
  for (StringRef direction : {"push", "pop"}) {
    StackRole role = direction == "push" ? StackRole::Push : StackRole::Pop;
    for (const auto &type : types) {
      std::string name = (direction + type.type).str(), bytes = std::to_string(type.bytes);
      dialect.add_operation(name, role, bytes);
      dialect.add_operation(name + "array", role, "$2*" + bytes);
    }
    dialect.add_operation((direction + "boolean").str(), role, "bits:1");
    dialect.add_operation((direction + "bit").str(), role, "bits:1");
    dialect.add_operation((direction + "booleanarray").str(), role, "$2*4");
    dialect.add_operation((direction + "narray").str(), role, "$2");
    for (int width = 1; width <= 8; ++width)
      dialect.add_operation((direction + "control").str() + std::to_string(width) + "b", role,
                            "bits:" + std::to_string(width));
  }
  dialect.add_operation("adstack_startrepeat", StackRole::RepeatStart);
  dialect.add_operation("adstack_resetrepeat", StackRole::RepeatReset);
  dialect.add_operation("adstack_endrepeat", StackRole::RepeatEnd);
  dialect.add_operation("adbinomial_init", StackRole::BinomialInit);
  dialect.add_operation("adbinomial_next", StackRole::BinomialNext);
  for (StringRef name : {"adbinomial_resize", "adbinomial_setstep", "adstack_getcurrentstacksize", "adstack_showpeaksize",
                         "adstack_showtotaltraffic", "adstack_getpeaksize", "adstack_getprocesspeaksize",
                         "adstack_gettotaltraffic", "adstack_getprocesstotaltraffic", "adbinomial_action", "adstack_showstacksize", "adstack_showstack"})
    dialect.add_operation(name, StackRole::Ignore);
  return dialect;
}

/// Case is the source language's: Fortran has none. Old adjoints in C write everything in upper case, which only concerns
/// the AD stack's own names, looked up elsewhere.
NameRole Dialect::strip(std::string &name, bool ignore_case) const {
  const Pattern *best = nullptr;
  for (const Pattern &pattern : patterns_) {
    StringRef text = name;
    size_t length = pattern.prefix.size() + pattern.suffix.size();
    if (text.size() <= length)
      continue;
    bool fits = ignore_case ? text.starts_with_insensitive(pattern.prefix) && text.ends_with_insensitive(pattern.suffix)
                            : text.starts_with(pattern.prefix) && text.ends_with(pattern.suffix);
    if (fits && (!best || length > best->prefix.size() + best->suffix.size()))
      best = &pattern;
  }
  if (!best)
    return NameRole::Plain;
  name = name.substr(best->prefix.size(), name.size() - best->prefix.size() - best->suffix.size());
  return best->role;
}

ProcedureName Dialect::classify(StringRef ir_name) const {
  SourceName source = parse_ir_name(ir_name);
  ProcedureName result;
  for (const Pattern &pattern : module_patterns_)
    if (source.module.size() > pattern.suffix.size() && StringRef(source.module).ends_with(pattern.suffix)) {
      source.module.resize(source.module.size() - pattern.suffix.size());
      result.in_generated_module = true;
      break;
    }
  if (source.is_fortran)
    for (std::string &host : source.hosts)
      strip(host, true);
  result.plain = source.joined();
  if (!stack_operation(ir_name))
    result.role = strip(source.base, source.is_fortran);
  result.primal = source.joined();
  return result;
}

const StackOperation *Dialect::stack_operation(StringRef ir_name) const {
  auto found = operations_.find(StringRef(parse_ir_name(ir_name).base).lower());
  return found == operations_.end() ? nullptr : &found->second;
}

bool Dialect::is_wrapper(StringRef ir_name) const {
  SourceName name = parse_ir_name(ir_name);
  return std::any_of(wrappers_.begin(), wrappers_.end(), [&](const std::string &wrapper) {
    return StringRef(wrapper).equals_insensitive(name.base) || StringRef(wrapper).equals_insensitive(name.joined());
  });
}

bool Dialect::looks_like_stack_operation(StringRef ir_name) const {
  std::string base = StringRef(parse_ir_name(ir_name).base).lower();
  StringRef text = base;
  if (stack_operation(ir_name) || is_wrapper(ir_name))
    return false;
  for (StringRef start : {"push", "pop", "psh", "adbinomial_", "adstack_"})
    if (text.starts_with(start))
      return true;
  return false;
}

// --- files ------------------------------------------------------------------------------------------------------------

Expected<Dialect> Dialect::from_file(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return make_error("dialect file '", path.str(), "': ", buffer.getError().message(),
                      "; give the path of a JSON file (docs/dialect.md)");
  Expected<Dialect> dialect = from_json((*buffer)->getBuffer());
  if (!dialect)
    return make_error("dialect file '", path.str(), "': ", toString(dialect.takeError()));
  return dialect;
}

static const char *kind_name(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::Null: return "null";
  case json::Value::Boolean: return "a boolean";
  case json::Value::Number: return "a number";
  case json::Value::String: return "a string";
  case json::Value::Array: return "an array";
  case json::Value::Object: return "an object";
  }
  return "something else";
}

Expected<Dialect> Dialect::from_json(StringRef text) {
  Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return make_error("no valid JSON: ", toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return make_error("the file holds ", kind_name(*parsed), ", accepted is an object; see docs/dialect.md");

  Dialect dialect = builtin();
  if (const json::Value *extends = object->get("extends")) {
    StringRef base = extends->getAsString().value_or("");
    if (base == "none")
      dialect = Dialect();
    else if (base != "tapenade")
      return make_error("member \"extends\": found ", base.empty() ? kind_name(*extends) : "\"" + base.str() + "\"",
                        ", accepted are \"tapenade\" (the default) and \"none\"");
  }
  dialect.name_ = "unnamed";

  auto strings = [](StringRef member, const json::Value &value, std::vector<std::string> &result) -> Error {
    const json::Array *array = value.getAsArray();
    if (!array)
      return make_error("member \"", member.str(), "\": found ", kind_name(value), ", accepted is an array of names");
    for (const json::Value &item : *array) {
      std::optional<StringRef> name = item.getAsString();
      if (!name || name->empty())
        return make_error("member \"", member.str(), "\": found ", name ? "an empty name" : kind_name(item),
                          " in the array, accepted are names");
      result.push_back(name->str());
    }
    return Error::success();
  };

  const std::pair<StringRef, NameRole> pattern_members[] = {{"adjoint", NameRole::Adjoint},
                                                            {"forward", NameRole::Forward},
                                                            {"backward", NameRole::Backward},
                                                            {"copy", NameRole::Copy},
                                                            {"module", NameRole::Plain}};
  const std::pair<StringRef, StackRole> size_members[] = {{"push", StackRole::Push}, {"pop", StackRole::Pop}};
  const std::pair<StringRef, StackRole> name_members[] = {
      {"ignore", StackRole::Ignore},           {"repeat_start", StackRole::RepeatStart},   {"repeat_reset", StackRole::RepeatReset},
      {"repeat_end", StackRole::RepeatEnd},    {"binomial_init", StackRole::BinomialInit}, {"binomial_next", StackRole::BinomialNext}};

  for (const auto &[key, value] : *object) {
    StringRef member = key;
    if (member == "extends" || member == "comment")
      continue;
    if (member == "name") {
      std::optional<StringRef> name = value.getAsString();
      if (!name)
        return make_error("member \"name\": found ", kind_name(value), ", accepted is a string");
      dialect.name_ = name->str();
      continue;
    }
    auto is_member = [&](const auto &entry) { return entry.first == member; };
    std::vector<std::string> names;
    if (member == "wrappers") {
      if (Error error = strings(member, value, dialect.wrappers_))
        return error;
    } else if (auto pattern = find_if(pattern_members, is_member); pattern != std::end(pattern_members)) {
      if (Error error = strings(member, value, names))
        return error;
      for (StringRef name : names) {
        if (name.count('*') != 1 || name.size() < 2)
          return make_error("member \"", member.str(), "\": found \"", name.str(),
                            "\", accepted are patterns with one * for the primal's name, like \"*_b\" or \"a_*0\"");
        if (member != "module")
          dialect.add_pattern(name, pattern->second);
        else if (!name.starts_with("*"))
          return make_error("member \"module\": found \"", name.str(), "\", accepted are suffixes like \"*_diff\"");
        else
          dialect.module_patterns_.push_back({"", name.drop_front().str(), NameRole::Copy});
      }
    } else if (auto size = find_if(size_members, is_member); size != std::end(size_members)) {
      const json::Object *sizes = value.getAsObject();
      if (!sizes)
        return make_error("member \"", member.str(), "\": found ", kind_name(value),
                          ", accepted is an object of names and sizes, like {\"psh_real\": \"$2*8\"}");
      for (const auto &[name, bytes] : *sizes) {
        std::string expression;
        if (std::optional<int64_t> number = bytes.getAsInteger(); number && *number >= 0)
          expression = std::to_string(*number);
        else if (std::optional<StringRef> string = bytes.getAsString())
          expression = string->str();
        else
          return make_error("member \"", member.str(), "\", name \"", StringRef(name).str(), "\": found ", kind_name(bytes),
                            ", accepted is a number of bytes or an expression like \"$2*8\"");
        Expected<SizeExpression> bits = SizeExpression::parse(expression);
        if (!bits)
          return make_error("member \"", member.str(), "\", name \"", StringRef(name).str(), "\": ", toString(bits.takeError()));
        dialect.operations_[StringRef(name).lower()] = {size->second, *bits};
      }
    } else if (auto role = find_if(name_members, is_member); role != std::end(name_members)) {
      if (Error error = strings(member, value, names))
        return error;
      for (StringRef name : names)
        dialect.add_operation(name, role->second);
    } else {
      return make_error("member \"", member.str(),
                        "\" is unknown; accepted are name, comment, extends, adjoint, forward, backward, copy, module, push, pop, "
                        "wrappers, ignore, repeat_start, repeat_reset, repeat_end, binomial_init, binomial_next");
    }
  }
  if (none_of(dialect.patterns_, [](const Pattern &pattern) { return pattern.role == NameRole::Adjoint; }))
    return make_error("no pattern for adjoint procedures; give \"adjoint\": [\"*_b\"], or leave out \"extends\": \"none\"");
  return dialect;
}

} // namespace adprof
