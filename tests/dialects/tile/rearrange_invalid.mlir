// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of the ops that make and rearrange tiles refuse.

%x = "test.op"() : () -> f32
// expected-error@+1 {{a splat of f32 cannot give tensor<4xf16>}}
%t = tile.splat %x : f32 -> tensor<4xf16>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{a splat of tensor<4xf32> cannot give tensor<4xf32>}}
%t = tile.splat %x : tensor<4xf32> -> tensor<4xf32>

// -----

%x = "test.op"() : () -> index
// expected-error@+1 {{index is not an element type (i1, i8 to i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU)}}
%t = tile.splat %x : index -> tensor<4xindex>

// -----

// expected-error@+1 {{arange gives a tile of rank 1 of i32 or i64}}
%t = tile.arange : tensor<4xi8>

// -----

// expected-error@+1 {{arange gives a tile of rank 1 of i32 or i64}}
%t = tile.arange : tensor<4x1xi32>

// -----

%x = "test.op"() : () -> tensor<2xf32>
// expected-error@+1 {{tensor<2xf32> has more than one element}}
%s = tile.to_scalar %x : tensor<2xf32> -> f32

// -----

%x = "test.op"() : () -> tensor<1x1xf32>
// expected-error@+1 {{an element of tensor<1x1xf32> is not f64}}
%s = tile.to_scalar %x : tensor<1x1xf32> -> f64

// -----

%x = "test.op"() : () -> tensor<2x1xf32>
// expected-error@+1 {{[2, 1] cannot be broadcast to [3, 4]}}
%t = tile.broadcast %x : tensor<2x1xf32> -> tensor<3x4xf32>

// -----

%x = "test.op"() : () -> tensor<1xf32>
// expected-error@+1 {{[1] cannot be broadcast to [3, 4]}}
%t = tile.broadcast %x : tensor<1xf32> -> tensor<3x4xf32>

// -----

%x = "test.op"() : () -> tensor<2x1xf32>
// expected-error@+1 {{source and result differ in element type}}
%t = tile.broadcast %x : tensor<2x1xf32> -> tensor<2x4xf64>

// -----

%x = "test.op"() : () -> tensor<?x1xf32>
// expected-error@+1 {{the source needs static, positive extents, got tensor<?x1xf32>}}
%t = tile.broadcast %x : tensor<?x1xf32> -> tensor<2x4xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{[4, 6] has 24 elements, [5, 5] has 25}}
%t = tile.reshape %x : tensor<4x6xf32> -> tensor<5x5xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{[0, 0] is not a permutation of the axes}}
%t = tile.transpose %x {permutation = array<i64: 0, 0>} : tensor<4x6xf32> -> tensor<4x4xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{the permutation [1, 0] of [4, 6] is not [4, 6]}}
%t = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x6xf32> -> tensor<4x6xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{permutation is an array of integers Underlying verification failure: f32 should be of base attribute integer_type}}
%t = tile.transpose %x {permutation = array<f32: 1.0, 0.0>} : tensor<4x6xf32> -> tensor<6x4xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{a reduction is one of sum, prod, max, min, umax, umin, and, or, xor, not 'mean'}}
%t = tile.reduce %x {kind = "mean", axis = 0} : tensor<4x6xf32> -> tensor<6xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{xor reduces integers, not f32}}
%t = tile.reduce %x {kind = "xor", axis = 0} : tensor<4x6xf32> -> tensor<6xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{umax reduces integers, not f32}}
%t = tile.reduce %x {kind = "umax", axis = 0} : tensor<4x6xf32> -> tensor<6xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{axis 2 is not an axis of tensor<4x6xf32>}}
%t = tile.reduce %x {kind = "sum", axis = 2} : tensor<4x6xf32> -> tensor<6xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{the result's shape is not that of the source without axis 0}}
%t = tile.reduce %x {kind = "sum", axis = 0} : tensor<4x6xf32> -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{source and result differ in element type}}
%t = tile.reduce %x {kind = "sum", axis = 0} : tensor<4x6xf32> -> tensor<6xf64>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{tensor<4x6xf32> and tensor<6x4xf32> are not the same tile}}
%t = tile.convert_layout %x : tensor<4x6xf32> -> tensor<6x4xf32>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{source and result differ in element type}}
%t = tile.convert_layout %x : tensor<4x6xf32> -> tensor<4x6xf16>

// -----

%x = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{kind is a string Underlying verification failure: 3 : i64 should be of base attribute string}}
%t = tile.reduce %x {kind = 3, axis = 0} : tensor<4x6xf32> -> tensor<6xf32>
