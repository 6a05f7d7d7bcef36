// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of the grid's and the arrays' ops refuse.

// expected-error@+1 {{a grid has the axes 0, 1 and 2}}
%i = tile.bid {axis = 3}

// -----

// expected-error@+1 {{a grid has the axes 0, 1 and 2}}
%i = tile.num_blocks {axis = -1}

// -----

// expected-error@+1 {{property 'axis' expected in operation 'tile.bid'}}
%i = tile.bid

// -----

// expected-error@+1 {{axis is an integer Underlying verification failure: "x" should be of base attribute integer}}
%i = tile.bid {axis = "x"}

// -----

%v = "test.op"() : () -> !tile.view<?x4xf32, shared>
// expected-error@+1 {{axis 2 is not an axis of !tile.view<?x4xf32, shared>}}
%d = tile.dim %v {axis = 2} : !tile.view<?x4xf32, shared>

// -----

%v = "test.op"() : () -> !tile.view<f32, shared>
// expected-error@+1 {{axis 0 is not an axis of !tile.view<f32, shared>}}
%d = tile.dim %v {axis = 0 : index} : !tile.view<f32, shared>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{1 offsets for an array of rank 2}}
%t = tile.load %v[%i] : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a tile of rank 1 from an array of rank 2}}
%t = tile.load %v[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a tile of bf16 from an array of f32}}
%t = tile.load %v[%i] : !tile.view<?xf32, shared> -> tensor<4xbf16>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the tile needs static, positive extents, got tensor<?xf32>}}
%t = tile.load %v[%i] : !tile.view<?xf32, shared> -> tensor<?xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the tile needs static, positive extents, got tensor<0xf32>}}
%t = tile.load %v[%i] : !tile.view<?xf32, shared> -> tensor<0xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the tile has 2097152 elements, more than 1048576}}
%t = tile.load %v[%i] : !tile.view<?xf32, shared> -> tensor<2097152xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{tensor<*xf32> should be of base attribute tensor}}
%t = tile.load %v[%i] : !tile.view<?xf32, shared> -> tensor<*xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the padding is of f64, the elements are f32}}
%t = tile.load %v[%i] {padding = 0.0 : f64} : !tile.view<?xf32, shared> -> tensor<4xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the bounds name axis 1 of an array of rank 1}}
%t = tile.load %v[%i] {bounds = #tile.bounds<masked [0, 1]>} : !tile.view<?xf32, shared> -> tensor<4xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{vector counts elements by a power of two, not 3}}
%t = tile.load %v[%i] {vector = 3} : !tile.view<?xf32, shared> -> tensor<4xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the tile is encoded by "rows"; a tile's encoding is #tile.layout}}
%t = tile.load %v[%i] : !tile.view<?xf32, shared> -> tensor<4xf32, "rows">

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the tile: basis [0, 1] has 2 coordinates, the tile has rank 1}}
%t = tile.load %v[%i] : !tile.view<?xf32, shared> -> tensor<4xf32, #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{vector is an integer Underlying verification failure: [4 : i64] should be of base attribute integer}}
%t = tile.load %v[%i] {vector = [4]} : !tile.view<?xf32, shared> -> tensor<4xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%x = "test.op"() : () -> tensor<4xf32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a store needs an owned view}}
tile.store %x, %v[%i] : tensor<4xf32>, !tile.view<?xf32, shared>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, owned>
%x = "test.op"() : () -> tensor<4xf32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{vector counts elements by a power of two, not 0}}
tile.store %x, %v[%i] {vector = 0} : tensor<4xf32>, !tile.view<?xf32, owned>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, owned>
%x = "test.op"() : () -> tensor<4xi32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a tile of i32 from an array of f32}}
tile.store %x, %v[%i] : tensor<4xi32>, !tile.view<?xf32, owned>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, owned>
%x = "test.op"() : () -> tensor<4xf32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{an atomic needs an atomic view}}
tile.atomic_rmw %x, %v[%i] {kind = "add"} : tensor<4xf32>, !tile.view<?xf32, owned>

// -----

%v = "test.op"() : () -> !tile.view<?xi8, atomic>
%x = "test.op"() : () -> tensor<4xi8>
%i = "test.op"() : () -> i64
// expected-error@+1 {{atomics work on 16, 32 and 64 bits, not on i8}}
tile.atomic_rmw %x, %v[%i] {kind = "add"} : tensor<4xi8>, !tile.view<?xi8, atomic>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, atomic>
%x = "test.op"() : () -> tensor<4xf32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the atomic xor works on integers, not on f32}}
tile.atomic_rmw %x, %v[%i] {kind = "xor"} : tensor<4xf32>, !tile.view<?xf32, atomic>

// -----

%v = "test.op"() : () -> !tile.view<?xi32, atomic>
%x = "test.op"() : () -> tensor<4xi32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a tile's atomic is add, max, min, umax, umin, and, or, xor, not 'exch'}}
tile.atomic_rmw %x, %v[%i] {kind = "exch"} : tensor<4xi32>, !tile.view<?xi32, atomic>

// -----

%x, %i = "test.op"() : () -> (!tile.view<?xf32, shared>, i64)
// expected-error@+1 {{cache is streaming or keep, not never}}
%t = tile.load %x[%i] {cache = "never"} : !tile.view<?xf32, shared> -> tensor<4xf32>
