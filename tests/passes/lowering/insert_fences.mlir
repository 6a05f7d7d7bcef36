// RUN: tileopt %s -p insert-fences --split-input-file | filecheck %s

#rows = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>
#cols = #tile.layout<regs = [[1, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>

// Written, read by other threads, written again: two barriers, none at the end.
// CHECK-LABEL: simt.kernel @exchange
// CHECK-NOT:     simt.barrier
// CHECK:         simt.shared_store
// CHECK-NEXT:    simt.barrier
// CHECK-NEXT:    simt.shared_load
// CHECK-NEXT:    simt.barrier
// CHECK-NEXT:    simt.shared_store
// CHECK-NOT:     simt.barrier
// CHECK:         simt.return
simt.kernel @exchange(%f: f32) attributes {simt.threads = 32 : i64} {
  %v = simt.splat %f : f32 -> vector<2xf32>
  %a = simt.alloc_shared : !tile.buffer<8x8xf32>
  simt.shared_store %v, %a {layout = #rows} : vector<2xf32>, !tile.buffer<8x8xf32>
  %w = simt.shared_load %a {layout = #cols} : !tile.buffer<8x8xf32> -> vector<2xf32>
  simt.shared_store %w, %a {layout = #rows} : vector<2xf32>, !tile.buffer<8x8xf32>
  simt.return
}

// -----

#rows = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>

// Each element is read and written by one thread.
// CHECK-LABEL: simt.kernel @in_place
// CHECK-NOT:     simt.barrier
// CHECK:         simt.return
simt.kernel @in_place(%x: !tile.view<?x?xf32, owned>) attributes {simt.threads = 32 : i64} {
  %z = arith.constant 0 : i64
  %v = simt.fragment_load %x[%z, %z] {layout = #rows, shape = array<i64: 8, 8>} : !tile.view<?x?xf32, owned> -> vector<2xf32>
  %w = arith.addf %v, %v : vector<2xf32>
  simt.fragment_store %w, %x[%z, %z] {layout = #rows, shape = array<i64: 8, 8>} : vector<2xf32>, !tile.view<?x?xf32, owned>
  simt.return
}

// -----

#rows = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>
#cols = #tile.layout<regs = [[1, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>

// What is written once before a loop costs one barrier, before the loop.
// CHECK-LABEL: simt.kernel @before_a_loop
// CHECK:         simt.shared_store
// CHECK:         simt.barrier
// CHECK-NEXT:    scf.for
// CHECK-NOT:     simt.barrier
// CHECK:         simt.return
simt.kernel @before_a_loop(%f: f32, %n: i64) attributes {simt.threads = 32 : i64} {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %v = simt.splat %f : f32 -> vector<2xf32>
  %a = simt.alloc_shared : !tile.buffer<8x8xf32>
  simt.shared_store %v, %a {layout = #rows} : vector<2xf32>, !tile.buffer<8x8xf32>
  scf.for %i = %z to %n step %u : i64 {
    %w = simt.shared_load %a {layout = #cols} : !tile.buffer<8x8xf32> -> vector<2xf32>
  }
  simt.return
}

// -----

#rows = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>
#cols = #tile.layout<regs = [[1, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>

// A ring of three slots, filled two iterations ahead. The one barrier publishes what was waited for, and keeps the
// slot that is filled from its readers in the iteration before.
// CHECK-LABEL: simt.kernel @ring
// CHECK-NOT:     simt.barrier
// CHECK:         scf.for
// CHECK:           gpu.cp_async_wait
// CHECK:           simt.barrier
// CHECK:           scf.if
// CHECK-NOT:       simt.barrier
// CHECK:         simt.return
simt.kernel @ring(%x: !tile.view<?x?xf32, shared>, %n: i64) attributes {simt.threads = 32 : i64} {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %r = simt.alloc_shared {slots = 3 : i64} : !tile.buffer<8x8xf32>
  %s0 = simt.slot %r[%z] : !tile.buffer<8x8xf32> -> !tile.buffer<8x8xf32>
  gpu.cp_async %x[%z, %z], %s0 {layout = #rows, vector = 2 : i64} : !tile.view<?x?xf32, shared>, !tile.buffer<8x8xf32>
  gpu.cp_async_commit
  %s1 = simt.slot %r[%u] : !tile.buffer<8x8xf32> -> !tile.buffer<8x8xf32>
  gpu.cp_async %x[%u, %z], %s1 {layout = #rows, vector = 2 : i64} : !tile.view<?x?xf32, shared>, !tile.buffer<8x8xf32>
  gpu.cp_async_commit
  scf.for %i = %z to %n step %u : i64 {
    gpu.cp_async_wait {pending = 1 : i64}
    %now = arith.remui %i, %three : i64
    %a = simt.slot %r[%now] : !tile.buffer<8x8xf32> -> !tile.buffer<8x8xf32>
    %next = arith.addi %i, %two : i64
    %more = arith.cmpi slt, %next, %n : i64
    scf.if %more {
      %then = arith.remui %next, %three : i64
      %b = simt.slot %r[%then] : !tile.buffer<8x8xf32> -> !tile.buffer<8x8xf32>
      gpu.cp_async %x[%next, %z], %b {layout = #rows, vector = 2 : i64} : !tile.view<?x?xf32, shared>, !tile.buffer<8x8xf32>
    }
    gpu.cp_async_commit
    %v = simt.shared_load %a {layout = #cols} : !tile.buffer<8x8xf32> -> vector<2xf32>
  }
  simt.return
}
