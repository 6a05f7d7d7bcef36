// RUN: tileopt %s --split-input-file --verify-diagnostics

// Ops that move no data between threads tie the layouts of source and result together.

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>
%x = "test.op"() : () -> tensor<4x8xf32, #rows>
// expected-error@+1 {{the result's layout is #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>, it must be #tile.layout<regs = [], lanes = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]], warps = []>}}
%t = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x8xf32, #rows> -> tensor<8x4xf32, #rows>

// -----

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>
#all = #tile.layout<regs = [], lanes = [[0], [0], [0], [1], [2]], warps = []>
#one = #tile.layout<regs = [], lanes = [[1], [2], [4], [0], [0]], warps = []>
%x = "test.op"() : () -> tensor<4x8xf32, #rows>
// What a reduction over columns leaves is a row's value in each of its lanes.
%r = tile.reduce %x {kind = "sum", axis = 1} : tensor<4x8xf32, #rows> -> tensor<4xf32, #all>
// expected-error@+1 {{the result's layout is #tile.layout<regs = [], lanes = [[1], [2], [4], [0], [0]], warps = []>, it must be #tile.layout<regs = [], lanes = [[0], [0], [0], [1], [2]], warps = []>}}
%s = tile.reduce %x {kind = "sum", axis = 1} : tensor<4x8xf32, #rows> -> tensor<4xf32, #one>

// -----

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>
#all = #tile.layout<regs = [], lanes = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warps = []>
%x, %y = "test.op"() : () -> (tensor<4x1xf32, #all>, tensor<4x1xf32, #rows>)
%a = tile.broadcast %x : tensor<4x1xf32, #all> -> tensor<4x8xf32, #rows>
// expected-error@+1 {{the source's layout is #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>, it must be #tile.layout<regs = [], lanes = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warps = []>}}
%b = tile.broadcast %y : tensor<4x1xf32, #rows> -> tensor<4x8xf32, #rows>

// -----

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>
%x = "test.op"() : () -> tensor<4x8xf32, #rows>
// expected-error@+1 {{of source and result, one has a layout}}
%t = tile.reshape %x : tensor<4x8xf32, #rows> -> tensor<32xf32>

// -----

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{of source and result, one has a layout}}
%t = tile.convert_layout %x : tensor<4x8xf32> -> tensor<4x8xf32, #rows>
