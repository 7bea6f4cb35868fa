#include "optimizer/profile/read_raw.h"

#include <gtest/gtest.h>

#include "optimizer/profile/json.h"
#include "optimizer/profile/merge.h"
#include "tests/optimizer/raw_builder.h"

namespace adprof::profile {
namespace {

Profile read_good(const std::string &bytes) {
  Result<Profile> read = read_raw(bytes, "raw.1");
  EXPECT_TRUE(read) << read.error().where << ": " << read.error().what;
  return read ? *read : Profile();
}

void expect_error(const std::string &bytes, ErrorKind kind, const std::string &what) {
  Result<Profile> read = read_raw(bytes, "raw.1");
  ASSERT_FALSE(read) << what;
  EXPECT_EQ(read.error().kind, kind) << what;
  EXPECT_EQ(read.error().where, "raw.1");
  EXPECT_NE(read.error().what.find(what), std::string::npos) << read.error().what;
}

TEST(RawProfile, entries_in_order_of_reversal_become_edges_in_forward_order) {
  Profile p = read_good(sample_raw().bytes());
  ASSERT_EQ(p.nodes.size(), 6u);
  const Node &step = p.nodes[2];
  ASSERT_EQ(step.edges.size(), 2u);
  EXPECT_EQ(step.edges[0], (Edge{8, EdgeKind::kCall, 2, 0, 1, 0, 0, false, true, false, false}));
  EXPECT_EQ(step.edges[1], (Edge{64, EdgeKind::kCall, 3, 1, 1, 32, 8, true, true, true, false}));
  EXPECT_EQ(step.own_after_bits, 16);
  EXPECT_EQ(p.nodes[4].edges[0], (Edge{1, EdgeKind::kLoop, kNoIndex, 3, 10, 0, 0, true, true, false, false}));
  EXPECT_EQ(p.nodes[4].own_after_bits, 7);
  EXPECT_EQ(p.threads[0].root, 5u);
  EXPECT_EQ(p.nodes[5].procedure, kNoIndex);
  EXPECT_EQ(p.nodes[5].edges[0].site, 0u);
  EXPECT_FALSE(p.nodes[5].abandoned);
}

TEST(RawProfile, sites_are_named_and_placed) {
  Profile p = read_good(sample_raw().bytes());
  ASSERT_EQ(p.sites.size(), 4u);
  EXPECT_EQ(p.sites[0].name(), "main:model:0");
  EXPECT_TRUE(p.sites[0].root);
  EXPECT_EQ(p.sites[1].primal, (SourceLine{"model.c", 20}));
  EXPECT_EQ(p.sites[1].adjoint, (SourceLine{"model_b.c", 41}));
  EXPECT_EQ(p.sites[1].signature, "ptr,i32");
  EXPECT_EQ(p.sites[2].primal, (SourceLine{"step.c", 30}));
  EXPECT_EQ(p.sites[2].fixed_reason, "");
  EXPECT_EQ(p.sites[3].primal.line, 0u);
  EXPECT_EQ(p.sites[3].fixed_reason, "no split version: the adjoint of solve was not compiled with adprof");
  EXPECT_EQ(p.procedures, (std::vector<std::string>{"model", "step", "flux", "solve"}));
  EXPECT_EQ(p.dialect, "tapenade");
  ASSERT_EQ(p.doubts.size(), 1u);
  EXPECT_EQ(p.doubts[0].text, "stores to\ta stack");
}

TEST(RawProfile, process_numbers_arrive) {
  Profile p = read_good(sample_raw().bytes());
  ASSERT_EQ(p.processes.size(), 1u);
  const Process &process = p.processes[0];
  EXPECT_EQ(process.command, "./model --steps 10");
  EXPECT_EQ(process.rank, "3");
  EXPECT_TRUE(process.finished);
  EXPECT_EQ(process.stop_reason, "");
  EXPECT_EQ(process.wall_ns, 2e9);
  EXPECT_EQ(process.hook_ns, 5000);            // 100 hooks of 50 ns
  EXPECT_EQ(process.adjoint_ns, 1.5e9 - 4000); // 80 of them inside the root
  EXPECT_EQ(process.stack_peak_bits, 8032);
  EXPECT_EQ(process.adstack_peak_bytes, 1004);
  EXPECT_EQ(process.losses.reverse_calls, 30);
  EXPECT_EQ(process.losses.matched_latest, 1);
}

TEST(RawProfile, an_adstack_without_a_count_is_minus_one) {
  Profile p = read_good(sample_raw().header64(120, UINT64_MAX).bytes());
  EXPECT_EQ(p.processes[0].adstack_peak_bytes, -1);
}

TEST(RawProfile, ticks_become_ns_without_hook_time) {
  Profile p = read_good(sample_raw().bytes());
  ASSERT_EQ(p.contexts.size(), 4u);
  const Context &step = p.contexts[1];
  EXPECT_EQ(step.parent, 0u);
  EXPECT_EQ(step.procedure, 1u);
  EXPECT_EQ(step.primal_ns, 5e8);
  // 40 hooks of 50 ns off 3000 + 5000 ns, in proportion
  EXPECT_DOUBLE_EQ(step.forward_ns, 2250);
  EXPECT_DOUBLE_EQ(step.backward_ns, 3750);
  EXPECT_EQ(step.tape_bits.least, 228);
  EXPECT_EQ(p.contexts[0].snapshot_bits.least, 0) << "nothing seen yet is not all ones";
}

TEST(RawProfile, other_tick_rates_scale) {
  Profile p = read_good(sample_raw().header64(48, 2000000000).bytes());
  EXPECT_EQ(p.contexts[1].primal_ns, 2.5e8);
}

TEST(RawProfile, snapshot_times_cover_all_bits) {
  Profile p = read_good(sample_raw().bytes());
  // Writing was timed for 3200 of 6400 bits, reading for all.
  EXPECT_DOUBLE_EQ(p.contexts[1].snapshot_write_ns, 2000);
  EXPECT_DOUBLE_EQ(p.contexts[1].snapshot_read_ns, 4000);
  EXPECT_FALSE(p.contexts[1].snapshot_time_estimated);
  // Nothing was timed for solve: 320 bits at the rates seen elsewhere, 1000 ns for 3200 bits and 4000 for 6400.
  EXPECT_DOUBLE_EQ(p.contexts[3].snapshot_write_ns, 100);
  EXPECT_DOUBLE_EQ(p.contexts[3].snapshot_read_ns, 200);
  EXPECT_TRUE(p.contexts[3].snapshot_time_estimated);
}

TEST(RawProfile, truncation_at_every_byte_is_an_error) {
  std::string bytes = sample_raw().bytes();
  // Between the records of the large, mostly empty thread segment one byte in 97 is enough.
  for (size_t length = 0; length < bytes.size(); length += length < 40000 ? 1 : 97) {
    Result<Profile> read = read_raw(std::string_view(bytes).substr(0, length), "raw.1");
    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().kind, ErrorKind::kUnreadable);
  }
  expect_error(bytes.substr(0, 5), ErrorKind::kUnreadable, "is no raw profile");
  expect_error(bytes.substr(0, 100), ErrorKind::kUnreadable, "the header alone has 4096");
  expect_error(bytes.substr(0, 10000), ErrorKind::kUnreadable, "is truncated: 10000 of");
}

TEST(RawProfile, headers_of_other_kinds_are_named) {
  expect_error(sample_raw().header32(16, 0x04030201).bytes(), ErrorKind::kUnreadable, "other byte order");
  expect_error(sample_raw().header32(8, 9).header32(12, 7).bytes(), ErrorKind::kUnreadable,
               "version 9 needs an adprof that reads version 7, this one reads up to 1");
  expect_error(sample_raw().header32(20, 2).bytes(), ErrorKind::kUnreadable, "uses features 2");
  expect_error(sample_raw().header64(48, 0).bytes(), ErrorKind::kUnreadable, "holds nothing");
  EXPECT_TRUE(read_raw(sample_raw().header32(8, 9).bytes(), "raw.1")) << "a later version that this reader still understands";
}

TEST(RawProfile, states_of_the_program) {
  EXPECT_FALSE(read_good(sample_raw().header32(32, 0).bytes()).processes[0].finished);
  Profile stopped = read_good(sample_raw().header32(32, 2).header32(36, 2).bytes());
  EXPECT_FALSE(stopped.processes[0].finished);
  EXPECT_EQ(stopped.processes[0].stop_reason, "more than 4096 nested adjoint procedures");
}

TEST(RawProfile, contradictions_are_errors) {
  auto with_nodes = [](const std::string &nodes) {
    return RawBuilder().procedures({"f"}).nodes(0, nodes).thread(0, 0, 0, 0, {}).bytes();
  };
  EXPECT_TRUE(read_raw(with_nodes(RawBuilder::node(0, 1, {})), "raw.1"));
  expect_error(with_nodes(RawBuilder::node(7, 1, {})), ErrorKind::kInvalid, "procedure 7 is named, the file lists 1");
  expect_error(with_nodes(RawBuilder::node(0, 1, {{0, 0, kRawNoSite, 0, 0, 0}})), ErrorKind::kInvalid, "leads to node 0");
  expect_error(with_nodes(RawBuilder::node(0, std::uint64_t{1} << 63, {})), ErrorKind::kInvalid, "accepted are 0 to 2^60");
  expect_error(with_nodes(RawBuilder::node(0, 1, {}).substr(0, 23)), ErrorKind::kInvalid, "node 0 is cut off");
  std::string liar = RawBuilder::node(0, 1, {});
  put32(liar, 0, 0xffffffffu);
  expect_error(with_nodes(liar), ErrorKind::kInvalid, "node 0 claims 4294967295 entries, there is room for 0");
  expect_error(with_nodes(RawBuilder::node(0, 1, {}) + RawBuilder::node(0, 1, {{0, 0, 5, 0, 0, 0}})), ErrorKind::kInvalid, "site 5 is named");
  expect_error(with_nodes(RawBuilder::node(0, 1, {}) + RawBuilder::node(0, 1, {{0, 0, kRawLoop, 0, 0, 0}})), ErrorKind::kInvalid, "count is 0");

  expect_error(RawBuilder().procedures({"f"}).contexts(0, RawBuilder::context(0, kRawNoSite, 0, {})).bytes(), ErrorKind::kInvalid,
               "context 0 has the parent 0");
  expect_error(RawBuilder().procedures({"f"}).contexts(0, std::string(255, '\0')).bytes(), ErrorKind::kInvalid, "in the middle of one");
  expect_error(RawBuilder().segment(7, 0, "short").bytes(), ErrorKind::kInvalid, "a thread's state has 5 bytes");
  std::string large = sample_raw().bytes();
  put64(large, 4096 + 8, UINT64_MAX - 4095); // the first segment's size
  expect_error(large, ErrorKind::kInvalid, "segment at byte 4096 claims 18446744073709547520 bytes");
  std::string used = sample_raw().bytes();
  put64(used, 4096 + 16, 4065);
  expect_error(used, ErrorKind::kInvalid, "claims 4065 bytes of data in 4096");
  expect_error(RawBuilder().module("call\t0\tzz\n").bytes(), ErrorKind::kInvalid, "line 1 of the sites of an object: a call with missing");
  std::string frames = RawBuilder().thread(0, 0, 0, 0, {}).bytes();
  put64(frames, 4096 + 32 + 32, 5000);
  expect_error(frames, ErrorKind::kInvalid, "claims 5000 open frames");
}

TEST(RawProfile, open_frames_of_a_killed_run_become_abandoned_nodes) {
  // model at height 0 has reversed nothing; its step in flight begins at 100; flux within it at 140 has pushed 60 so far.
  // step has reversed one flux already: it began at 180, 30 bits were pushed behind it.
  RawBuilder raw;
  raw.header32(32, 0);
  raw.procedures({"model", "step", "flux"}).sites({1, 2, 3});
  raw.nodes(0, RawBuilder::node(2, 50, {}));
  raw.thread(0, 200, 900, 1000, {{30, 0, 2, 5, 0, 0}},
             {{0, 0, 0, 0, 0, 0}, {1, 1, 1, 0, 100, 180}, {2, 2, 2, 1, 140, 140}});
  Profile p = read_good(raw.bytes());
  EXPECT_FALSE(p.processes[0].finished);
  ASSERT_EQ(p.nodes.size(), 5u);
  const Node &flux = p.nodes[1], &step = p.nodes[2], &model = p.nodes[3], &ordinary = p.nodes[4];
  EXPECT_TRUE(flux.abandoned && step.abandoned && model.abandoned);
  EXPECT_EQ(flux.own_after_bits, 60);
  ASSERT_EQ(step.edges.size(), 2u);
  EXPECT_EQ(step.edges[0].own_before_bits, 40); // 100 to 140
  EXPECT_EQ(step.edges[0].node, 1u);
  EXPECT_EQ(step.edges[1].own_before_bits, 40); // 140 to 180: snapshot and own bits, not told apart any more
  EXPECT_EQ(step.edges[1].node, 0u);
  EXPECT_EQ(step.own_after_bits, 30);
  ASSERT_EQ(model.edges.size(), 1u);
  EXPECT_EQ(model.edges[0].own_before_bits, 100);
  EXPECT_EQ(model.edges[0].site, 1u);
  ASSERT_EQ(ordinary.edges.size(), 1u);
  EXPECT_FALSE(ordinary.abandoned);
}

TEST(RawProfile, threads_share_equal_nodes_and_contexts) {
  RawBuilder raw;
  raw.procedures({"f", "g"}).sites({site_key("f", "g", 0)});
  for (std::uint32_t thread : {0u, 1u}) {
    raw.nodes(thread, RawBuilder::node(1, 64, {}) + RawBuilder::node(0, 8, {{0, 0, 0, 16, 0, 0}}));
    raw.contexts(thread, RawBuilder::context(0xffffffffu, kRawNoSite, 0, {{8, 1}, {56, 24}, {64, 24}, {72, 24}}) +
                             RawBuilder::context(0, 0, 1, {{8, 2 + thread}, {56, 128}, {64, 60 + thread}, {72, 68 + thread}}));
    raw.thread(thread, 0, 100 + thread, 1000, {{0, 1, kRawNoSite, 0, 0, 2}});
  }
  Profile p = read_good(raw.bytes());
  EXPECT_EQ(p.nodes.size(), 3u) << "g, f and the ordinary code of both";
  ASSERT_EQ(p.threads.size(), 2u);
  EXPECT_EQ(p.threads[0].root, p.threads[1].root);
  EXPECT_EQ(p.processes[0].stack_peak_bits, 201) << "stacks stand beside each other";
  ASSERT_EQ(p.contexts.size(), 2u);
  EXPECT_EQ(p.contexts[0].site, kNoIndex);
  EXPECT_EQ(p.contexts[0].procedure, 0u);
  EXPECT_EQ(p.contexts[1].invocations_on, 5);
  EXPECT_EQ(p.contexts[1].tape_bits.least, 60);
  EXPECT_EQ(p.contexts[1].tape_bits.largest, 69);
}

TEST(RawProfile, a_call_that_only_looked_like_an_adjoint_leaves_no_site) {
  RawBuilder raw = sample_raw();
  std::uint64_t guess = site_key("main", "look", 0);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(guess));
  raw.module("adprof\t1\tmain.c\tclang\ncall\t0\t" + std::string(text) + "\tadjoint\tmain\tlook\t0\t12\tmain.c\t14\tlook_b\tmain\tptr\n");
  raw.sites({guess});
  EXPECT_EQ(read_good(raw.bytes()).sites.size(), 4u);
  raw.contexts(0, RawBuilder::context(0xffffffffu, 4, 0, {{8, 1}}));
  Profile p = read_good(raw.bytes());
  ASSERT_EQ(p.sites.size(), 5u);
  EXPECT_EQ(p.sites[4].name(), "main:look:0");
}

TEST(RawProfile, ranks_merge_and_fold) {
  Profile one = read_good(sample_raw().bytes());
  Profile both = merge({one, one});
  EXPECT_EQ(both.processes.size(), 2u);
  EXPECT_EQ(both.threads[1].process, 1u);
  EXPECT_EQ(both.nodes, one.nodes);
  EXPECT_EQ(both.sites.size(), one.sites.size());
  EXPECT_EQ(both.contexts[1].invocations_on, 20);
  EXPECT_EQ(both.contexts[1].tape_bits.total, 4560);
  EXPECT_EQ(both.contexts[1].tape_bits.least, 228);
  EXPECT_EQ(both.contexts[1].primal_ns, 1e9);
  EXPECT_EQ(both.sites[3].fixed_reason, one.sites[3].fixed_reason);
  EXPECT_EQ(both.doubts.size(), 1u);
}

TEST(RawProfile, ranks_whose_sites_differ_merge_by_name) {
  Profile one = read_good(sample_raw().bytes()), other = one;
  std::swap(other.sites[0], other.sites[1]);
  for (Context &context : other.contexts)
    context.site ^= context.site < 2;
  for (Node &node : other.nodes)
    for (Edge &edge : node.edges)
      if (edge.site < 2)
        edge.site ^= 1;
  EXPECT_EQ(write_json(merge({one, other})), write_json(merge({one, one})));
}

} // namespace
} // namespace adprof::profile
