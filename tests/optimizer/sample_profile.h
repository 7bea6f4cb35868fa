/// A small profile that uses every member of the format; tests change what they need.
#pragma once

#include "optimizer/profile/profile.h"

namespace adprof::profile {

/// main calls the root `model`, whose loop of 10 steps calls `step` (on), which calls `flux` (off) and the opaque `solve`.
inline Profile sample_profile() {
  Profile p;
  p.adprof_version = "0.1.0";
  p.dialect = "tapenade";
  p.procedures = {"model", "step", "flux", "solve"};
  p.sites = {{"main", "model", 0, {"main.c", 10}, {"main_b.c", 11}, true, "", ""},
             {"model", "step", 0, {"model.c", 20}, {"model_b.c", 21}, false, "", "ptr,i32"},
             {"step", "flux", 0, {"step.c", 30}, {"step_b.c", 31}, false, "", "ptr"},
             {"step", "solve", 0, {}, {"step_b.c", 35}, false, "no split version: solve_b was not compiled with adprof", "ptr"}};
  Process process;
  process.command = "./model_adjoint --steps 10";
  process.executable = "/home/user/model_adjoint";
  process.build_id = "00ff";
  process.host = "here";
  process.rank = "0";
  process.finished = true;
  process.wall_ns = 2e9;
  process.cpu_ns = 1.9e9;
  process.adjoint_ns = 1.5e9;
  process.hook_ns = 1e6;
  process.resident_peak_bytes = 1 << 20;
  process.resident_other_bytes = 1 << 19;
  process.stack_peak_bits = 7072;
  process.traffic_bits = 20000;
  process.adstack_peak_bytes = 884;
  process.adstack_traffic_bytes = 2500;
  process.losses = {30, 28, 1, 1, 0, 0, 0, 0, 0, 0};
  p.processes = {process};
  // flux: leaf of 100 bits; solve: opaque; step: 8 own, flux off, 64 own, solve with a snapshot of 32 bits, 16 own
  p.nodes.resize(5);
  p.nodes[0] = {2, {}, 100, false, false};
  p.nodes[1] = {3, {}, 0, false, false};
  p.nodes[2].procedure = 1;
  p.nodes[2].edges.resize(2);
  p.nodes[2].edges[0] = {8, EdgeKind::kCall, 2, 0, 1, 0, 0, false, true, false, false};
  p.nodes[2].edges[1] = {64, EdgeKind::kCall, 3, 1, 1, 32, 0, true, true, true, false};
  p.nodes[2].own_after_bits = 16;
  p.nodes[3].edges = {{0, EdgeKind::kCall, 1, 2, 1, 640, 64, true, true, false, false}}; // body of the loop
  p.nodes[4].procedure = 0;
  p.nodes[4].edges = {{1, EdgeKind::kLoop, kNoIndex, 3, 10, 0, 0, true, true, false, false}};
  p.nodes[4].own_after_bits = 7;
  Node ordinary;
  ordinary.edges = {{0, EdgeKind::kCall, 0, 4, 1, 0, 0, true, true, false, false}};
  p.nodes.push_back(ordinary);
  p.threads = {{0, 5, 7072, 20000}};
  Context root;
  root.site = 0;
  root.procedure = 0;
  root.invocations_on = 1;
  root.tape_bits = {7048, 7048, 7048};
  root.forward_ns = 0.7e9;
  root.backward_ns = 0.8e9;
  root.stack_peak_bits = 7072;
  root.resident_peak_bytes = 1 << 20;
  Context step;
  step.parent = 0;
  step.site = 1;
  step.procedure = 1;
  step.invocations_on = 10;
  step.primal_calls = 10;
  step.tape_bits = {2200, 220, 220};
  step.snapshot_bits = {6400, 640, 640};
  step.kept_bits = 640;
  step.primal_ns = 0.5e9;
  step.snapshot_write_ns = 1e6;
  step.snapshot_read_ns = 2e6;
  step.forward_ns = 0.3e9;
  step.backward_ns = 0.4e9;
  step.stack_peak_bits = 7072;
  Context flux;
  flux.parent = 1;
  flux.site = 2;
  flux.procedure = 2;
  flux.invocations_off = 10;
  flux.tape_bits = {1000, 100, 100};
  flux.forward_ns = 0.1e9;
  flux.backward_ns = 0.1e9;
  Context solve;
  solve.parent = 1;
  solve.site = 3;
  solve.procedure = 3;
  solve.invocations_on = 10;
  solve.invocations_sliced = 1;
  solve.repeats = 2;
  solve.primal_calls = 9;
  solve.unreversed = 3;
  solve.snapshot_bits = {320, 32, 32};
  solve.primal_ns = 0.05e9;
  solve.snapshot_time_estimated = true;
  p.contexts = {root, step, flux, solve};
  p.doubts = {{"push", "helper_b", "stores to a stack of its own", {"helper_b.f90", 7}}};
  return p;
}

} // namespace adprof::profile
