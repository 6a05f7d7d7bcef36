// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of products and of the ops on shared memory refuse.

%a, %b, %c = "test.op"() : () -> (tensor<8x4x2xf16>, tensor<4x8xf16>, tensor<8x8xf32>)
// expected-error@+1 {{the operands of a product have rank 2}}
%d = tile.mma %a, %b, %c : tensor<8x4x2xf16>, tensor<4x8xf16>, tensor<8x8xf32> -> tensor<8x8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x4xf16>, tensor<8x8xf16>, tensor<8x8xf32>)
// expected-error@+1 {{a is 8x4 and b is 8x8: the inner extents differ}}
%d = tile.mma %a, %b, %c : tensor<8x4xf16>, tensor<8x8xf16>, tensor<8x8xf32> -> tensor<8x8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x4xf16>, tensor<4x16xf16>, tensor<8x8xf32>)
// expected-error@+1 {{the product is 8x16, the accumulator 8x8}}
%d = tile.mma %a, %b, %c : tensor<8x4xf16>, tensor<4x16xf16>, tensor<8x8xf32> -> tensor<8x8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>)
// expected-error@+1 {{accumulator and result differ in type}}
%d = tile.mma %a, %b, %c : tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32> -> tensor<8x8xf16>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x4xf16>, !tile.buffer<4x8xbf16>, tensor<8x8xf32>)
// expected-error@+1 {{a is of f16, b of bf16}}
%d = tile.mma %a, %b, %c : tensor<8x4xf16>, !tile.buffer<4x8xbf16>, tensor<8x8xf32> -> tensor<8x8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x4xi8>, tensor<4x8xi8>, tensor<8x8xf32>)
// expected-error@+1 {{a product of i8 is not accumulated in f32}}
%d = tile.mma %a, %b, %c : tensor<8x4xi8>, tensor<4x8xi8>, tensor<8x8xf32> -> tensor<8x8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x8xf16>)
// expected-error@+1 {{the accumulator's f16 is narrower than the operands' f32}}
%d = tile.mma %a, %b, %c : tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x8xf16> -> tensor<8x8xf16>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<2048x1024xf16>, tensor<1024x8xf16>, tensor<2048x8xf32>)
// expected-error@+1 {{a has 2097152 elements, more than 1048576}}
%d = tile.mma %a, %b, %c : tensor<2048x1024xf16>, tensor<1024x8xf16>, tensor<2048x8xf32> -> tensor<2048x8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (vector<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>)
// expected-error@+1 {{Unexpected attribute vector<8x4xf16>}}
%d = tile.mma %a, %b, %c : vector<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32> -> tensor<8x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{tensor<4x6xf32> and !tile.buffer<6x4xf32> are not the same tile}}
%t = tile.stage %x : tensor<4x6xf32> -> !tile.buffer<6x4xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32>
// expected-error@+1 {{!tile.buffer<4x6xf32> and tensor<4x6xf16> are not the same tile}}
%t = tile.unstage %x : !tile.buffer<4x6xf32> -> tensor<4x6xf16>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32>
// expected-error@+1 {{[0, 2] is not a permutation of the axes}}
%t = tile.transpose_buffer %x {permutation = array<i64: 0, 2>} : !tile.buffer<4x6xf32> -> !tile.buffer<4x6xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32>
// expected-error@+1 {{the permutation [1, 0] of !tile.buffer<4x6xf32> is !tile.buffer<6x4xf32>, not !tile.buffer<4x6xf32>}}
%t = tile.transpose_buffer %x {permutation = array<i64: 1, 0>} : !tile.buffer<4x6xf32> -> !tile.buffer<4x6xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>>
// expected-error@+1 {{the permutation [1, 0] of !tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>> is !tile.buffer<6x4xf32, #tile.shared<order = [1, 0]>>, not !tile.buffer<6x4xf32, #tile.shared<order = [0, 1]>>}}
%t = tile.transpose_buffer %x {permutation = array<i64: 1, 0>} : !tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>> -> !tile.buffer<6x4xf32, #tile.shared<order = [0, 1]>>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32>
// expected-error@+1 {{!tile.buffer<4x6xf32> and !tile.buffer<1x6x4xf32> differ in more than axes of extent 1}}
%t = tile.reshape_buffer %x : !tile.buffer<4x6xf32> -> !tile.buffer<1x6x4xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32>
// expected-error@+1 {{source and result differ in element type}}
%t = tile.reshape_buffer %x : !tile.buffer<4x6xf32> -> !tile.buffer<1x4x6xi32>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>>
// expected-error@+1 {{of source and result, one has a layout}}
%t = tile.reshape_buffer %x : !tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>> -> !tile.buffer<1x4x6xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>>
// expected-error@+1 {{!tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>> and !tile.buffer<1x4x6xf32, #tile.shared<order = [0, 2, 1]>> place their elements differently}}
%t = tile.reshape_buffer %x : !tile.buffer<4x6xf32, #tile.shared<order = [0, 1]>> -> !tile.buffer<1x4x6xf32, #tile.shared<order = [0, 2, 1]>>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>)
// expected-error@+1 {{no product of f16 has the precision "tf32"}}
%d = tile.mma %a, %b, %c {precision = "tf32"} : tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32> -> tensor<8x8xf32>

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32>, tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>)
// expected-error@+1 {{1 scales for a product of two operands}}
%d = tile.mma %a, %b, %c scaled %s {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32> scaled tensor<16x1xf8E8M0FNU> -> tensor<16x8xf32>

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32>, tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>)
// expected-error@+1 {{operands with scales are of f8e4m3fn, f8e5m2, f4e2m1fn: a_format and b_format say which}}
%d = tile.mma %a, %b, %c scaled %s, %t {a_format = "bf16", b_format = "f8e4m3fn"} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32> scaled tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU> -> tensor<16x8xf32>

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32>, tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>)
// expected-error@+1 {{tensor<32x8xf8E4M3FN> does not hold f8e5m2}}
%d = tile.mma %a, %b, %c scaled %s, %t {a_format = "f8e4m3fn", b_format = "f8e5m2"} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32> scaled tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU> -> tensor<16x8xf32>

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32>, tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E4M3FN>)
// expected-error@+1 {{scales of f8E8M0FNU and f8E4M3FN}}
%d = tile.mma %a, %b, %c scaled %s, %t {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32> scaled tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E4M3FN> -> tensor<16x8xf32>

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32>, tensor<16x2xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>)
// expected-error@+1 {{scales are not one for each 32 elements of K}}
%d = tile.mma %a, %b, %c scaled %s, %t {a_format = "f8e4m3fn", b_format = "f8e4m3fn"} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32> scaled tensor<16x2xf8E8M0FNU>, tensor<1x8xf8E8M0FNU> -> tensor<16x8xf32>

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32>, tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>)
// expected-error@+1 {{b_format is a string}}
%d = tile.mma %a, %b, %c scaled %s, %t {a_format = "f8e4m3fn", b_format = 1 : i64} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>, tensor<16x8xf32> scaled tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU> -> tensor<16x8xf32>
