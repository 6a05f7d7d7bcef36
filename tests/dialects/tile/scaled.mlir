// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @mxfp8
tile.kernel @mxfp8() {
  %a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E5M2>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf32>)
  // CHECK: %r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e5m2"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E5M2> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>
  // GENERIC: %r = "tile.mma_scaled"(%a, %sa, %b, %sb, %acc) <{a_format = "f8e4m3fn", b_format = "f8e5m2"}> : (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E5M2>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e5m2"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E5M2> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @nvfp4
tile.kernel @nvfp4() {
  %a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x4xf8E4M3FN>, tensor<64x8xf8E4M3FN>, tensor<4x8xf8E4M3FN>, tensor<16x8xf32>)
  // CHECK: tile.mma_scaled {{.*}} {a_format = "f4e2m1fn", b_format = "f4e2m1fn"}
  %r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f4e2m1fn", b_format = "f4e2m1fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x4xf8E4M3FN>, tensor<64x8xf8E4M3FN> scaled tensor<4x8xf8E4M3FN>, tensor<16x8xf32> -> tensor<16x8xf32>
  tile.return
}
