// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of the simt dialect refuse.

// expected-error@+1 {{a grid has the axes 0, 1 and 2}}
%g = simt.block_id {axis = 3}

// -----

// expected-error@+1 {{a grid has the axes 0, 1 and 2}}
%g = simt.grid_dim {axis = -1}

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
// expected-error@+1 {{axis 1 is not an axis of !tile.view<?xf32, shared>}}
%d = simt.dim %v {axis = 1} : !tile.view<?xf32, shared>

// -----

%x = "test.op"() : () -> f32
// expected-error@+1 {{a splat of f32 cannot give vector<4xf64>}}
%s = simt.splat %x : f32 -> vector<4xf64>

// -----

%x = "test.op"() : () -> f32
// expected-error@+1 {{the result is vector<2x2xf32>; a fragment is a vector of rank 1 with 1 to 1048576 registers}}
%s = simt.splat %x : f32 -> vector<2x2xf32>

// -----

%x = "test.op"() : () -> f32
// expected-error@+1 {{the result is vector<[4]xf32>; a fragment is a vector of rank 1 with 1 to 1048576 registers}}
%s = simt.splat %x : f32 -> vector<[4]xf32>

// -----

%x = "test.op"() : () -> f32
// expected-error@+1 {{the result is vector<f32>; a fragment is a vector of rank 1 with 1 to 1048576 registers}}
%s = simt.splat %x : f32 -> vector<f32>

// -----

%x = "test.op"() : () -> index
// expected-error@+1 {{index is not an element type (i1, i8 to i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU)}}
%s = simt.splat %x : index -> vector<4xindex>

// -----

// expected-error@+1 {{the layout has 2 registers, the fragment is vector<3xi32>}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>, axis = 0} : vector<3xi32>

// -----

// expected-error@+1 {{axis 1 is not an axis of the tile [64]}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>, axis = 1} : vector<2xi32>

// -----

// expected-error@+1 {{a coordinate is of i32 or i64, not f32}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>, axis = 0} : vector<2xf32>

// -----

// expected-error@+1 {{the tile: basis [1] has 1 coordinates, the tile has rank 2}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 8, 8>, axis = 0} : vector<2xi32>

// -----

// expected-error@+1 {{the tile needs static, positive extents, got [-64]}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: -64>, axis = 0} : vector<2xi32>

// -----

// expected-error@+1 {{the tile has 4611686018427387904 elements, more than 1048576}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 4611686018427387904>, axis = 0} : vector<2xi32>

// -----

// expected-error@+1 {{the tile: the layout gives each thread 2097152 registers}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512], [1024], [2048], [4096], [8192], [16384], [32768], [65536], [131072], [262144], [524288], [1048576]], lanes = [[0], [0], [0], [0], [0]], warps = []>, shape = array<i64: 8>, axis = 0} : vector<2xi32>

// -----

// expected-error@+1 {{shape is an array of integers Underlying verification failure: f32 should be of base attribute integer_type}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<f32: 64.0>, axis = 0} : vector<2xi32>

// -----

// expected-error@+1 {{layout is a #tile.layout Underlying verification failure: "rows" should be of base attribute tile.layout}}
%c = simt.fragment_coord {layout = "rows", shape = array<i64: 64>, axis = 0} : vector<2xi32>

// -----

// expected-error@+1 {{Expected vector element type}}
%c = simt.fragment_coord {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>, axis = 0} : vector<?xi32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{array, offsets and tile have the ranks 1, 1, 2}}
%f = simt.fragment_load %v[%i] {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>} : !tile.view<?xf32, shared> -> vector<4xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{array, offsets and tile have the ranks 1, 2, 1}}
%f = simt.fragment_load %v[%i, %i] {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>} : !tile.view<?xf32, shared> -> vector<2xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a fragment of f16, an array of f32}}
%f = simt.fragment_load %v[%i] {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>} : !tile.view<?xf32, shared> -> vector<2xf16>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the padding is of i32, the elements are f32}}
%f = simt.fragment_load %v[%i] {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>, padding = 0 : i32} : !tile.view<?xf32, shared> -> vector<2xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{padding is a number Underlying verification failure: Unexpected attribute "zero"}}
%f = simt.fragment_load %v[%i] {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>, padding = "zero"} : !tile.view<?xf32, shared> -> vector<2xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{bounds is a #tile.bounds Underlying verification failure: unit should be of base attribute tile.bounds}}
%f = simt.fragment_load %v[%i] {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>, bounds} : !tile.view<?xf32, shared> -> vector<2xf32>

// -----

%v = "test.op"() : () -> !tile.view<?xf32, shared>
%x = "test.op"() : () -> vector<2xf32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a store needs an owned view}}
simt.fragment_store %x, %v[%i] {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 64>} : vector<2xf32>, !tile.view<?xf32, shared>

// -----

// expected-error@+1 {{a ring has at least one slot}}
%m = simt.alloc_shared {slots = 0} : !tile.buffer<8xf32>

// -----

// expected-error@+1 {{an offset is not negative}}
%m = simt.alloc_shared {offset = -16} : !tile.buffer<8xf32>

// -----

// expected-error@+1 {{the buffer has 4194304 elements, more than 1048576}}
%m = simt.alloc_shared : !tile.buffer<2048x2048xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<8xf32>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a ring's slot has the ring's type}}
%m = simt.slot %x[%i] : !tile.buffer<8xf32> -> !tile.buffer<4xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<8xf32>
// expected-error@+1 {{!tile.buffer<8xf32> and !tile.buffer<4xf32> do not take the same memory}}
%m = simt.view_buffer %x : !tile.buffer<8xf32> -> !tile.buffer<4xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<8xf32>
// expected-error@+1 {{!tile.buffer<8xf32> and !tile.buffer<8xi32> do not take the same memory}}
%m = simt.view_buffer %x : !tile.buffer<8xf32> -> !tile.buffer<8xi32>

// -----

%x = "test.op"() : () -> !tile.buffer<8x16xf32>
// expected-error@+1 {{buffer and fragment differ in element type}}
%f = simt.shared_load %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>} : !tile.buffer<8x16xf32> -> vector<4xi32>

// -----

%v = "test.op"() : () -> !tile.buffer<8x16xf32>
%x = "test.op"() : () -> vector<4xi32>
// expected-error@+1 {{buffer and fragment differ in element type}}
simt.shared_store %x, %v {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>} : vector<4xi32>, !tile.buffer<8x16xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<8x16xf32>
// expected-error@+1 {{the layout has 4 registers, the fragment is vector<8xf32>}}
%f = simt.shared_load %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>} : !tile.buffer<8x16xf32> -> vector<8xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{a reduction is one of sum, prod, max, min, umax, umin, and, or, xor, not 'mean'}}
%r = simt.fragment_reduce %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>, kind = "mean", axis = 1} : vector<4xf32> -> vector<2xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{or reduces integers, not f32}}
%r = simt.fragment_reduce %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>, kind = "or", axis = 1} : vector<4xf32> -> vector<2xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{axis 2 is not an axis of the tile [8, 16]}}
%r = simt.fragment_reduce %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>, kind = "sum", axis = 2} : vector<4xf32> -> vector<2xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{the reduction leaves 2 registers, the result is vector<4xf32>}}
%r = simt.fragment_reduce %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>, kind = "sum", axis = 1} : vector<4xf32> -> vector<4xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{source and result differ in element type}}
%r = simt.fragment_reduce %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>, kind = "sum", axis = 1} : vector<4xf32> -> vector<2xf64>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{2 registers are chosen, the result is vector<3xf32>}}
%r = simt.fragment_select %x {registers = array<i64: 0, 1>} : vector<4xf32> -> vector<3xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{a chosen register is not one of the 4 of the source}}
%r = simt.fragment_select %x {registers = array<i64: 0, 4>} : vector<4xf32> -> vector<2xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{source and result differ in element type}}
%r = simt.fragment_select %x {registers = array<i64: 0, 1>} : vector<4xf32> -> vector<2xi32>

// -----

%x = "test.op"() : () -> vector<f32>
// expected-error@+1 {{the source is vector<f32>; a fragment is a vector of rank 1 with 1 to 1048576 registers}}
%r = simt.fragment_select %x {registers = array<i64: 0>} : vector<f32> -> vector<1xf32>

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{vector<4xf32> has no register 4}}
%r = simt.extract %x {register = 4} : vector<4xf32> -> f32

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{a register of vector<4xf32> is not i32}}
%r = simt.extract %x {register = 3} : vector<4xf32> -> i32

// -----

%x = "test.op"() : () -> vector<4xf32>
// expected-error@+1 {{a shuffle keeps the type}}
%r = simt.shuffle_xor %x {mask = 1} : vector<4xf32> -> vector<2xf32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{a shuffle moves a fragment or a scalar, not tensor<4xf32>}}
%r = simt.shuffle_xor %x {mask = 1} : tensor<4xf32> -> tensor<4xf32>

// -----

%x = "test.op"() : () -> f32
// expected-error@+1 {{a lane mask is 1 to 31, not 32}}
%r = simt.shuffle_xor %x {mask = 32} : f32 -> f32

// -----

%x = "test.op"() : () -> f32
// expected-error@+1 {{a lane mask is 1 to 31, not 0}}
%r = simt.shuffle_xor %x {mask = 0} : f32 -> f32

// -----

%a, %b, %c = "test.op"() : () -> (!tile.buffer<8x4xf32>, !tile.buffer<8x16xf32>, vector<4xf32>)
// expected-error@+1 {{!tile.buffer<8x4xf32> and !tile.buffer<8x16xf32> cannot be multiplied}}
%d = simt.dot %a, %b, %c {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>} : !tile.buffer<8x4xf32>, !tile.buffer<8x16xf32>, vector<4xf32> -> vector<4xf32>

// -----

%a, %b, %c = "test.op"() : () -> (!tile.buffer<8x4xf32>, !tile.buffer<4x16xf64>, vector<4xf32>)
// expected-error@+1 {{a is of f32, b of f64}}
%d = simt.dot %a, %b, %c {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>} : !tile.buffer<8x4xf32>, !tile.buffer<4x16xf64>, vector<4xf32> -> vector<4xf32>

// -----

%a, %b, %c = "test.op"() : () -> (!tile.buffer<8x4xf32>, !tile.buffer<4x16xf32>, vector<4xf32>)
// expected-error@+1 {{accumulator and result differ in type}}
%d = simt.dot %a, %b, %c {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>} : !tile.buffer<8x4xf32>, !tile.buffer<4x16xf32>, vector<4xf32> -> vector<4xf64>

// -----

%x, %a = "test.op"() : () -> (vector<2xf32>, f32)
// expected-error@+1 {{3 scalars for a fragment of 2 registers}}
%r = simt.shift_in %a, %a, %a into %x : f32, f32, f32 into vector<2xf32> -> vector<2xf32>

// -----

%x, %a = "test.op"() : () -> (vector<2xf32>, i32)
// expected-error@+1 {{fragment and scalars are not those of vector<2xf32>}}
%r = simt.shift_in %a into %x : i32 into vector<2xf32> -> vector<2xf32>

// -----

%x, %i = "test.op"() : () -> (!tile.view<?x?xf32, shared>, i64)
// expected-error@+1 {{1 offsets for an array of rank 2}}
%p = simt.phase %x[%i] {bytes = 16} : !tile.view<?x?xf32, shared>

// -----

%x, %i = "test.op"() : () -> (!tile.view<?xf32, shared>, i64)
// expected-error@+1 {{12 bytes are no power of two that holds elements of 4}}
%p = simt.phase %x[%i] {bytes = 12} : !tile.view<?xf32, shared>

// -----

%x, %i = "test.op"() : () -> (!tile.view<?xf32, shared>, i64)
// expected-error@+1 {{2 bytes are no power of two that holds elements of 4}}
%p = simt.phase %x[%i] {bytes = 2} : !tile.view<?xf32, shared>
