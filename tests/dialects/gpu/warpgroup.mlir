// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// Products that a warpgroup starts, on words.

#swizzled = #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>
#bytes = #tile.shared<order = [0, 1], swizzle = [1, 4, 3]>

// CHECK-LABEL: simt.kernel @products
simt.kernel @products(%f: f32, %w: i32) attributes {simt.threads = 128} {
  %a = simt.alloc_shared : !tile.buffer<64x64xf16, #swizzled>
  %b = simt.alloc_shared : !tile.buffer<8x64xf16, #swizzled>
  %t = simt.alloc_shared : !tile.buffer<64x64xf16, #swizzled>
  %c = simt.alloc_shared : !tile.buffer<8x32xi8, #bytes>
  // CHECK: %r, %r_1, %r_2, %r_3 = gpu.wgmma_words shared %a[], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32
  // GENERIC: %r, %r_1, %r_2, %r_3 = "gpu.wgmma_words"(%a, %b, %f, %f, %f, %f) <{a_type = "f16", b_type = "f16", operandSegmentSizes = array<i32: 1, 0, 1, 4>}> : (!tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<64x64xf16, #swizzled>, [], !tile.buffer<8x64xf16, #swizzled>, [f32, f32, f32, f32] -> f32, f32, f32, f32
  // CHECK: %s, %s_1, %s_2, %s_3 = gpu.wgmma_words[%w, %w, %w, %w], %c, [%w, %w, %w, %w] {a_type = "i8", b_type = "u8"} : [i32, i32, i32, i32], !tile.buffer<8x32xi8, #tile.shared<order = [0, 1], swizzle = [1, 4, 3]>>, [i32, i32, i32, i32] -> i32, i32, i32, i32
  // GENERIC: %s, %s_1, %s_2, %s_3 = "gpu.wgmma_words"(%w, %w, %w, %w, %c, %w, %w, %w, %w) <{a_type = "i8", b_type = "u8", operandSegmentSizes = array<i32: 0, 4, 1, 4>}> : (i32, i32, i32, i32, !tile.buffer<8x32xi8, #tile.shared<order = [0, 1], swizzle = [1, 4, 3]>>, i32, i32, i32, i32) -> (i32, i32, i32, i32)
  %s:4 = gpu.wgmma_words [%w, %w, %w, %w], %c, [%w, %w, %w, %w] {a_type = "i8", b_type = "u8"} : [i32, i32, i32, i32], !tile.buffer<8x32xi8, #bytes>, [i32, i32, i32, i32] -> i32, i32, i32, i32
  // CHECK: %d, %d_1, %d_2, %d_3 = gpu.wgmma_wait_words %r, %r_1, %r_2, %r_3 {pending = 1 : i64} : f32, f32, f32, f32 -> f32, f32, f32, f32
  // GENERIC: %d, %d_1, %d_2, %d_3 = "gpu.wgmma_wait_words"(%r, %r_1, %r_2, %r_3) <{pending = 1 : i64}> : (f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %d:4 = gpu.wgmma_wait_words %r#0, %r#1, %r#2, %r#3 {pending = 1} : f32, f32, f32, f32 -> f32, f32, f32, f32
  simt.return
}
