#include "optimizer/placement/exact.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <coin/Cbc_C_Interface.h>
#include <memory>
#include <string>

#include "optimizer/placement/room.h"

namespace adprof::placement {

using model::Edge;
using model::EdgeKind;
using model::kNoSite;
using model::Node;

namespace {

// Objective values lie between 0 and this, so that the solver's absolute tolerances (1e-7 in costs, kStep between solutions)
// are parts in 10^10 of the time that is at stake.
constexpr double kObjectiveScale = 1e4;
constexpr double kStep = 1e-6;

struct Term {
  int column;
  double factor;
};

struct Expression {
  std::vector<Term> terms;
  double constant = 0;

  void add(const Expression &other, double factor = 1) {
    for (const Term &term : other.terms)
      terms.push_back({term.column, factor * term.factor});
    constant += factor * other.constant;
  }
};

/// Columns and rows in the solver's own form. Sizes are in units of the budget.
///
/// A call with a decision leaves keep = x ? snapshot : tape, which is the convex hull's
///   keep >= least + (snapshot - least) x,   keep >= tape - (largest - snapshot) x
/// with the least and largest tape that any placement within the budget can give. Where both are the same, as for leaves, keep
/// is linear and needs no column.
class Program {
public:
  Program(const Problem &problem, Bits budget) : problem_(problem), unit_(1.0 / static_cast<double>(std::max<Bits>(budget, 1))) {
    const model::CallTree &tree = problem.tree;
    std::vector<Mode> free(problem.size(), kFree);
    Room room = room_under(problem, free, budget);
    feasible = room.feasible;
    if (!feasible)
      return;
    bounds_ = std::move(room.bounds);
    double total = 0;
    for (std::size_t d = 0; d < problem.size(); ++d)
      total += problem.gain_ns(d);
    ns_per_objective = total > 0 ? total / kObjectiveScale : 1;
    for (std::size_t d = 0; d < problem.size(); ++d)
      add_column(0, 1, problem.gain_ns(d) / ns_per_objective);
    constant_.resize(tree.nodes.size());
    tape_.resize(tree.nodes.size());
    peak_.resize(tree.nodes.size());
    for (std::size_t v = 0; v < tree.nodes.size(); ++v)
      add_node(v);
    for (std::size_t p = 0; p < tree.processes.size(); ++p) {
      Expression sum;
      sum.constant = in_units(problem.offsets[p]);
      for (std::uint32_t root : tree.processes[p].roots)
        sum.add(peak_[root]);
      sum.add({{}, -in_units(budget)});
      at_most_zero(sum);
    }
  }

  struct ModelDeleter {
    void operator()(Cbc_Model *model) const { Cbc_deleteModel(model); }
  };
  std::unique_ptr<Cbc_Model, ModelDeleter> load() const {
    std::unique_ptr<Cbc_Model, ModelDeleter> model(Cbc_newModel());
    Cbc_setLogLevel(model.get(), 0);
    // By columns, as the solver wants it.
    std::vector<int> start(lower_.size() + 1), index(terms_.size());
    std::vector<double> value(terms_.size());
    for (const Term &term : terms_)
      ++start[static_cast<std::size_t>(term.column) + 1];
    for (std::size_t c = 1; c < start.size(); ++c)
      start[c] += start[c - 1];
    std::vector<int> next(start.begin(), start.end() - 1);
    for (std::size_t r = 0; r < row_upper_.size(); ++r)
      for (std::size_t i = row_first_[r]; i < (r + 1 < row_first_.size() ? row_first_[r + 1] : terms_.size()); ++i) {
        auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(terms_[i].column)]++);
        index[at] = static_cast<int>(r);
        value[at] = terms_[i].factor;
      }
    Cbc_loadProblem(model.get(), static_cast<int>(lower_.size()), static_cast<int>(row_upper_.size()), start.data(), index.data(),
                    value.data(), lower_.data(), upper_.data(), cost_.data(), row_lower_.data(), row_upper_.data());
    for (std::size_t d = 0; d < problem_.size(); ++d)
      Cbc_setInteger(model.get(), static_cast<int>(d));
    return model;
  }

  /// At least one decision differs from `placement`.
  void forbid(const model::Placement &placement) {
    Expression same;
    same.constant = 1;
    for (std::size_t d = 0; d < problem_.size(); ++d) {
      same.terms.push_back({static_cast<int>(d), placement.on[d] ? 1.0 : -1.0});
      same.constant -= placement.on[d];
    }
    at_most_zero(same);
  }

  bool feasible = true;
  double ns_per_objective = 1;

private:
  double in_units(Bits bits) const { return static_cast<double>(bits) * unit_; }

  /// Sizes span many orders of magnitude, which the solver's preprocessing does not survive (it called feasible programs
  /// infeasible): every column is in units of its largest value, every row divided by its largest factor.
  int add_column(double lower, double upper, double cost) {
    const double scale = upper > 0 ? upper : 1;
    scale_.push_back(scale);
    lower_.push_back(lower / scale);
    upper_.push_back(upper / scale);
    cost_.push_back(cost);
    return static_cast<int>(lower_.size() - 1);
  }

  void row(const Expression &expression, bool equal) {
    // Terms of one column are added up: the solver takes each only once.
    std::vector<Term> terms = expression.terms;
    std::ranges::stable_sort(terms, {}, &Term::column);
    std::vector<Term> sums;
    double largest = 0, right = -expression.constant;
    for (const Term &term : terms) {
      const double factor = term.factor * scale_[static_cast<std::size_t>(term.column)];
      if (!sums.empty() && sums.back().column == term.column)
        sums.back().factor += factor;
      else
        sums.push_back({term.column, factor});
    }
    for (const Term &term : sums)
      largest = std::max(largest, std::fabs(term.factor));
    if (largest == 0) {
      if (right < 0)
        feasible = false;
      return;
    }
    row_first_.push_back(terms_.size());
    for (const Term &term : sums) {
      // Too small to matter: left out so that the row only gets weaker.
      if (!equal && std::fabs(term.factor) < 1e-9 * largest)
        right -= term.factor < 0 ? term.factor : 0;
      else if (term.factor != 0)
        terms_.push_back({term.column, term.factor / largest});
    }
    row_lower_.push_back(equal ? right / largest : -1e30);
    row_upper_.push_back(right / largest);
  }
  void at_most_zero(const Expression &expression) { row(expression, false); }

  /// A column that equals the expression, where the expression has grown long.
  void settle(Expression &expression, double lower, double upper) {
    if (expression.terms.size() <= 4)
      return;
    int column = add_column(lower, upper, 0);
    expression.terms.push_back({column, -1});
    row(expression, true);
    expression = {{{column, 1}}, 0};
  }

  Expression keep(const Edge &edge) {
    const SizeBounds &split = bounds_[edge.node_when_off()];
    const int x = static_cast<int>(edge.site);
    const double least = in_units(split.least.tape), largest = in_units(split.largest.tape), snapshot = in_units(edge.snapshot);
    Expression line{{{x, snapshot - least}}, least};
    if (split.least.tape == split.largest.tape)
      return line;
    const int column = add_column(std::min(least, snapshot), std::max(largest, snapshot), 0);
    line.terms.push_back({column, -1});
    at_most_zero(line);
    Expression tape = tape_[edge.node_when_off()];
    tape.terms.push_back({x, snapshot - largest});
    tape.terms.push_back({column, -1});
    at_most_zero(tape);
    return {{{column, 1}}, 0};
  }

  void add_node(std::size_t v) {
    const Node &node = problem_.tree.nodes[v];
    const SizeBounds &bounds = bounds_[v];
    bool constant = true;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = problem_.tree.edges[e];
      constant = constant && constant_[edge.node] && (edge.kind != EdgeKind::kCall || edge.site == kNoSite);
    }
    constant_[v] = constant;
    if (constant) {
      tape_[v].constant = in_units(bounds.least.tape);
      peak_[v].constant = in_units(bounds.least.peak);
      return;
    }
    const int peak = add_column(in_units(bounds.least.peak), in_units(bounds.largest.peak), 0);
    peak_[v] = {{{peak, 1}}, 0};
    Expression below;
    auto turn = [&](const Expression &above) {
      Expression row = below;
      row.add(above);
      row.terms.push_back({peak, -1});
      at_most_zero(row);
    };
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = problem_.tree.edges[e];
      below.constant += in_units(edge.own_before);
      if (edge.kind == EdgeKind::kLoop) {
        Expression above = peak_[edge.node];
        above.add(tape_[edge.node], static_cast<double>(edge.count - 1));
        turn(above);
        below.add(tape_[edge.node], static_cast<double>(edge.count));
      } else if (edge.kind == EdgeKind::kBlock) {
        turn(peak_[edge.node]);
      } else if (edge.site == kNoSite) {
        below.constant += in_units(edge.kept);
        turn(peak_[edge.node_when_off()]);
        below.add(tape_[edge.node_when_off()]);
      } else {
        const int x = static_cast<int>(edge.site);
        const double kept = in_units(edge.kept);
        const SizeBounds &joint = bounds_[edge.node], &split = bounds_[edge.node_when_off()];
        Expression off = peak_[edge.node_when_off()];
        off.constant += kept;
        if (edge.node == edge.node_when_off()) {
          off.terms.push_back({x, -kept});
          turn(off);
        } else {
          // Each row gives way in the other mode, down to what that mode takes at least.
          const double joint_slack = std::max(0.0, in_units(joint.largest.peak - split.least.peak) - kept);
          const double split_slack = std::max(0.0, in_units(split.largest.peak - joint.least.peak) + kept);
          Expression on = peak_[edge.node];
          on.constant -= joint_slack;
          on.terms.push_back({x, joint_slack});
          turn(on);
          off.terms.push_back({x, -split_slack});
          turn(off);
        }
        below.constant += kept;
        below.add(keep(edge));
      }
      settle(below, 0, 4);
    }
    below.constant += in_units(node.own_after);
    turn({});
    const int tape = add_column(in_units(bounds.least.tape), in_units(bounds.largest.tape), 0);
    tape_[v] = {{{tape, 1}}, 0};
    below.terms.push_back({tape, -1});
    at_most_zero(below);
  }

  const Problem &problem_;
  double unit_;
  std::vector<SizeBounds> bounds_;
  std::vector<std::uint8_t> constant_;
  std::vector<Expression> tape_, peak_; ///< per node
  std::vector<double> lower_, upper_, cost_, scale_, row_lower_, row_upper_;
  std::vector<std::size_t> row_first_;
  std::vector<Term> terms_;
};

} // namespace

std::size_t exact_size(const Problem &problem) {
  return 3 * problem.tree.edges.size() + 2 * problem.tree.nodes.size();
}

ExactResult solve_exact(const Problem &problem, Bits budget, const model::Placement *start, const ExactLimits &limits) {
  ExactResult result;
  result.lower_bound_ns = problem.tree.base_ns;
  if (start)
    result.best = *start;
  Program program(problem, budget);
  if (!program.feasible) {
    result.proved = !start;
    return result;
  }
  const model::PeakModel peak(problem.tree);
  const auto began = std::chrono::steady_clock::now();
  // Placements over the budget by less than the solver's tolerance are forbidden one by one.
  for (int round = 0; round < 50; ++round) {
    const double left = limits.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (left <= 0 || result.nodes >= limits.nodes) {
      result.stopped_by_clock = left <= 0;
      return result;
    }
    auto model = program.load();
    auto set = [&](const char *name, const std::string &value) { Cbc_setParameter(model.get(), name, value.c_str()); };
    set("log", "0");
    set("slog", "0");
    // Its preprocessing lost the optimum of three in ten programs of 250 sites (values worse than the start's); without it all agree.
    set("preprocess", "off");
    set("ratioGap", "0");
    set("allowableGap", "0");
    set("increment", std::to_string(kStep));
    set("integerTolerance", "1e-9");
    set("timeMode", "elapsed");
    set("sec", std::to_string(left));
    set("maxNodes", std::to_string(limits.nodes - result.nodes));
    set("threads", "0");
    if (result.best) {
      std::vector<int> columns;
      std::vector<double> values;
      for (std::size_t d = 0; d < problem.size(); ++d) {
        columns.push_back(static_cast<int>(d));
        values.push_back(result.best->on[d]);
      }
      Cbc_setMIPStartI(model.get(), static_cast<int>(columns.size()), columns.data(), values.data());
    }
    Cbc_solve(model.get());
    result.nodes += std::max(1, Cbc_getNodeCount(model.get()));
    const bool finished = Cbc_isProvenOptimal(model.get()), infeasible = Cbc_isProvenInfeasible(model.get());
    const double best_objective = result.best ? problem.time_ns(*result.best) : 0;
    auto bound_of = [&](double objective) { return problem.tree.base_ns + (objective - 2 * kStep) * program.ns_per_objective; };
    if (!finished && !infeasible) {
      result.lower_bound_ns = std::max(result.lower_bound_ns, bound_of(Cbc_getBestPossibleObjValue(model.get())));
      result.stopped_by_clock = Cbc_isSecondsLimitReached(model.get());
    }
    if (infeasible) {
      // With a start that fits this is the solver's mistake, unless that one was the last left.
      result.proved = !result.best;
      return result;
    }
    const double *solution = Cbc_getColSolution(model.get());
    if (!solution || Cbc_numberSavedSolutions(model.get()) == 0)
      return result;
    model::Placement found;
    for (std::size_t d = 0; d < problem.size(); ++d)
      found.on.push_back(solution[d] > 0.5);
    if (problem.load(peak.peaks(found)) <= budget) {
      if (!result.best || problem.time_ns(found) < best_objective)
        result.best = found;
      if (finished) {
        // A start that is better than what the solver calls optimal would show that it lost solutions.
        const double value = problem.time_ns(*result.best);
        result.proved = value >= bound_of(Cbc_getObjValue(model.get()));
        if (result.proved)
          result.lower_bound_ns = value;
      }
      return result;
    }
    if (finished)
      result.lower_bound_ns = std::max(result.lower_bound_ns, bound_of(Cbc_getObjValue(model.get())));
    program.forbid(found);
  }
  return result;
}

} // namespace adprof::placement
