// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// Tensor memory.

#swizzled = #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>

// CHECK-LABEL: simt.kernel @tensor
simt.kernel @tensor(%i: i64, %w: i32, %p: i1) attributes {simt.threads = 128} {
  %a = simt.alloc_shared : !tile.buffer<128x64xf16, #swizzled>
  %b = simt.alloc_shared : !tile.buffer<16x64xf16, #swizzled>
  %s = simt.alloc_shared : !tile.buffer<1xi32>
  %m = simt.alloc_shared : !tile.buffer<1xi64>
  // CHECK: gpu.tcgen05_alloc %s[%i] {columns = 32 : i64} : !tile.buffer<1xi32>
  // GENERIC: "gpu.tcgen05_alloc"(%s, %i) <{columns = 32 : i64}> : (!tile.buffer<1xi32>, i64) -> ()
  gpu.tcgen05_alloc %s[%i] {columns = 32} : !tile.buffer<1xi32>
  // CHECK: gpu.tcgen05_relinquish
  // GENERIC: "gpu.tcgen05_relinquish"() : () -> ()
  gpu.tcgen05_relinquish
  // CHECK: gpu.tcgen05_mma %w, %a, %b accumulate %p {a_type = "f16", b_type = "f16"} : !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // GENERIC: "gpu.tcgen05_mma"(%w, %p, %a, %b) <{a_type = "f16", b_type = "f16"}> : (i32, i1, !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>) -> ()
  gpu.tcgen05_mma %w, %a, %b accumulate %p {a_type = "f16", b_type = "f16"} : !tile.buffer<128x64xf16, #swizzled>, !tile.buffer<16x64xf16, #swizzled>
  // CHECK: gpu.tcgen05_commit %m[%i] : !tile.buffer<1xi64>
  // GENERIC: "gpu.tcgen05_commit"(%m, %i) : (!tile.buffer<1xi64>, i64) -> ()
  gpu.tcgen05_commit %m[%i] : !tile.buffer<1xi64>
  // CHECK: gpu.tcgen05_fence {kind = "after"}
  // GENERIC: "gpu.tcgen05_fence"() <{kind = "after"}> : () -> ()
  gpu.tcgen05_fence {kind = "after"}
  // CHECK: %l, %l_1 = gpu.tcgen05_ld %w : i32, i32
  // GENERIC: %l, %l_1 = "gpu.tcgen05_ld"(%w) : (i32) -> (i32, i32)
  %l:2 = gpu.tcgen05_ld %w : i32, i32
  // CHECK: %r, %r_1 = gpu.tcgen05_wait %l, %l_1 {kind = "ld"} : i32, i32 -> i32, i32
  // GENERIC: %r, %r_1 = "gpu.tcgen05_wait"(%l, %l_1) <{kind = "ld"}> : (i32, i32) -> (i32, i32)
  %r:2 = gpu.tcgen05_wait %l#0, %l#1 {kind = "ld"} : i32, i32 -> i32, i32
  // CHECK: gpu.tcgen05_st %w, %r, %r_1 : i32, i32
  // GENERIC: "gpu.tcgen05_st"(%w, %r, %r_1) : (i32, i32, i32) -> ()
  gpu.tcgen05_st %w, %r#0, %r#1 : i32, i32
  // CHECK: gpu.tcgen05_wait {kind = "st"} : ->
  // GENERIC: "gpu.tcgen05_wait"() <{kind = "st"}> : () -> ()
  gpu.tcgen05_wait {kind = "st"} : ->
  // CHECK: gpu.tcgen05_dealloc %w {columns = 32 : i64}
  // GENERIC: "gpu.tcgen05_dealloc"(%w) <{columns = 32 : i64}> : (i32) -> ()
  gpu.tcgen05_dealloc %w {columns = 32}
  simt.return
}
