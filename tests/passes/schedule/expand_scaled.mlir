// RUN: tileopt %s -p expand-scaled --split-input-file | filecheck %s

// What is unpacked is read as f16 at once, and turned after that; scales are spread over their blocks along K.
// CHECK-LABEL: tile.kernel @nvfp4
// CHECK-SAME:    tile.expanded = ["line {{[0-9]+}}: product of f4e2m1fn and f4e2m1fn with a scale of f8E4M3FN for each 16: as f16, operands times their scales"]
// CHECK-NOT:     f8E4M3FN> -> tensor<32x64xf8E4M3FN>
// CHECK:         [[A:%.*]] = tile.unpack %bytes {format = "f4e2m1fn", axis = 1 : i64} : tensor<64x16xi8> -> tensor<64x32xf16>
// CHECK-NEXT:    [[V:%.*]] = tile.unpack %bytes {format = "f4e2m1fn", axis = 1 : i64} : tensor<64x16xi8> -> tensor<64x32xf16>
// CHECK-NEXT:    [[B:%.*]] = tile.transpose [[V]] {permutation = array<i64: 1, 0>} : tensor<64x32xf16> -> tensor<32x64xf16>
// CHECK:         [[S:%.*]] = arith.extf %scale : tensor<64x2xf8E4M3FN> to tensor<64x2xf16>
// CHECK-NEXT:    [[P:%.*]] = math.absf [[S]] : tensor<64x2xf16>
// CHECK-NEXT:    [[R:%.*]] = tile.repeat [[P]] {axis = 1 : i64, count = 16 : i64} : tensor<64x2xf16> -> tensor<64x32xf16>
// CHECK-NEXT:    [[L:%.*]] = arith.mulf [[A]], [[R]] : tensor<64x32xf16>
// CHECK:         [[T:%.*]] = tile.repeat {{%.*}} {axis = 0 : i64, count = 16 : i64} : tensor<2x64xf16> -> tensor<32x64xf16>
// CHECK-NEXT:    [[M:%.*]] = arith.mulf [[B]], [[T]] : tensor<32x64xf16>
// CHECK-NEXT:    tile.mma [[L]], [[M]], %acc : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32> -> tensor<64x64xf32>
builtin.module attributes {tile.target = "sm_90a"} {
tile.kernel @nvfp4(%w: !tile.view<?x?xi8, shared>, %s: !tile.view<?x?xf8E4M3FN, shared>, %o: !tile.view<?x?xf32, owned>) {
  %z = arith.constant 0 : i64
  %bytes = tile.load %w[%z, %z] : !tile.view<?x?xi8, shared> -> tensor<64x16xi8>
  %scale = tile.load %s[%z, %z] : !tile.view<?x?xf8E4M3FN, shared> -> tensor<64x2xf8E4M3FN>
  %acc = arith.constant dense<0.0> : tensor<64x64xf32>
  %v = tile.unpack %bytes {format = "f4e2m1fn", axis = 1} : tensor<64x16xi8> -> tensor<64x32xf8E4M3FN>
  %t = tile.transpose %v {permutation = array<i64: 1, 0>} : tensor<64x32xf8E4M3FN> -> tensor<32x64xf8E4M3FN>
  %u = tile.transpose %scale {permutation = array<i64: 1, 0>} : tensor<64x2xf8E4M3FN> -> tensor<2x64xf8E4M3FN>
  %r = tile.mma_scaled %v scaled %scale, %t scaled %u, %acc {a_format = "f4e2m1fn", b_format = "f4e2m1fn"} : tensor<64x32xf8E4M3FN> scaled tensor<64x2xf8E4M3FN>, tensor<32x64xf8E4M3FN> scaled tensor<2x64xf8E4M3FN>, tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %r, %o[%z, %z] : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}

// -----

// Powers of two change the exponent alone, of which bf16 has as much as they.
// CHECK-LABEL: tile.kernel @mxfp8
// CHECK:         [[S:%.*]] = arith.extf %sa : tensor<64x1xf8E8M0FNU> to tensor<64x1xbf16>
// CHECK-NEXT:    [[R:%.*]] = tile.repeat [[S]] {axis = 1 : i64, count = 32 : i64} : tensor<64x1xbf16> -> tensor<64x32xbf16>
// CHECK-NEXT:    [[A:%.*]] = arith.extf %a : tensor<64x32xf8E5M2> to tensor<64x32xbf16>
// CHECK-NEXT:    [[L:%.*]] = arith.mulf [[A]], [[R]] : tensor<64x32xbf16>
// CHECK:         tile.mma [[L]], {{%.*}}, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
builtin.module attributes {tile.target = "sm_90a"} {
tile.kernel @mxfp8(%o: !tile.view<?x?xf32, owned>) {
  %z = arith.constant 0 : i64
  %a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<64x32xf8E5M2>, tensor<64x1xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<1x64xf8E8M0FNU>, tensor<64x64xf32>)
  %r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e5m2", b_format = "f8e4m3fn"} : tensor<64x32xf8E5M2> scaled tensor<64x1xf8E8M0FNU>, tensor<32x64xf8E4M3FN> scaled tensor<1x64xf8E8M0FNU>, tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %r, %o[%z, %z] : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}

// -----

// Where an instruction takes scales, it takes f4e2m1fn as the bytes that they came in.
// CHECK-LABEL: tile.kernel @by_an_instruction
// CHECK-NOT:     tile.unpack
// CHECK:         [[B:%.*]] = tile.transpose %bytes {permutation = array<i64: 1, 0>} : tensor<64x16xi8> -> tensor<16x64xi8>
// CHECK:         %r = tile.mma %bytes, [[B]], %acc scaled %scale, %u {a_format = "f4e2m1fn", b_format = "f4e2m1fn"} : tensor<64x16xi8>, tensor<16x64xi8>, tensor<64x64xf32> scaled tensor<64x2xf8E4M3FN>, tensor<2x64xf8E4M3FN> -> tensor<64x64xf32>
// CHECK:         tile.mma {{.*}} scaled {{.*}} {a_format = "f8e5m2", b_format = "f8e4m3fn"} : tensor<64x32xf8E5M2>
builtin.module attributes {tile.target = "sm_120a"} {
  tile.kernel @by_an_instruction(%w: !tile.view<?x?xi8, shared>, %s: !tile.view<?x?xf8E4M3FN, shared>, %o: !tile.view<?x?xf32, owned>) {
    %z = arith.constant 0 : i64
    %bytes = tile.load %w[%z, %z] : !tile.view<?x?xi8, shared> -> tensor<64x16xi8>
    %scale = tile.load %s[%z, %z] : !tile.view<?x?xf8E4M3FN, shared> -> tensor<64x2xf8E4M3FN>
    %acc = arith.constant dense<0.0> : tensor<64x64xf32>
    %v = tile.unpack %bytes {format = "f4e2m1fn", axis = 1} : tensor<64x16xi8> -> tensor<64x32xf8E4M3FN>
    %t = tile.transpose %v {permutation = array<i64: 1, 0>} : tensor<64x32xf8E4M3FN> -> tensor<32x64xf8E4M3FN>
    %u = tile.transpose %scale {permutation = array<i64: 1, 0>} : tensor<64x2xf8E4M3FN> -> tensor<2x64xf8E4M3FN>
    %r = tile.mma_scaled %v scaled %scale, %t scaled %u, %acc {a_format = "f4e2m1fn", b_format = "f4e2m1fn"} : tensor<64x32xf8E4M3FN> scaled tensor<64x2xf8E4M3FN>, tensor<32x64xf8E4M3FN> scaled tensor<2x64xf8E4M3FN>, tensor<64x64xf32> -> tensor<64x64xf32>
    %a, %sa, %b, %sb = "test.op"() : () -> (tensor<64x32xf8E5M2>, tensor<64x1xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<1x64xf8E8M0FNU>)
    %q = tile.mma_scaled %a scaled %sa, %b scaled %sb, %r {a_format = "f8e5m2", b_format = "f4e2m1fn"} : tensor<64x32xf8E5M2> scaled tensor<64x1xf8E8M0FNU>, tensor<32x64xf8E4M3FN> scaled tensor<1x64xf8E8M0FNU>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %q, %o[%z, %z] : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
    tile.return
  }
}
