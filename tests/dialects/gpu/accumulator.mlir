// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// Accumulators of tiles in tensor memory.

#swizzled = #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>
#rows = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>

// CHECK-LABEL: simt.kernel @accumulators
simt.kernel @accumulators(%w: i32) attributes {simt.threads = 128} {
  %a = simt.alloc_shared : !tile.buffer<128x64xf16, #swizzled>
  %b = simt.alloc_shared : !tile.buffer<64x16xf16, #swizzled>
  // CHECK: %p = gpu.accumulator {columns = 16 : i64}
  // GENERIC: %p = "gpu.accumulator"() <{columns = 16 : i64}> : () -> i32
  %p = gpu.accumulator {columns = 16}
  // CHECK-NEXT: %d = gpu.accumulator at %w {columns = 16 : i64, start = 32 : i64}
  // GENERIC: %d = "gpu.accumulator"(%w) <{columns = 16 : i64, start = 32 : i64}> : (i32) -> i32
  %d = gpu.accumulator at %w {columns = 16, start = 32}
  // CHECK-NEXT: gpu.accumulate %a, %b, %d {atom = "tcgen05_m128n16k16_f16_f32", fresh} : !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<64x16xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // GENERIC: "gpu.accumulate"(%a, %b, %d) <{atom = "tcgen05_m128n16k16_f16_f32", fresh}> : (!tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<64x16xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, i32) -> ()
  gpu.accumulate %a, %b, %d {atom = "tcgen05_m128n16k16_f16_f32", fresh} : !tile.buffer<128x64xf16, #swizzled>, !tile.buffer<64x16xf16, #swizzled>
  // CHECK-NEXT: gpu.accumulator_wait
  // GENERIC: "gpu.accumulator_wait"() : () -> ()
  gpu.accumulator_wait
  // CHECK-NEXT: %f = gpu.accumulator_load %d {layout = #tile.layout<{{.*}}>, shape = array<i64: 128, 16>} : vector<16xf32>
  // GENERIC: %f = "gpu.accumulator_load"(%d) <{layout = #tile.layout<{{.*}}>, shape = array<i64: 128, 16>}> : (i32) -> vector<16xf32>
  %f = gpu.accumulator_load %d {layout = #rows, shape = array<i64: 128, 16>} : vector<16xf32>
  // CHECK-NEXT: gpu.accumulator_store %f, %d {layout = #tile.layout<{{.*}}>, shape = array<i64: 128, 16>} : vector<16xf32>
  // GENERIC: "gpu.accumulator_store"(%f, %d) <{layout = #tile.layout<{{.*}}>, shape = array<i64: 128, 16>}> : (vector<16xf32>, i32) -> ()
  gpu.accumulator_store %f, %d {layout = #rows, shape = array<i64: 128, 16>} : vector<16xf32>
  simt.return
}
