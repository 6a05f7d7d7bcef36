// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifier of products with scales refuses.

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<32xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf32>)
// expected-error@+1 {{the operands of a product have rank 2}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<32xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<32x8xf8E4M3FN>, tensor<1x8xf8E8M0FNU>, tensor<16x8xf32>)
// expected-error@+1 {{a is 16x64 and b is 32x8: the inner extents differ}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<32x8xf8E4M3FN> scaled tensor<1x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<2x8xf8E8M0FNU>, tensor<8x16xf32>)
// expected-error@+1 {{the product is 16x8, the accumulator 8x16}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf8E8M0FNU>, tensor<8x16xf32> -> tensor<8x16xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x4xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf32>)
// expected-error@+1 {{scales of 16x4 and 2x8 for 16x64 by 64x8: one is for 32 elements of K}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x4xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x48xf8E4M3FN>, tensor<16x1xf8E8M0FNU>, tensor<48x8xf8E4M3FN>, tensor<1x8xf8E8M0FNU>, tensor<16x8xf32>)
// expected-error@+1 {{scales of 16x1 and 1x8 for 16x48 by 48x8: one is for 32 elements of K}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x48xf8E4M3FN> scaled tensor<16x1xf8E8M0FNU>, tensor<48x8xf8E4M3FN> scaled tensor<1x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf32>)
// expected-error@+1 {{scaled operands are of f8e4m3fn, f8e5m2, f4e2m1fn, not of 'f16'}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f16", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf32>)
// expected-error@+1 {{f8e5m2 lies in tiles of f8E5M2, not in tensor<64x8xf8E4M3FN>}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e5m2"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<4x8xf8E4M3FN>, tensor<16x8xf32>)
// expected-error@+1 {{scales are both of f8E8M0FNU or of f8E4M3FN, not of f8E8M0FNU and f8E4M3FN}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<4x8xf8E4M3FN>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf32>, tensor<64x8xf8E4M3FN>, tensor<2x8xf32>, tensor<16x8xf32>)
// expected-error@+1 {{scales are both of f8E8M0FNU or of f8E4M3FN, not of f32 and f32}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf32>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf32>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x4xf8E4M3FN>, tensor<64x8xf8E4M3FN>, tensor<4x8xf8E4M3FN>, tensor<16x8xf32>)
// expected-error@+1 {{scales of f8E4M3FN are for operands of f4e2m1fn}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x4xf8E4M3FN>, tensor<64x8xf8E4M3FN> scaled tensor<4x8xf8E4M3FN>, tensor<16x8xf32> -> tensor<16x8xf32>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf16>)
// expected-error@+1 {{accumulator and result are of f32 and of one type}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf16> -> tensor<16x8xf16>

// -----

%a, %sa, %b, %sb, %acc = "test.op"() : () -> (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN>, tensor<2x8xf8E8M0FNU>, tensor<16x8xf32>)
// expected-error@+1 {{a_format is a string}}
%r = tile.mma_scaled %a scaled %sa, %b scaled %sb, %acc {a_format = 1 : i64, b_format = "f8e4m3fn"} : tensor<16x64xf8E4M3FN> scaled tensor<16x2xf8E8M0FNU>, tensor<64x8xf8E4M3FN> scaled tensor<2x8xf8E8M0FNU>, tensor<16x8xf32> -> tensor<16x8xf32>
