#include "optimizer/model/replay.h"

#include <algorithm>

namespace adprof::model {

namespace {

/// One thread. Frames are explicit, as call paths of damaged profiles can be deeper than the machine's own stack.
class Machine {
public:
  Machine(const CallTree &tree, const Placement &placement, std::int64_t limit) : tree_(tree), placement_(placement), limit_(limit) {}

  void run(std::uint32_t root) {
    enter(root, Sweep::kForward, true);
    while (!frames_.empty() && events < limit_)
      step();
    complete = frames_.empty();
    balanced = balanced && (!complete || stack_.empty());
  }

  Bits peak = 0;
  std::int64_t events = 0;
  bool complete = false, balanced = true;

private:
  enum class Sweep : std::uint8_t { kForward, kBackward };
  struct Frame {
    std::uint32_t node, cursor; ///< edges before cursor have been swept forward and not yet backward
    Sweep sweep;
    bool joint;          ///< turns and goes on backward
    bool inside = false; ///< backward: the callee of the edge before cursor has been reversed, its caller's pops are left
    std::int64_t rounds = 0; ///< of a loop, still to run
  };

  const Edge &edge(const Frame &frame, std::uint32_t i) const { return tree_.edges[tree_.nodes[frame.node].first_edge + i]; }
  bool is_on(const Edge &e) const { return e.site != kNoSite && placement_.on[e.site] != 0; }

  void push(Bits bits) {
    ++events;
    stack_.push_back(bits);
    height_ += bits;
    peak = std::max(peak, height_);
  }
  void pop(Bits bits) {
    ++events;
    if (stack_.empty() || stack_.back() != bits) {
      balanced = false;
      return;
    }
    height_ -= bits;
    stack_.pop_back();
  }
  void enter(std::uint32_t node, Sweep sweep, bool joint) {
    ++events;
    std::uint32_t count = tree_.nodes[node].edge_count;
    frames_.push_back({node, sweep == Sweep::kForward ? 0 : count, sweep, joint});
    if (sweep == Sweep::kBackward)
      pop(tree_.nodes[node].own_after);
  }

  void step() {
    if (frames_.back().sweep == Sweep::kForward)
      forward();
    else
      backward();
  }

  void forward() {
    Frame &frame = frames_.back();
    if (frame.rounds > 0) {
      --frame.rounds;
      enter(edge(frame, frame.cursor - 1).node, Sweep::kForward, false);
      return;
    }
    const Node &node = tree_.nodes[frame.node];
    if (frame.cursor == node.edge_count) {
      push(node.own_after);
      if (!frame.joint) {
        frames_.pop_back();
        return;
      }
      frame.sweep = Sweep::kBackward; // the turn
      pop(node.own_after);
      return;
    }
    const Edge &e = edge(frame, frame.cursor++);
    push(e.own_before);
    if (e.kind == EdgeKind::kLoop) {
      frame.rounds = e.count;
    } else if (e.kind == EdgeKind::kCall) {
      push(e.kept);
      if (is_on(e))
        push(e.snapshot);
      else
        enter(e.node_when_off(), Sweep::kForward, false);
    }
  }

  void backward() {
    Frame &frame = frames_.back();
    if (frame.rounds > 0) {
      --frame.rounds;
      enter(edge(frame, frame.cursor - 1).node, Sweep::kBackward, false);
      return;
    }
    if (frame.inside) {
      const Edge &e = edge(frame, --frame.cursor);
      frame.inside = false;
      if (e.kind == EdgeKind::kCall && !is_on(e))
        pop(e.kept);
      pop(e.own_before);
      return;
    }
    if (frame.cursor == 0) {
      frames_.pop_back();
      return;
    }
    const Edge &e = edge(frame, frame.cursor - 1);
    frame.inside = true;
    if (e.kind == EdgeKind::kLoop) {
      frame.rounds = e.count;
    } else if (e.kind == EdgeKind::kBlock) {
      enter(e.node, Sweep::kForward, true);
    } else if (is_on(e)) {
      pop(e.snapshot);
      pop(e.kept);
      enter(e.node, Sweep::kForward, true);
    } else {
      enter(e.node_when_off(), Sweep::kBackward, false);
    }
  }

  const CallTree &tree_;
  const Placement &placement_;
  std::int64_t limit_;
  std::vector<Bits> stack_;
  Bits height_ = 0;
  std::vector<Frame> frames_;
};

} // namespace

Replay replay(const CallTree &tree, const Placement &placement, std::int64_t event_limit) {
  Replay result;
  std::int64_t threads_left = 0;
  for (const Process &process : tree.processes)
    threads_left += static_cast<std::int64_t>(process.roots.size());
  for (const Process &process : tree.processes) {
    Bits sum = 0;
    for (std::uint32_t root : process.roots) {
      Machine machine(tree, placement, std::max<std::int64_t>(1, (event_limit - result.events) / std::max<std::int64_t>(1, threads_left--)));
      machine.run(root);
      sum += machine.peak;
      result.events += machine.events;
      result.complete = result.complete && machine.complete;
      result.balanced = result.balanced && machine.balanced;
    }
    result.peaks.push_back(sum);
  }
  return result;
}

} // namespace adprof::model
