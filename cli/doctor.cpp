/// `adprof doctor`: what the pass recognised in a build, what looks like adjoint code and was not understood, and what to put
/// into a dialect.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/application.h"
#include "cli/object_text.h"
#include "optimizer/profile/file.h"
#include "runtime/abi/site.h"

namespace adprof::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> files;
  bool json = false;
};

struct Doubt {
  std::string kind, where, text;
};

/// Everything that the texts of all files say, joined.
struct Findings {
  std::set<std::string> objects, uninstrumented;
  std::set<std::string> dialects;
  std::map<std::string, unsigned> procedures; ///< by role
  std::map<std::string, std::set<std::string>> roles; ///< primal -> roles seen
  std::set<std::string> sites, sliced, unpaired, split, roots, sources;
  std::map<std::string, std::string> adjoints_called; ///< "primal role" -> IR name
  std::vector<Doubt> doubts;
  std::set<std::string> unknown_pushes;
  bool has_linked = false; ///< a whole program is there: what is missing in it is missing
  std::map<std::string, std::string> bare_adjoints; ///< function that looks like an adjoint -> uninstrumented object
};

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      fields.emplace_back();
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      const char next = line[++i];
      fields.back() += next == 't' ? '\t' : next == 'n' ? '\n' : next;
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

std::string place(const std::string &file, const std::string &line) {
  return line == "0" || line.empty() ? file : file + ":" + line;
}

void add_call(const std::vector<std::string> &fields, Findings &findings) {
  const std::string &kind = fields[3], &caller = fields[4], &callee = fields[5];
  const std::string site = caller + ":" + callee + ":" + fields[6];
  const unsigned long flags = std::strtoul(fields[7].c_str(), nullptr, 10);
  if (kind != "primal")
    findings.adjoints_called[callee + "\t" + (kind == "adjoint" ? "joint" : kind)] = fields[10];
  if (flags & ADPROF_CALL_ROOT) {
    findings.roots.insert(site);
    return;
  }
  findings.sites.insert(site);
  if (flags & ADPROF_CALL_SLICED)
    findings.sliced.insert(site);
  if (flags & ADPROF_CALL_UNPAIRED)
    findings.unpaired.insert(site);
  if (kind == "forward" || kind == "backward")
    findings.split.insert(site);
}

Result<void> add_module(const std::string &object, const std::string &text, Findings &findings) {
  std::string source;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::vector<std::string> fields = fields_of(std::string_view(text).substr(at, end - at));
    at = end + 1;
    const std::string &kind = fields[0];
    const auto lacks = [&](size_t count) { return fields.size() < count; };
    if (kind == "adprof") {
      if (lacks(3) || fields[1] != "1")
        return std::unexpected(Error{ErrorKind::kUnreadable, object,
                                     "was instrumented by another version (text format " + (lacks(2) ? "?" : fields[1]) +
                                         ", known is 1); rebuild it with this version's `adprof cc`"});
      source = fields[2];
      findings.objects.insert(object + "\t" + source);
    } else if (kind == "dialect" && !lacks(2)) {
      findings.dialects.insert(fields[1]);
    } else if (kind == "proc" && !lacks(7)) {
      ++findings.procedures[fields[3]];
      findings.roles[fields[2]].insert(fields[3]);
    } else if (kind == "call" && !lacks(12)) {
      add_call(fields, findings);
    } else if (kind == "source" && !lacks(4)) {
      findings.sources.insert(fields[1] + ":" + fields[2] + ":" + fields[3]);
    } else if (kind == "doubt" && !lacks(5)) {
      findings.doubts.push_back({fields[1], place(source, fields[3]) + ": in " + fields[2], fields[4]});
      if (fields[1] == "stack-name")
        findings.unknown_pushes.insert(fields[4].substr(0, fields[4].find(' ')));
    }
  }
  return {};
}

bool ends_like_adjoint(std::string name) {
  if (name.ends_with("_"))
    name.pop_back();
  return name.ends_with("_b") || name.ends_with("_bwd") || name.ends_with("_fwd") || name.ends_with("_adm") || name.ends_with("_bv");
}

/// What only all objects together tell: adjoints that are called and instrumented nowhere; guesses that another object confirms.
void join(Findings &findings) {
  std::erase_if(findings.doubts, [&](const Doubt &doubt) { return doubt.kind == "guessed"; });
  for (const auto &[key, ir_name] : findings.adjoints_called) {
    const std::string primal = key.substr(0, key.find('\t')), role = key.substr(key.find('\t') + 1);
    const auto known = findings.roles.find(primal);
    if (known != findings.roles.end() && known->second.contains(role))
      continue;
    const auto bare = findings.bare_adjoints.find(ir_name);
    if (bare == findings.bare_adjoints.end() && !findings.has_linked)
      continue;
    findings.doubts.push_back(
        {"opaque", ir_name,
         bare == findings.bare_adjoints.end()
             ? "is called as an adjoint, but instrumented nowhere in this program: its inside stays unknown and its site stays on"
             : "is called as an adjoint and defined in " + bare->second + ", which was compiled without adprof: compile it with `adprof cc`"});
  }
}

std::string dialect_proposal(const Findings &findings) {
  if (findings.unknown_pushes.empty())
    return "";
  nlohmann::ordered_json dialect = {{"name", "mine"}, {"extends", "tapenade"}};
  for (const std::string &name : findings.unknown_pushes) {
    std::string base = name.ends_with("_") ? name.substr(0, name.size() - 1) : name;
    if (const size_t part = base.rfind('P'); base.starts_with("_Q") && part != std::string::npos)
      base = base.substr(part + 1);
    dialect[base.starts_with("pop") ? "pop" : "push"][base] = "$2*8";
  }
  return dialect.dump(2);
}

nlohmann::ordered_json to_json(const Findings &findings, const std::string &proposal) {
  nlohmann::ordered_json json = {{"format", "adprof-doctor"},
                                 {"version", 1},
                                 {"instrumented_objects", findings.objects.size()},
                                 {"uninstrumented_objects", findings.uninstrumented},
                                 {"dialects", findings.dialects},
                                 {"procedures", findings.procedures},
                                 {"sites", findings.sites.size()},
                                 {"roots", findings.roots},
                                 {"split_sites", findings.split},
                                 {"sliced_sites", findings.sliced},
                                 {"unpaired_sites", findings.unpaired},
                                 {"primal_calls", findings.sources.size()},
                                 {"doubts", nlohmann::ordered_json::array()}};
  for (const Doubt &doubt : findings.doubts)
    json["doubts"].push_back({{"kind", doubt.kind}, {"where", doubt.where}, {"text", doubt.text}});
  if (!proposal.empty())
    json["dialect_proposal"] = nlohmann::ordered_json::parse(proposal);
  return json;
}

void print(const Findings &findings, const std::string &proposal, Io &io) {
  std::ostream &out = io.out;
  const auto count = [](const char *role, const std::map<std::string, unsigned> &procedures) {
    const auto found = procedures.find(role);
    return found == procedures.end() ? 0u : found->second;
  };
  out << "objects     " << findings.objects.size() << " instrumented";
  if (!findings.uninstrumented.empty())
    out << ", " << findings.uninstrumented.size() << " not";
  out << "\n";
  for (const std::string &dialect : findings.dialects)
    out << "dialect     " << dialect << "\n";
  out << "procedures  " << count("joint", findings.procedures) << " joint adjoints, " << count("forward", findings.procedures)
      << " forward and " << count("backward", findings.procedures) << " backward sweeps, "
      << count("region_forward", findings.procedures) + count("region_backward", findings.procedures) << " parallel regions\n";
  out << "sites       " << findings.sites.size() << ": " << findings.split.size() << " in split mode, " << findings.sliced.size()
      << " without a primal call, " << findings.unpaired.size() << " never reversed\n";
  out << "roots       " << findings.roots.size() << " calls of adjoints from ordinary code\n";
  out << "primal      " << findings.sources.size() << " calls with their place in the primal source\n";
  if (!findings.doubts.empty())
    out << "\nnot understood (" << findings.doubts.size() << "):\n";
  for (const Doubt &doubt : findings.doubts)
    out << "  " << doubt.where << ": " << doubt.text << "\n";
  if (!proposal.empty())
    out << "\na dialect to start from (put the right number of bytes in, see docs/dialect.md):\n" << proposal << "\n";
}

Result<int> doctor(const DoctorOptions &options, Io &io) {
  Findings findings;
  for (const std::string &path : options.files) {
    const Result<std::string> bytes = profile::read_file(path);
    if (!bytes)
      return std::unexpected(bytes.error());
    const Result<std::vector<ObjectText>> objects = read_object_texts(path, *bytes);
    if (!objects)
      return std::unexpected(objects.error());
    for (const ObjectText &object : *objects) {
      findings.has_linked |= object.is_linked;
      if (object.modules.empty()) {
        findings.uninstrumented.insert(object.name);
        for (const std::string &function : object.functions)
          if (ends_like_adjoint(function))
            findings.bare_adjoints.emplace(function, object.name);
      }
      for (const std::string &module : object.modules)
        if (const Result<void> added = add_module(object.name, module, findings); !added)
          return std::unexpected(added.error());
    }
  }
  join(findings);
  const std::string proposal = dialect_proposal(findings);
  if (options.json)
    io.out << to_json(findings, proposal).dump(2) << "\n";
  else
    print(findings, proposal, io);
  if (findings.procedures.empty()) {
    io.talk << "adprof doctor: no adjoint code was recognised. If there is some, was it compiled with `adprof cc`"
            << (findings.bare_adjoints.empty() ? "" : " (" + findings.bare_adjoints.begin()->first + " in " +
                                                          findings.bare_adjoints.begin()->second + " looks like one)")
            << ", and are its names those of the dialect (docs/dialect.md)?\n";
    return kAnswerIsNo;
  }
  io.talk << (findings.doubts.empty() ? "next: adprof run -- ./your_program\n"
                                      : "next: compile with -Rpass-missed=adprof to see the places, or with `adprof cc --dialect FILE`\n");
  return findings.doubts.empty() ? kDone : kAnswerIsNo;
}

} // namespace

void add_doctor(CLI::App &app, Action &action) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App *verb = app.add_subcommand("doctor", "Say what of a build was recognised as adjoint code, and what was not");
  verb->add_option("FILE", options->files, "Object files, static or shared libraries, programs")->required();
  verb->add_flag("--json", options->json, "As JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return doctor(*options, io); }; });
}

} // namespace adprof::cli
