// RUN: tileopt %s -p lower-accumulators --split-input-file | filecheck %s

#l = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
!a = !tile.buffer<128x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!b = !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!f = vector<16xf32>

// Two accumulators side by side, a third one where the second was; columns by powers of two, from the first warp. Each
// wait has a barrier, and counts how often it came before.
// CHECK-LABEL: simt.kernel @columns
// CHECK:         [[BARS:%.*]] = simt.alloc_shared : !tile.buffer<2xi64>
// CHECK-NEXT:    [[TOLD:%.*]] = simt.alloc_shared : !tile.buffer<1xi32>
// CHECK:         gpu.mbarrier_init [[BARS]]
// CHECK:         gpu.mbarrier_init [[BARS]]
// CHECK:         gpu.mbarrier_fence
// CHECK:         [[WARP:%.*]] = arith.constant 32 : i32
// CHECK-NEXT:    [[FIRST:%.*]] = arith.cmpi ult, {{.*}}, [[WARP]]
// CHECK-NEXT:    scf.if [[FIRST]] {
// CHECK-NEXT:      gpu.tcgen05_alloc [[TOLD]]{{.*}} {columns = 64 : i64}
// CHECK-NEXT:      gpu.tcgen05_relinquish
// CHECK-NEXT:    }
// CHECK-NEXT:    simt.barrier
// CHECK:         [[BASE:%.*]] = simt.element_load [[TOLD]]
// CHECK:         %d = gpu.accumulator at [[BASE]] {columns = 32 : i64, start = 0 : i64}
// CHECK:         scf.for %i = {{.*}} iter_args([[COUNT:%.*]] = {{.*}}) -> (i64)
// CHECK:           %e = gpu.accumulator at [[BASE]] {columns = 16 : i64, start = 32 : i64}
// CHECK:           gpu.accumulate %x, %y, %e
// CHECK:           scf.if {{.*}} {
// CHECK-NEXT:        gpu.tcgen05_commit [[BARS]]
// CHECK-NEXT:      }
// CHECK-NEXT:      gpu.mbarrier_wait [[BARS]][{{.*}}], [[COUNT]]
// CHECK-NEXT:      simt.barrier
// CHECK:           [[NEXT:%.*]] = arith.addi [[COUNT]]
// CHECK-NEXT:      scf.yield [[NEXT]]
// CHECK:         %g = gpu.accumulator at [[BASE]] {columns = 16 : i64, start = 32 : i64}
// CHECK:         gpu.mbarrier_wait [[BARS]]
// CHECK:         simt.barrier
// CHECK:         scf.if
// CHECK:           gpu.tcgen05_dealloc {{.*}} {columns = 64 : i64}
// CHECK-NEXT:    }
// CHECK-NEXT:    simt.return
module attributes {tile.target = "sm_100a"} {
simt.kernel @columns(%z: i64, %n: i64, %u: i64, %w: f32) attributes {simt.threads = 128 : i64} {
  %x = simt.alloc_shared : !a
  %y = simt.alloc_shared : !b
  %f = simt.splat %w : f32 -> !f
  %v = simt.splat %w : f32 -> vector<32xf32>
  %d = gpu.accumulator {columns = 32}
  gpu.accumulator_store %v, %d {layout = #l, shape = array<i64: 128, 32>} : vector<32xf32>
  scf.for %i = %z to %n step %u : i64 {
    %e = gpu.accumulator {columns = 16}
    gpu.accumulator_store %f, %e {layout = #l, shape = array<i64: 128, 16>} : !f
    gpu.accumulate %x, %y, %e {atom = "tcgen05_m128n16k16_f16_f32"} : !a, !b
    gpu.accumulator_wait
    %h = gpu.accumulator_load %e {layout = #l, shape = array<i64: 128, 16>} : !f
  }
  %g = gpu.accumulator {columns = 16}
  gpu.accumulate %x, %y, %g {atom = "tcgen05_m128n16k16_f16_f32", fresh} : !a, !b
  gpu.accumulator_wait
  %h = gpu.accumulator_load %g {layout = #l, shape = array<i64: 128, 16>} : !f
  %k = gpu.accumulator_load %d {layout = #l, shape = array<i64: 128, 32>} : vector<32xf32>
  simt.return
}
}
