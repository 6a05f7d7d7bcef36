// RUN: tileopt %s --split-input-file --verify-diagnostics

%x, %y, %c = "test.op"() : () -> (!tile.buffer<64x32xf16>, !tile.buffer<16x16xf16>, vector<8xf32>)
// expected-error@+1 {{!tile.buffer<64x32xf16> and !tile.buffer<16x16xf16> cannot be multiplied}}
%d = gpu.wgmma %x, %y, %c {atom = "w", layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>} : !tile.buffer<64x32xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>

// -----

%x, %y, %c = "test.op"() : () -> (vector<8xf16>, !tile.buffer<16x16xf16>, vector<8xf32>)
// expected-error@+1 {{a fragment as operand a needs layout_a}}
%d = gpu.wgmma %x, %y, %c {atom = "w", layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>} : vector<8xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>

// -----

%x, %y, %c = "test.op"() : () -> (!tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<8xf32>)
// expected-error@+1 {{accumulator and result differ in type}}
%d = gpu.wgmma %x, %y, %c {atom = "w", layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>} : !tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf64>

// -----

%c = "test.op"() : () -> (vector<8xf32>)
// expected-error@+1 {{accumulator and result differ in type}}
%d = gpu.wgmma_wait %c {pending = 0} : vector<8xf32> -> vector<8xf64>

// -----

%c = "test.op"() : () -> (vector<8xf32>)
// expected-error@+1 {{pending counts groups, it is not -1}}
%d = gpu.wgmma_wait %c {pending = -1} : vector<8xf32> -> vector<8xf32>

// -----

// expected-error@+1 {{a panel is a power of two, and its rows have no padding}}
"test.op"() : () -> !tile.buffer<16x128xf16, #tile.shared<order = [0, 1], panel = 48>>

// -----

%x, %y, %c = "test.op"() : () -> (!tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<2x8xf32>)
// expected-error@+1 {{a fragment is a vector of one axis, not vector<2x8xf32>}}
%d = gpu.wgmma %x, %y, %c {atom = "w", layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>} : !tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<2x8xf32> -> vector<2x8xf32>

// -----

%x, %y, %c = "test.op"() : () -> (!tile.buffer<64x32xi8>, !tile.buffer<32x16xi8>, vector<8xi32>)
// expected-error@+1 {{b lies with K side by side unless its elements have 16 bits}}
%d = gpu.wgmma %x, %y, %c {atom = "w", layout_acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>} : !tile.buffer<64x32xi8>, !tile.buffer<32x16xi8>, vector<8xi32> -> vector<8xi32>
