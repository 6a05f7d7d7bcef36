// RUN: tileopt %s --split-input-file --verify-diagnostics

%w = "test.op"() : () -> (i32)
// expected-error@+1 {{tensor memory has 512 columns, not 64 from 480 on}}
%d = gpu.accumulator at %w {columns = 64, start = 480}

// -----

%w = "test.op"() : () -> (i32)
// expected-error@+1 {{an accumulator's place is both a base and a start}}
%d = gpu.accumulator at %w {columns = 64}

// -----

#rows = #tile.layout<regs = [[0, 1]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 2]], warps = [[16, 0], [32, 0], [64, 0]]>
%d = "test.op"() : () -> (i32)
// expected-error@+1 {{a lane of tensor memory is a row, and each warp of four reaches 32 of them}}
%f = gpu.accumulator_load %d {layout = #rows, shape = array<i64: 128, 4>} : vector<2xf32>

// -----

#rows = #tile.layout<regs = [[0, 1]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
%d = "test.op"() : () -> (i32)
// expected-error@+1 {{an accumulator has rows by 128 and no others, not [64, 2]}}
%f = gpu.accumulator_load %d {layout = #rows, shape = array<i64: 64, 2>} : vector<2xf32>

// -----

#rows = #tile.layout<regs = [[0, 1]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
%d, %f = "test.op"() : () -> (i32, vector<2xf16>)
// expected-error@+1 {{an accumulator's elements have 32 bits, not f16}}
gpu.accumulator_store %f, %d {layout = #rows, shape = array<i64: 128, 2>} : vector<2xf16>

// -----

%a, %b, %d = "test.op"() : () -> (!tile.buffer<64x64xf16>, !tile.buffer<64x16xf16>, i32)
// expected-error@+1 {{!tile.buffer<64x64xf16> and !tile.buffer<64x16xf16> cannot be multiplied into rows by 128}}
gpu.accumulate %a, %b, %d {atom = "t"} : !tile.buffer<64x64xf16>, !tile.buffer<64x16xf16>

// -----

%a, %b, %d = "test.op"() : () -> (!tile.buffer<128x32xi8>, !tile.buffer<32x16xi8>, i32)
// expected-error@+1 {{b lies with K side by side unless its elements have 16 bits}}
gpu.accumulate %a, %b, %d {atom = "t"} : !tile.buffer<128x32xi8>, !tile.buffer<32x16xi8>
