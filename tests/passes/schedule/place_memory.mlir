// RUN: tileopt %s -p place-memory --split-input-file --verify-diagnostics | filecheck %s

// `mma.sync` takes registers: what comes from an array is staged, so that the copy can follow the array's order. The
// transpose costs nothing behind the staging.
// CHECK-LABEL: tile.kernel @registers
// CHECK:         %a = tile.load
// CHECK-NEXT:    %{{.*}} = tile.stage %a
// CHECK-NEXT:    %b = tile.load
// CHECK-NEXT:    [[B:%.*]] = tile.stage %b
// CHECK-NEXT:    [[T:%.*]] = tile.transpose_buffer [[B]] {permutation = array<i64: 1, 0>} : !tile.buffer<32x16xbf16> -> !tile.buffer<16x32xbf16>
// CHECK-NEXT:    tile.unstage
// CHECK-NEXT:    [[U:%.*]] = tile.unstage [[T]]
// CHECK-NEXT:    tile.mma %{{.*}}, [[U]], %acc
// CHECK-NOT:     tile.transpose
module attributes {tile.target = "sm_80"} {
tile.kernel @registers(%x: !tile.view<?x?xbf16, shared>, %acc0: f32) attributes {tile.num_warps = 4 : i64} {
  %z = arith.constant 0 : i64
  %acc = tile.splat %acc0 : f32 -> tensor<16x32xf32>
  %a = tile.load %x[%z, %z] : !tile.view<?x?xbf16, shared> -> tensor<16x16xbf16>
  %b = tile.load %x[%z, %z] : !tile.view<?x?xbf16, shared> -> tensor<32x16xbf16>
  %t = tile.transpose %b {permutation = array<i64: 1, 0>} : tensor<32x16xbf16> -> tensor<16x32xbf16>
  %d = tile.mma %a, %t, %acc {atom = "mma_m16n8k16_bf16_f32"} : tensor<16x16xbf16>, tensor<16x32xbf16>, tensor<16x32xf32> -> tensor<16x32xf32>
  tile.return
}
}

// -----

// What is computed stays in registers.
// CHECK-LABEL: tile.kernel @computed
// CHECK:         [[E:%.*]] = arith.addf
// CHECK-NOT:     tile.stage
// CHECK:         tile.mma [[E]], [[E]]
module attributes {tile.target = "sm_80"} {
tile.kernel @computed(%x: !tile.view<?x?xbf16, shared>, %acc0: f32) attributes {tile.num_warps = 4 : i64} {
  %z = arith.constant 0 : i64
  %acc = tile.splat %acc0 : f32 -> tensor<16x16xf32>
  %a = tile.load %x[%z, %z] : !tile.view<?x?xbf16, shared> -> tensor<16x16xbf16>
  %e = arith.addf %a, %a : tensor<16x16xbf16>
  %d = tile.mma %e, %e, %acc {atom = "mma_m16n8k16_bf16_f32"} : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.return
}
}

// -----

module attributes {tile.target = "sm_80"} {
tile.kernel @early(%a: f32, %h: bf16) {
  %x = tile.splat %h : bf16 -> tensor<16x16xbf16>
  %acc = tile.splat %a : f32 -> tensor<16x16xf32>
  // expected-error @below {{names no instruction yet}}
  %d = tile.mma %x, %x, %acc : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.return
}
}
