// Does the runtime keep its tree straight on what generated and hand-edited adjoints really do?
#include "tests/runtime/measure.h"
#include "tests/runtime/scripted_adjoint.h"

#include <barrier>
#include <thread>

namespace adprof {
namespace {

using scripted::Function;
using scripted::Object;

struct Names {
  Object object;
  std::uint32_t f, f_fwd, f_bwd, g, g_fwd, g_bwd;
  std::uint32_t root, g_primal, g_adjoint, g_forward, g_backward, g_again, g_again_adjoint, g_inactive;
  Names() {
    f = object.procedure("f", ADPROF_ROLE_JOINT);
    f_fwd = object.procedure("f", ADPROF_ROLE_FORWARD);
    f_bwd = object.procedure("f", ADPROF_ROLE_BACKWARD);
    g = object.procedure("g", ADPROF_ROLE_JOINT);
    g_fwd = object.procedure("g", ADPROF_ROLE_FORWARD);
    g_bwd = object.procedure("g", ADPROF_ROLE_BACKWARD);
    root = object.call(ADPROF_CALL_ADJOINT, "main", "f", 0, ADPROF_CALL_ROOT);
    g_primal = object.call(ADPROF_CALL_PRIMAL, "f", "g");
    g_adjoint = object.call(ADPROF_CALL_ADJOINT, "f", "g");
    g_forward = object.call(ADPROF_CALL_FORWARD, "f", "g");
    g_backward = object.call(ADPROF_CALL_BACKWARD, "f", "g");
    g_again = object.call(ADPROF_CALL_PRIMAL, "f", "g", 1);
    g_again_adjoint = object.call(ADPROF_CALL_ADJOINT, "f", "g", 1);
    g_inactive = object.call(ADPROF_CALL_PRIMAL, "f", "g", 2, ADPROF_CALL_UNPAIRED);
    object.start();
  }
  void leaf(std::int64_t bits) {
    Function body(object, g);
    body.push(bits);
    body.pop(bits);
    body.leave();
  }
  template <typename Body> void run_root(Body body) {
    Function main(object);
    main.adjoint(root, [&] {
      Function function(object, f);
      body(function);
      function.leave();
    });
  }
};

const profile::Losses &losses(const profile::Profile &profile) { return profile.processes.at(0).losses; }

/// Node of f of the first root.
const profile::Node &root_node(const profile::Profile &profile) {
  return profile.nodes.at(profile.nodes.at(profile.threads.at(0).root).edges.at(0).node);
}

const profile::Context &context_of(const profile::Profile &profile, const std::string &name) {
  for (const profile::Context &context : profile.contexts)
    if (profile.sites.at(context.site).name() == name)
      return context;
  ADD_FAILURE() << "no context of " << name;
  return profile.contexts.at(0);
}

TEST(Shapes, inactive_call_inside_the_snapshot_takes_no_record) {
  auto profile = measure([] {
    Names names;
    names.run_root([&](Function &f) {
      f.push(100);
      f.primal(names.g_inactive);
      f.push(28);
      f.primal(names.g_primal);
      f.primal(names.g_inactive);
      f.push(64);
      f.pop(64);
      f.pop(128);
      f.adjoint(names.g_adjoint, [&] { names.leaf(10); });
    });
  });
  EXPECT_EQ(root_node(profile).edges.at(0).snapshot_bits, 128);
  EXPECT_EQ(profile.sites[root_node(profile).edges.at(0).site].name(), "f:g:0");
  EXPECT_EQ(losses(profile).unreversed_primal, 2);
  EXPECT_EQ(losses(profile).anomalies, 0);
}

TEST(Shapes, equal_heights_are_decided_by_the_pairing_of_the_pass) {
  auto profile = measure([] {
    Names names;
    names.run_root([&](Function &f) {
      f.primal(names.g_primal);
      f.primal(names.g_inactive);
      f.adjoint(names.g_adjoint, [&] { names.leaf(10); });
    });
  });
  EXPECT_EQ(losses(profile).matched_static, 1);
  EXPECT_EQ(profile.sites[root_node(profile).edges.at(0).site].name(), "f:g:0");
}

TEST(Shapes, repeated_reading_counts_one_invocation_and_keeps_one_child) {
  auto profile = measure([] {
    Names names;
    names.run_root([&](Function &f) {
      f.push(8);
      f.push(64);
      f.primal(names.g_primal);
      f.push(16);
      f.turn();
      f.repeat_start();
      for (int i = 0; i < 5; i++) {
        f.pop(16);
        f.pop(64);
        f.adjoint(names.g_adjoint, [&] { names.leaf(1000); });
        f.repeat_reset();
      }
      f.repeat_end();
      f.pop(16);
      f.pop(64);
      f.adjoint(names.g_adjoint, [&] { names.leaf(1000); });
      f.pop(8);
    });
  });
  const auto &node = root_node(profile);
  ASSERT_EQ(node.edges.size(), 1u);
  EXPECT_EQ(node.edges[0].own_before_bits, 8);
  EXPECT_EQ(node.edges[0].snapshot_bits, 64);
  EXPECT_EQ(node.own_after_bits, 16);
  EXPECT_EQ(context_of(profile, "f:g:0").invocations_on, 1);
  EXPECT_EQ(context_of(profile, "f:g:0").repeats, 5);
  EXPECT_EQ(losses(profile).unmatched_unexplained, 0);
  EXPECT_EQ(losses(profile).anomalies, 0);
  // While the tape is read again, the callee's pushes stand above it: 8 + 64 + 16 and 1000 on top.
  EXPECT_EQ(profile.threads[0].stack_peak_bits, 1088);
}

TEST(Shapes, checkpointed_block_in_the_backward_sweep_is_a_block) {
  auto profile = measure([] {
    Names names;
    names.run_root([&](Function &f) {
      f.push(50); // snapshot of the block
      f.primal(names.g_primal);
      f.push(7);
      f.turn();
      f.pop(7);
      f.pop(50);
      f.push(30); // the block again, recording
      f.push(40);
      f.primal(names.g_primal);
      f.push(3);
      f.pop(3);
      f.pop(40);
      f.adjoint(names.g_adjoint, [&] { names.leaf(200); });
      f.pop(30);
    });
  });
  const auto &node = root_node(profile);
  std::int64_t blocks = 0;
  for (const auto &edge : node.edges)
    if (edge.kind == profile::EdgeKind::kBlock) {
      blocks++;
      const auto &block = profile.nodes[edge.node];
      ASSERT_EQ(block.edges.size(), 1u);
      EXPECT_EQ(block.edges[0].own_before_bits, 30);
      EXPECT_EQ(block.edges[0].snapshot_bits, 40);
      EXPECT_EQ(block.own_after_bits, 3);
    }
  EXPECT_EQ(blocks, 1);
  EXPECT_EQ(losses(profile).unreversed_primal, 1);
  EXPECT_EQ(losses(profile).anomalies, 0);
}

TEST(Shapes, binomial_loop_is_one_block_per_height_and_its_advances_are_not_unreversed) {
  auto profile = measure([] {
    Names names;
    names.run_root([&](Function &f) {
      f.push(5);
      f.binomial_init();
      f.binomial_next(1); // push
      f.push(100);
      f.binomial_next(4); // advance
      f.primal(names.g_primal);
      f.binomial_next(1);
      f.push(100);
      f.binomial_next(4);
      f.primal(names.g_primal);
      f.binomial_next(5); // first turn, with a checkpoint of its own
      f.push(20);
      f.primal(names.g_primal);
      f.pop(20);
      f.adjoint(names.g_adjoint, [&] { names.leaf(10); });
      f.binomial_next(3); // pop
      f.pop(100);
      f.binomial_next(6); // turn
      f.adjoint(names.g_adjoint, [&] { names.leaf(10); });
      f.binomial_next(3);
      f.pop(100);
      f.binomial_next(6);
      f.adjoint(names.g_adjoint, [&] { names.leaf(10); });
      f.binomial_next(0);
      f.pop(5);
    });
  });
  EXPECT_EQ(losses(profile).advance_calls, 2);
  EXPECT_EQ(losses(profile).unreversed_primal, 0);
  EXPECT_EQ(losses(profile).anomalies, 0);
  EXPECT_EQ(context_of(profile, "f:g:0").invocations_on, 3);
  EXPECT_EQ(root_node(profile).edges.size(), 4u); // three heights and the loop's own snapshots
}

TEST(Shapes, adjoint_that_is_not_instrumented_is_opaque) {
  auto profile = measure([] {
    Names names;
    names.run_root([&](Function &f) {
      f.push(64);
      f.primal(names.g_primal);
      f.pop(64);
      f.adjoint(names.g_adjoint, [] {});
    });
  });
  EXPECT_TRUE(root_node(profile).edges.at(0).opaque);
  EXPECT_EQ(root_node(profile).edges.at(0).snapshot_bits, 64);
}

/// Leaves `depth` frames of g without calling leave, as longjmp does.
void jump_out(Names &names, Function &f, int depth) {
  f.push(64);
  f.primal(names.g_primal);
  f.pop(64);
  f.adjoint(names.g_adjoint, [&] {
    for (int i = 0; i < depth; i++)
      Function lost(names.object, names.g);
  });
}

TEST(Shapes, frames_left_by_longjmp_are_dropped_and_counted) {
  auto profile = measure([] {
    Names names;
    names.run_root([&](Function &f) {
      jump_out(names, f, 1);
      f.push(64);
      f.primal(names.g_again);
      f.pop(64);
      f.adjoint(names.g_again_adjoint, [&] { names.leaf(10); });
    });
  });
  EXPECT_EQ(losses(profile).anomalies, 1);
  EXPECT_EQ(context_of(profile, "f:g:1").invocations_on, 1);
  EXPECT_EQ(losses(profile).unmatched_unexplained, 0);
}

TEST(Shapes, guessed_procedure_is_one_only_where_its_call_is_open) {
  auto profile = measure([] {
    Object object;
    auto f = object.procedure("f", ADPROF_ROLE_JOINT);
    auto guessed = object.procedure("mat", ADPROF_ROLE_JOINT, ADPROF_PROCEDURE_GUESSED);
    auto root = object.call(ADPROF_CALL_ADJOINT, "main", "f", 0, ADPROF_CALL_ROOT);
    auto no_root = object.call(ADPROF_CALL_ADJOINT, "main", "other", 0, ADPROF_CALL_ROOT | ADPROF_CALL_GUESSED);
    object.start();
    Function main(object);
    main.adjoint(no_root, [] {});
    Function matrix(object, guessed);
    EXPECT_EQ(matrix.frame(), ADPROF_NO_FRAME);
    matrix.leave();
    main.adjoint(root, [&] {
      Function body(object, f);
      body.leave();
    });
  });
  EXPECT_EQ(profile.nodes.at(profile.threads.at(0).root).edges.size(), 1u);
}

TEST(Shapes, parallel_regions_have_a_tree_per_thread) {
  auto profile = measure([] {
    Object object;
    auto f = object.procedure("f", ADPROF_ROLE_JOINT);
    auto forward = object.procedure("f", ADPROF_ROLE_REGION_FORWARD);
    auto backward = object.procedure("f", ADPROF_ROLE_REGION_BACKWARD);
    auto root = object.call(ADPROF_CALL_ADJOINT, "main", "f", 0, ADPROF_CALL_ROOT);
    object.start();
    Function main(object);
    main.adjoint(root, [&] {
      Function body(object, f);
      std::barrier together(3); // a thread that has ended leaves its state to the next
      auto region = [&](std::int64_t bits) {
        Function first(object, forward);
        first.push(bits);
        first.leave();
        together.arrive_and_wait();
        Function second(object, backward);
        second.pop(bits);
        second.leave();
      };
      std::thread one(region, 100), two(region, 300);
      region(200);
      one.join();
      two.join();
      body.leave();
    });
  });
  ASSERT_EQ(profile.threads.size(), 3u);
  std::int64_t sum = 0;
  for (const auto &thread : profile.threads)
    sum += thread.stack_peak_bits;
  EXPECT_EQ(sum, 600);
  EXPECT_EQ(losses(profile).anomalies, 0);
  EXPECT_EQ(losses(profile).unmatched_unexplained, 0);
}

TEST(Shapes, leaves_of_every_size_fold_into_envelopes) {
  auto nodes_of = [](int steps) {
    return measure([&] {
      Names names;
      names.run_root([&](Function &f) {
        std::uint64_t state = 1;
        std::vector<std::int64_t> sizes;
        for (int i = 0; i < steps; i++) {
          state = state * 6364136223846793005u + 1442695040888963407u;
          sizes.push_back(64 + std::int64_t(state >> 40));
          f.push(64);
          f.primal(names.g_primal);
        }
        for (int i = steps; i-- > 0;) {
          f.pop(64);
          f.adjoint(names.g_adjoint, [&] { names.leaf(sizes[std::size_t(i)]); });
        }
      });
    });
  };
  auto few = nodes_of(20000), many = nodes_of(60000);
  EXPECT_LT(many.nodes.size(), few.nodes.size() + 1000);
  EXPECT_GT(losses(many).envelope_nodes, 0);
  EXPECT_EQ(context_of(many, "f:g:0").invocations_on, 60000);
  EXPECT_TRUE(many.processes[0].finished);
}

TEST(Shapes, existing_file_is_not_overwritten) {
  std::string path = std::filesystem::temp_directory_path() / ("adprof-existing-" + std::to_string(getpid()));
  FILE *file = std::fopen(path.c_str(), "w");
  std::fputs("somebody's data", file);
  std::fclose(file);
  pid_t child = fork();
  if (child == 0) {
    setenv("ADPROF_OUTPUT", path.c_str(), 1);
    Names names;
    names.run_root([](Function &) {});
    std::exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7); // the program ran on
  EXPECT_EQ(std::filesystem::file_size(path), 15u);
  std::filesystem::remove(path);
}

} // namespace
} // namespace adprof
