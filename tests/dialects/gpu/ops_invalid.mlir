// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of the gpu dialect refuse.

%a, %b, %c = "test.op"() : () -> (vector<8xf16>, vector<4xf16>, vector<4xf32>)
// expected-error@+1 {{accumulator and result differ in type}}
%d = gpu.mma_sync %a, %b, %c {atom = "mma.m16n8k16.f16", m = 16, n = 8, k = 16, layout_a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [8, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : vector<8xf16>, vector<4xf16>, vector<4xf32> -> vector<4xf64>

// -----

%a, %b, %c = "test.op"() : () -> (vector<8xf16>, vector<4xbf16>, vector<4xf32>)
// expected-error@+1 {{a is of f16, b of bf16}}
%d = gpu.mma_sync %a, %b, %c {atom = "mma.m16n8k16.f16", m = 16, n = 8, k = 16, layout_a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [8, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : vector<8xf16>, vector<4xbf16>, vector<4xf32> -> vector<4xf32>

// -----

%a, %b, %c = "test.op"() : () -> (vector<4xf16>, vector<4xf16>, vector<4xf32>)
// expected-error@+1 {{the layout has 8 registers, the fragment is vector<4xf16>}}
%d = gpu.mma_sync %a, %b, %c {atom = "mma.m16n8k16.f16", m = 16, n = 8, k = 16, layout_a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [8, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : vector<4xf16>, vector<4xf16>, vector<4xf32> -> vector<4xf32>

// -----

%a, %b, %c = "test.op"() : () -> (vector<8xf16>, vector<4xf16>, vector<4xf32>)
// expected-error@+1 {{the tile needs static, positive extents, got [0, 16]}}
%d = gpu.mma_sync %a, %b, %c {atom = "mma.m16n8k16.f16", m = 0, n = 8, k = 16, layout_a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [8, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : vector<8xf16>, vector<4xf16>, vector<4xf32> -> vector<4xf32>

// -----

%a, %b, %c = "test.op"() : () -> (vector<8xf16>, vector<4xf16>, vector<4xi32>)
// expected-error@+1 {{a product of f16 is not accumulated in i32}}
%d = gpu.mma_sync %a, %b, %c {atom = "mma.m16n8k16.f16", m = 16, n = 8, k = 16, layout_a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [8, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : vector<8xf16>, vector<4xf16>, vector<4xi32> -> vector<4xi32>

// -----

%x = "test.op"() : () -> !tile.buffer<16x16xf64>
// expected-error@+1 {{ldmatrix moves elements of 8, 16 or 32 bits, not f64}}
%f = gpu.ldmatrix %x {layout = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : !tile.buffer<16x16xf64> -> vector<8xf64>

// -----

%x = "test.op"() : () -> !tile.buffer<16x16xf32, #tile.shared<order = [1, 0]>>
// expected-error@+1 {{ldmatrix transposes elements of 16 bits, and bytes in pairs of rows, not f32}}
%f = gpu.ldmatrix %x {layout = #tile.layout<regs = [[8, 0], [0, 4], [0, 8]], lanes = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warps = []>} : !tile.buffer<16x16xf32, #tile.shared<order = [1, 0]>> -> vector<8xf32>

// -----

%x = "test.op"() : () -> !tile.buffer<16x16xf16>
// expected-error@+1 {{buffer and fragment differ in element type}}
%f = gpu.ldmatrix %x {layout = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : !tile.buffer<16x16xf16> -> vector<8xbf16>

// -----

%x = "test.op"() : () -> !tile.buffer<8x16xf16>
// expected-error@+1 {{ldmatrix needs a matrix that the fragment tiles exactly}}
%f = gpu.ldmatrix %x {layout = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>} : !tile.buffer<8x16xf16> -> vector<8xf16>

// -----

%x = "test.op"() : () -> !tile.buffer<64xf16>
// expected-error@+1 {{ldmatrix needs a matrix that the fragment tiles exactly}}
%f = gpu.ldmatrix %x {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>} : !tile.buffer<64xf16> -> vector<2xf16>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%x = "test.op"() : () -> !tile.buffer<8x16xf16>
%i = "test.op"() : () -> i64
// expected-error@+1 {{offsets, array and buffer differ in rank}}
gpu.cp_async %v[%i], %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, vector = 8} : !tile.view<?x?xf16, shared>, !tile.buffer<8x16xf16>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%x = "test.op"() : () -> !tile.buffer<8x16xbf16>
%i = "test.op"() : () -> i64
// expected-error@+1 {{array and buffer differ in element type}}
gpu.cp_async %v[%i, %i], %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, vector = 8} : !tile.view<?x?xf16, shared>, !tile.buffer<8x16xbf16>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%x = "test.op"() : () -> !tile.buffer<8x16xf16>
%i = "test.op"() : () -> i64
// expected-error@+1 {{cp.async copies 4, 8 or 16 bytes, not 2}}
gpu.cp_async %v[%i, %i], %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, vector = 1} : !tile.view<?x?xf16, shared>, !tile.buffer<8x16xf16>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%x = "test.op"() : () -> !tile.buffer<8x16xf16>
%i = "test.op"() : () -> i64
// expected-error@+1 {{cp.async copies 4, 8 or 16 bytes, not -16}}
gpu.cp_async %v[%i, %i], %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, vector = -8} : !tile.view<?x?xf16, shared>, !tile.buffer<8x16xf16>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%x = "test.op"() : () -> !tile.buffer<8x16xf16>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the bounds name axis 2 of an array of rank 2}}
gpu.cp_async %v[%i, %i], %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, vector = 8, bounds = #tile.bounds<masked [2]>} : !tile.view<?x?xf16, shared>, !tile.buffer<8x16xf16>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%x = "test.op"() : () -> !tile.buffer<8x16xf16>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the padding is of f32, the elements are f16}}
gpu.cp_async %v[%i, %i], %x {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, vector = 8, padding = 0.0 : f32} : !tile.view<?x?xf16, shared>, !tile.buffer<8x16xf16>

// -----

%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%x = "test.op"() : () -> !tile.buffer<8x16xf16>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the buffer: basis [1] has 1 coordinates, the tile has rank 2}}
gpu.cp_async %v[%i, %i], %x {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, vector = 8} : !tile.view<?x?xf16, shared>, !tile.buffer<8x16xf16>

// -----

// expected-error@+1 {{pending counts groups, it is not -1}}
gpu.cp_async_wait {pending = -1}

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (vector<16xi8>, vector<8xi8>, vector<4xf32>, vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU>)
// expected-error@+1 {{a product with scales has those of a and of b, their layouts, and blocks}}
%d = gpu.mma_sync %a, %b, %c scaled %s, %t {atom = "mma_mxf4_m16n8k64_f4e2m1fn_f8e8m0fnu", m = 16, n = 8, k = 32, layout_a = #tile.layout<regs = [[0, 1], [0, 2], [8, 0], [0, 16]], lanes = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [2, 0], [16, 0]], lanes = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, layout_a_scale = #tile.layout<regs = [[0, 1]], lanes = [[8, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b_scale = #tile.layout<regs = [[1, 0]], lanes = [[0, 0], [0, 0], [0, 1], [0, 2], [0, 4]], warps = []>} : vector<16xi8>, vector<8xi8>, vector<4xf32> scaled vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU> -> vector<4xf32>

// -----

%a, %b, %c, %s, %t = "test.op"() : () -> (vector<16xi8>, vector<8xi8>, vector<4xf32>, vector<2xf8E8M0FNU>, vector<1xf8E8M0FNU>)
// expected-error@+1 {{the layout has 2 registers, the fragment is vector<1xf8E8M0FNU>}}
%d = gpu.mma_sync %a, %b, %c scaled %s, %t {atom = "mma_mxf4_m16n8k64_f4e2m1fn_f8e8m0fnu", m = 16, n = 8, k = 32, layout_a = #tile.layout<regs = [[0, 1], [0, 2], [8, 0], [0, 16]], lanes = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b = #tile.layout<regs = [[1, 0], [2, 0], [16, 0]], lanes = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warps = []>, layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>, blocks = 2, layout_a_scale = #tile.layout<regs = [[0, 1]], lanes = [[8, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warps = []>, layout_b_scale = #tile.layout<regs = [[1, 0]], lanes = [[0, 0], [0, 0], [0, 1], [0, 2], [0, 4]], warps = []>} : vector<16xi8>, vector<8xi8>, vector<4xf32> scaled vector<2xf8E8M0FNU>, vector<1xf8E8M0FNU> -> vector<4xf32>
