// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// Copies and matrices in the registers of each lane.

#swizzled = #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>

// CHECK-LABEL: simt.kernel @words
simt.kernel @words(%x: !tile.view<?x?xf16, shared>, %i: i64, %w: i32, %f: f32, %d: f64) attributes {simt.threads = 64} {
  %m = simt.alloc_shared : !tile.buffer<16x64xf16, #swizzled>
  // CHECK: gpu.cp_async_elements %m[%i, %i], %x[%i, %i] {count = 8 : i64} : !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.view<?x?xf16, shared>
  // GENERIC: "gpu.cp_async_elements"(%m, %i, %i, %x, %i, %i) <{count = 8 : i64, operandSegmentSizes = array<i32: 1, 2, 1, 2>}> : (!tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, i64, i64, !tile.view<?x?xf16, shared>, i64, i64) -> ()
  gpu.cp_async_elements %m[%i, %i], %x[%i, %i] {count = 8} : !tile.buffer<16x64xf16, #swizzled>, !tile.view<?x?xf16, shared>
  // CHECK: gpu.cp_async_elements %m[%i, %i], %x[%i, %i] {count = 4 : i64, aligned} :
  // GENERIC: "gpu.cp_async_elements"(%m, %i, %i, %x, %i, %i) <{count = 4 : i64, aligned, operandSegmentSizes =
  gpu.cp_async_elements %m[%i, %i], %x[%i, %i] {count = 4, aligned} : !tile.buffer<16x64xf16, #swizzled>, !tile.view<?x?xf16, shared>
  // CHECK: %a, %a_1, %a_2, %a_3 = gpu.ldmatrix_words %m[%i, %i] : !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>> -> i32, i32, i32, i32
  // GENERIC: %a, %a_1, %a_2, %a_3 = "gpu.ldmatrix_words"(%m, %i, %i) : (!tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, i64, i64) -> (i32, i32, i32, i32)
  %a:4 = gpu.ldmatrix_words %m[%i, %i] : !tile.buffer<16x64xf16, #swizzled> -> i32, i32, i32, i32
  // CHECK: %b, %b_1 = gpu.ldmatrix_words %m[%i, %i] {transposed} : !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>> -> i32, i32
  // GENERIC: %b, %b_1 = "gpu.ldmatrix_words"(%m, %i, %i) <{transposed}> : (!tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, i64, i64) -> (i32, i32)
  %b:2 = gpu.ldmatrix_words %m[%i, %i] {transposed} : !tile.buffer<16x64xf16, #swizzled> -> i32, i32
  // CHECK: %c, %c_1, %c_2, %c_3 = gpu.mma_words[%a, %a_1, %a_2, %a_3], [%b, %b_1], [%f, %f, %f, %f] {shape = "m16n8k16", a_type = "f16", b_type = "f16", acc_type = "f32"} : i32, i32, i32, i32 by i32, i32 in f32, f32, f32, f32 -> f32, f32, f32, f32
  // GENERIC: %c, %c_1, %c_2, %c_3 = "gpu.mma_words"(%a, %a_1, %a_2, %a_3, %b, %b_1, %f, %f, %f, %f) <{shape = "m16n8k16", a_type = "f16", b_type = "f16", acc_type = "f32", operandSegmentSizes = array<i32: 4, 2, 4>}> : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %c:4 = gpu.mma_words [%a#0, %a#1, %a#2, %a#3], [%b#0, %b#1], [%f, %f, %f, %f] {shape = "m16n8k16", a_type = "f16", b_type = "f16", acc_type = "f32"} : i32, i32, i32, i32 by i32, i32 in f32, f32, f32, f32 -> f32, f32, f32, f32
  // CHECK: %e, %e_1 = gpu.mma_words[%d], [%d], [%d, %d] {shape = "m8n8k4", a_type = "f64", b_type = "f64", acc_type = "f64"} : f64 by f64 in f64, f64 -> f64, f64
  // GENERIC: %e, %e_1 = "gpu.mma_words"(%d, %d, %d, %d) <{shape = "m8n8k4", a_type = "f64", b_type = "f64", acc_type = "f64", operandSegmentSizes = array<i32: 1, 1, 2>}> : (f64, f64, f64, f64) -> (f64, f64)
  %e:2 = gpu.mma_words [%d], [%d], [%d, %d] {shape = "m8n8k4", a_type = "f64", b_type = "f64", acc_type = "f64"} : f64 by f64 in f64, f64 -> f64, f64
  // CHECK: gpu.stmatrix_words %m[%i, %i], %b, %b_1 {transposed} : !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, i32, i32
  // GENERIC: "gpu.stmatrix_words"(%m, %i, %i, %b, %b_1) <{transposed, operandSegmentSizes = array<i32: 1, 2, 2>}> : (!tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, i64, i64, i32, i32) -> ()
  gpu.stmatrix_words %m[%i, %i], %b#0, %b#1 {transposed} : !tile.buffer<16x64xf16, #swizzled>, i32, i32
  // CHECK: gpu.fence_proxy_async
  // GENERIC: "gpu.fence_proxy_async"() : () -> ()
  gpu.fence_proxy_async
  simt.return
}
