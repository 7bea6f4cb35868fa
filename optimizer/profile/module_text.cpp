#include "optimizer/profile/module_text.h"

#include <algorithm>
#include <charconv>

#include "optimizer/profile/hash.h"
#include "runtime/abi/site.h"

namespace adprof::profile {

namespace {

std::string unescaped(std::string_view field) {
  std::string out;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\' || i + 1 == field.size()) {
      out += field[i];
      continue;
    }
    char c = field[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c;
  }
  return out;
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (size_t start = 0; start <= line.size();) {
    size_t end = std::min(line.find('\t', start), line.size());
    fields.push_back(unescaped(line.substr(start, end - start)));
    start = end + 1;
  }
  return fields;
}

template <typename T> bool parse(const std::string &text, T &value, int base = 10) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

/// Pairs of positions (adjoint, primal) with equal signatures that stand in every longest common subsequence: what else
/// agrees only by chance.
std::vector<std::pair<size_t, size_t>> certain_pairs(const std::vector<std::string> &a, const std::vector<std::string> &b) {
  auto lengths = [](size_t n, size_t m, auto &&equal) {
    std::vector<std::vector<size_t>> l(n + 1, std::vector<size_t>(m + 1));
    for (size_t i = 1; i <= n; ++i)
      for (size_t j = 1; j <= m; ++j)
        l[i][j] = equal(i - 1, j - 1) ? l[i - 1][j - 1] + 1 : std::max(l[i - 1][j], l[i][j - 1]);
    return l;
  };
  size_t n = a.size(), m = b.size();
  auto front = lengths(n, m, [&](size_t i, size_t j) { return a[i] == b[j]; });
  auto back = lengths(n, m, [&](size_t i, size_t j) { return a[n - 1 - i] == b[m - 1 - j]; });
  size_t best = front[n][m];
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < n; ++i) {
    size_t partners = 0, partner = 0;
    bool avoidable = false; // a longest subsequence without i
    for (size_t j = 0; j <= m; ++j)
      avoidable |= front[i][j] + back[n - 1 - i][m - j] == best;
    for (size_t j = 0; j < m; ++j)
      if (a[i] == b[j] && front[i][j] + 1 + back[n - 1 - i][m - 1 - j] == best) {
        ++partners;
        partner = j;
      }
    if (!avoidable && partners == 1)
      pairs.emplace_back(i, partner);
  }
  return pairs;
}

constexpr size_t kLongestAlignment = 2000; // calls of one callee in one procedure; beyond, alignment is quadratic for nothing

} // namespace

void ModuleTexts::name_procedure(const std::string &name) { procedures_.emplace(fnv1a(name), name); }

Result<void> ModuleTexts::add(std::string_view text, const std::string &where) {
  std::string object;
  size_t number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> f = fields_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    auto bad = [&](const char *what) {
      return std::unexpected(Error{ErrorKind::kInvalid, where,
                                   "line " + std::to_string(number) + " of the sites of " + (object.empty() ? "an object" : object) + ": " +
                                       what + "; compile again with this version of adprof"});
    };
    const std::string &kind = f[0];
    if (kind == "adprof") {
      if (f.size() < 3 || f[1] != "1")
        return bad("only version 1 is understood");
      object = f[2];
    } else if (kind == "dialect") {
      if (f.size() >= 2 && dialect_.empty())
        dialect_ = f[1];
    } else if (kind == "proc") {
      if (f.size() < 3)
        return bad("a procedure without a name");
      name_procedure(f[2]);
    } else if (kind == "call") {
      std::uint64_t key = 0, flags = 0;
      std::uint32_t ordinal = 0, line = 0;
      if (f.size() < 12 || !parse(f[2], key, 16) || !parse(f[6], ordinal) || !parse(f[7], flags) || !parse(f[9], line))
        return bad("a call with missing or unreadable fields");
      name_procedure(f[5]);
      bool reverse = f[3] == "adjoint" || f[3] == "backward";
      auto [found, is_new] = calls_.try_emplace(key);
      TextCall &call = found->second;
      bool guessed = flags & ADPROF_CALL_GUESSED;
      call.guessed = (is_new || call.guessed) && guessed;
      Site &site = call.site;
      if (is_new) {
        site.caller = f[4];
        site.callee = f[5];
        site.ordinal = ordinal;
      }
      site.root |= (flags & ADPROF_CALL_ROOT) != 0;
      // The place of the reverse call: a sliced site has no other. The signature of the forward call: that of the primal source.
      if (line != 0 && (reverse || site.adjoint.line == 0))
        site.adjoint = {f[8], line};
      if (!reverse && f.size() > 12 && site.signature.empty())
        site.signature = f[12];
    } else if (kind == "source") {
      std::uint32_t ordinal = 0, line = 0;
      if (f.size() < 7 || !parse(f[3], ordinal) || !parse(f[5], line))
        return bad("a source call with missing or unreadable fields");
      bool is_copy = f.size() > 7 && f[7] == "copy"; // stands in generated code: no place for a directive
      if (!is_copy)
        sources_[{f[1], f[2]}].try_emplace(ordinal, Source{{f[4], line}, f[6]});
    } else if (kind == "doubt") {
      std::uint32_t line = 0;
      if (f.size() < 5 || !parse(f[3], line))
        return bad("a doubt with missing or unreadable fields");
      doubts_.push_back({f[1], f[2], f[4], {object, line}});
    }
  }
  return {};
}

void ModuleTexts::join_sources() {
  std::map<std::pair<std::string, std::string>, std::map<std::uint32_t, Site *>> adjoints;
  for (auto &[key, call] : calls_)
    adjoints[{call.site.caller, call.site.callee}].emplace(call.site.ordinal, &call.site);
  for (auto &[names, sites] : adjoints) {
    auto found = sources_.find(names);
    if (found == sources_.end())
      continue;
    const std::map<std::uint32_t, Source> &sources = found->second;
    if (sites.size() == sources.size()) {
      auto source = sources.begin();
      for (auto &[ordinal, site] : sites)
        site->primal = (source++)->second.at;
      continue;
    }
    if (sites.size() > kLongestAlignment || sources.size() > kLongestAlignment)
      continue;
    std::vector<std::string> a, b;
    std::vector<Site *> with_signature;
    std::vector<const Source *> in_order;
    for (auto &[ordinal, site] : sites)
      if (!site->signature.empty()) {
        with_signature.push_back(site);
        a.push_back(site->signature);
      }
    for (auto &[ordinal, source] : sources) {
      in_order.push_back(&source);
      b.push_back(source.signature);
    }
    for (auto [i, j] : certain_pairs(a, b))
      with_signature[i]->primal = in_order[j]->at;
  }
}

} // namespace adprof::profile
