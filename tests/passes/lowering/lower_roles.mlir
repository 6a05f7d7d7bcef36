// RUN: tileopt %s -p lower-pipe --split-input-file | filecheck %s

// A channel of two slots is a ring and four barriers: two that a slot is full (one arrival, and its bytes), two that it
// is empty (an arrival of each of the four warps). One thread makes them, all threads know it before the roles part.
// CHECK-LABEL: simt.kernel @roles
// CHECK-SAME:    simt.threads = 256 : i64
// CHECK-SAME:    simt.workers = 128 : i64
// CHECK-SAME:    simt.min_blocks = 2 : i64
// CHECK:         [[RING:%.*]] = simt.alloc_shared {slots = 2 : i64} : !tile.buffer<64x16xbf16
// CHECK-NEXT:    [[B:%.*]] = simt.alloc_shared : !tile.buffer<4xi64>
// CHECK:         scf.if {{%.*}} {
// CHECK:           gpu.mbarrier_init [[B]][{{%.*}}] {count = 1 : i64}
// CHECK:           gpu.mbarrier_init [[B]][{{%.*}}] {count = 1 : i64}
// CHECK:           gpu.mbarrier_init [[B]][{{%.*}}] {count = 4 : i64}
// CHECK:           gpu.mbarrier_init [[B]][{{%.*}}] {count = 4 : i64}
// CHECK-NEXT:      gpu.mbarrier_fence
// CHECK-NEXT:    }
// CHECK-NEXT:    simt.barrier
// CHECK-NOT:     simt.barrier
// Threads 0 to 127 are consumers. Iteration n waits for the end of phase n / 2 of slot n mod 2's "full"; lane 0 of each
// warp says that it is empty, where the release holds.
// CHECK:         [[OF:%.*]] = arith.constant 128 : i32
// CHECK-NEXT:    [[CONSUMER:%.*]] = arith.cmpi ult, {{%.*}}, [[OF]]
// CHECK-NEXT:    scf.if [[CONSUMER]] {
// CHECK-NEXT:      gpu.setmaxnreg {registers = 208 : i64, direction = 1 : i64}
// CHECK:           scf.for {{.*}} iter_args([[N:%n]] = %z)
// CHECK-DAG:         [[S:%.*]] = arith.andi [[N]]
// CHECK-DAG:         [[TURN:%.*]] = arith.divui [[N]]
// CHECK:             gpu.mbarrier_wait [[B]][[[S]]], [[TURN]]
// CHECK-NEXT:        simt.slot [[RING]][[[S]]]
// CHECK:             [[TWO:%.*]] = arith.constant 2 : i64
// CHECK-NEXT:        [[E:%.*]] = arith.addi [[S]], [[TWO]]
// CHECK-NEXT:        gpu.mbarrier_arrive [[B]][[[E]]] where
// The last warpgroup's first thread is the producer. It waits for the end of the phase before n / 2 of "empty", of the
// same parity as n / 2 + 1, then announces the bytes, then copies.
// CHECK:         } else {
// CHECK-NEXT:      gpu.setmaxnreg {registers = 48 : i64, direction = -1 : i64}
// CHECK-NEXT:      [[T:%.*]] = simt.thread_id
// CHECK-NEXT:      [[FIRST:%.*]] = arith.constant 128 : i32
// CHECK-NEXT:      [[ONE:%.*]] = arith.cmpi eq, [[T]], [[FIRST]]
// CHECK-NEXT:      scf.if [[ONE]] {
// CHECK:             scf.for {{.*}} iter_args([[N:%m]] = %z)
// CHECK-DAG:           [[S:%.*]] = arith.andi [[N]]
// CHECK-DAG:           [[TURN:%.*]] = arith.divui [[N]]
// CHECK:               [[E:%.*]] = arith.addi [[S]]
// CHECK:               [[BEFORE:%.*]] = arith.addi [[TURN]]
// CHECK-NEXT:          gpu.mbarrier_wait [[B]][[[E]]], [[BEFORE]]
// CHECK-NEXT:          gpu.mbarrier_arrive [[B]][[[S]]] {expect = 2048 : i64}
// CHECK-NEXT:          [[TILE:%.*]] = simt.slot [[RING]][[[S]]]
// CHECK-NEXT:          gpu.tma_load %x[%m, %z], [[TILE]], [[B]][[[S]]]
// CHECK:         }{simt.role = 128 : i64}
// CHECK-NEXT:    simt.return
!tile = !tile.buffer<64x16xbf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!ring = !pipe.channel<2, !tile>
#rows = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>
module attributes {tile.target = "sm_90a"} {
simt.kernel @roles(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %z: i64, %trips: i64, %p: i1) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  %u = arith.constant 1 : i64
  pipe.roles {warps = 4, consumer_registers = 208, producer_registers = 48, blocks = 2} consumers {
    %last = scf.for %i = %z to %trips step %u iter_args(%n = %z) -> (i64) : i64 {
      %a = pipe.wait %c[%n] {pending = 0} : !ring -> !tile
      pipe.release %c[%n] where %p : !ring
      %n1 = arith.addi %n, %u : i64
      scf.yield %n1 : i64
    }
    pipe.end_role
  } producer {
    %end = scf.for %j = %z to %trips step %u iter_args(%m = %z) -> (i64) : i64 {
      pipe.acquire %c[%m] : !ring
      pipe.copy %x[%m, %z], %c[%m] {member = 0 : i64} : !tile.view<?x?xbf16, shared>, !ring
      pipe.commit %c[%m] : !ring
      %m1 = arith.addi %m, %u : i64
      scf.yield %m1 : i64
    }
    pipe.end_role
  }
  simt.return
}
}
