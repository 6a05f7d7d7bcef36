// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// The fragments of mma.m16n8k16.
#a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>
#b = #tile.layout<regs = [[1, 0], [8, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>
#rows = #tile.layout<regs = [[0, 1], [0, 2], [0, 4]], lanes = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warps = []>
#swizzled = #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>

// CHECK-LABEL: simt.kernel @product
simt.kernel @product(%x: !tile.view<?x?xf16, shared>, %i: i64, %z: f32) {
  // CHECK-NEXT: %m = simt.alloc_shared
  %m = simt.alloc_shared : !tile.buffer<16x16xf16, #swizzled>
  // CHECK-NEXT: gpu.cp_async %x[%i, %i], %m {layout = #tile.layout<{{.*}}>, vector = 8 : i64} : !tile.view<?x?xf16, shared>, !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
  // GENERIC: "gpu.cp_async"(%x, %i, %i, %m) <{layout = #tile.layout<{{.*}}>, vector = 8 : i64}> : (!tile.view<?x?xf16, shared>, i64, i64, !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>) -> ()
  gpu.cp_async %x[%i, %i], %m {layout = #rows, vector = 8} : !tile.view<?x?xf16, shared>, !tile.buffer<16x16xf16, #swizzled>
  // CHECK-NEXT: gpu.cp_async %x[%i, %i], %m {layout = #tile.layout<{{.*}}>, vector = 2 : i64, bounds = #tile.bounds<masked [0, 1]>, padding = 0.000000e+00 : f16} :
  gpu.cp_async %x[%i, %i], %m {layout = #rows, vector = 2, bounds = #tile.bounds<masked [0, 1]>, padding = 0.0 : f16} : !tile.view<?x?xf16, shared>, !tile.buffer<16x16xf16, #swizzled>
  // CHECK-NEXT: gpu.cp_async_commit
  // GENERIC: "gpu.cp_async_commit"() : () -> ()
  gpu.cp_async_commit
  // CHECK-NEXT: gpu.cp_async_wait {pending = 0 : i64}
  // GENERIC: "gpu.cp_async_wait"() <{pending = 0 : i64}> : () -> ()
  gpu.cp_async_wait {pending = 0}
  // CHECK-NEXT: simt.barrier
  simt.barrier
  // CHECK-NEXT: %a = gpu.ldmatrix %m {layout = #tile.layout<{{.*}}>} : !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>> -> vector<8xf16>
  // GENERIC: %a = "gpu.ldmatrix"(%m) <{layout = #tile.layout<{{.*}}>}> : (!tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>) -> vector<8xf16>
  %a = gpu.ldmatrix %m {layout = #a} : !tile.buffer<16x16xf16, #swizzled> -> vector<8xf16>
  // CHECK-NEXT: %b = gpu.ldmatrix
  %b = gpu.ldmatrix %m {layout = #b} : !tile.buffer<16x16xf16, #swizzled> -> vector<8xf16>
  // CHECK-NEXT: %c = simt.splat
  %c = simt.splat %z : f32 -> vector<8xf32>
  // CHECK-NEXT: %d = gpu.mma_sync %a, %b, %c {atom = "mma.m16n8k16.f16", m = 16 : i64, n = 16 : i64, k = 16 : i64, layout_a = #tile.layout<{{.*}}>, layout_b = #tile.layout<{{.*}}>, layout_acc = #tile.layout<{{.*}}>} : vector<8xf16>, vector<8xf16>, vector<8xf32> -> vector<8xf32>
  // GENERIC: %d = "gpu.mma_sync"(%a, %b, %c) <{atom = "mma.m16n8k16.f16", m = 16 : i64, n = 16 : i64, k = 16 : i64, {{.*}}}> : (vector<8xf16>, vector<8xf16>, vector<8xf32>) -> vector<8xf32>
  %d = gpu.mma_sync %a, %b, %c {atom = "mma.m16n8k16.f16", m = 16, n = 16, k = 16, layout_a = #a, layout_b = #b, layout_acc = #acc} : vector<8xf16>, vector<8xf16>, vector<8xf32> -> vector<8xf32>
  simt.return
}

// A byte of scales for each block of K, in the lanes of a row of a and of a column of b.
// CHECK-LABEL: simt.kernel @block_scales
simt.kernel @block_scales() {
  %a, %b, %c, %s, %t = "test.op"() : () -> (vector<16xi8>, vector<8xi8>, vector<4xf32>, vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU>)
  // CHECK: %d = gpu.mma_sync %a, %b, %c scaled %s, %t {{.*}} blocks = 2 : i64, layout_a_scale = #tile.layout<{{.*}}>, layout_b_scale = #tile.layout<{{.*}}>} : vector<16xi8>, vector<8xi8>, vector<4xf32> scaled vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU> -> vector<4xf32>
  // GENERIC: %d = "gpu.mma_sync"(%a, %b, %c, %s, %t) <{{.*}}> : (vector<16xi8>, vector<8xi8>, vector<4xf32>, vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU>) -> vector<4xf32>
  %d = gpu.mma_sync %a, %b, %c scaled %s, %t {atom = "mma_mxf4_m16n8k64_f4e2m1fn_f8e8m0fnu", m = 16, n = 8, k = 32, layout_a = #tile.layout<regs = [[0, 1], [0, 2], [8, 0], [0, 16]], lanes = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [2, 0], [16, 0]], lanes = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, blocks = 2, layout_a_scale = #tile.layout<regs = [[0, 1]], lanes = [[8, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b_scale = #tile.layout<regs = [[1, 0]], lanes = [[0, 0], [0, 0], [0, 1], [0, 2], [0, 4]], warps = []>} : vector<16xi8>, vector<8xi8>, vector<4xf32> scaled vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU> -> vector<4xf32>
  simt.return
}
