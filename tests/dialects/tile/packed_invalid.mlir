// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of packed tiles and of repeated elements refuse.

%a = "test.op"() : () -> tensor<4x8xi8>
// expected-error@+1 {{a packed format is one of i4, u4, f4e2m1fn, not 'f6e2m3fn'}}
%b = tile.unpack %a {format = "f6e2m3fn", axis = 1} : tensor<4x8xi8> -> tensor<4x16xbf16>

// -----

%a = "test.op"() : () -> tensor<4x8xi16>
// expected-error@+1 {{packed values are bytes of i8, not i16}}
%b = tile.unpack %a {format = "i4", axis = 1} : tensor<4x8xi16> -> tensor<4x16xbf16>

// -----

%a = "test.op"() : () -> tensor<4x8xi8>
// expected-error@+1 {{f4e2m1fn goes with elements of f8E4M3FN, f16, bf16, f32, not i8}}
%b = tile.unpack %a {format = "f4e2m1fn", axis = 1} : tensor<4x8xi8> -> tensor<4x16xi8>

// -----

%a = "test.op"() : () -> tensor<4x8xi8>
// expected-error@+1 {{axis 1 of [8, 8] has not 2 times the extent of [4, 8]}}
%b = tile.unpack %a {format = "i4", axis = 1} : tensor<4x8xi8> -> tensor<8x8xbf16>

// -----

%a = "test.op"() : () -> tensor<4x8xi8>
// expected-error@+1 {{axis 2 is not an axis of tensor<4x8xi8>}}
%b = tile.unpack %a {format = "i4", axis = 2} : tensor<4x8xi8> -> tensor<4x16xbf16>

// -----

%a = "test.op"() : () -> tensor<4x7xf32>
// expected-error@+1 {{axis 1 of [4, 7] has not 2 times the extent of [4, 3]}}
%b = tile.pack %a {format = "f4e2m1fn", axis = 1} : tensor<4x7xf32> -> tensor<4x3xi8>

// -----

%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{i4 goes with elements of i8, not f32}}
%b = tile.pack %a {format = "i4", axis = 1} : tensor<4x8xf32> -> tensor<4x4xi8>

// -----

%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{elements are repeated a power of two times, not 3}}
%b = tile.repeat %a {axis = 1, count = 3} : tensor<4x8xf32> -> tensor<4x24xf32>

// -----

%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{source and result differ in element type}}
%b = tile.repeat %a {axis = 1, count = 2} : tensor<4x8xf32> -> tensor<4x16xf16>

// -----

%a = "test.op"() : () -> tensor<32xi8, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>>
// expected-error@+1 {{of source and result, one has a layout}}
%b = tile.unpack %a {format = "i4", axis = 0} : tensor<32xi8, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>> -> tensor<64xi8>

// -----

%a = "test.op"() : () -> tensor<32xi8, #tile.layout<regs = [], lanes = [[0], [1], [2], [4], [8]], warps = [[16]]>>
// expected-error@+1 {{two values of a byte are in different threads}}
%b = tile.unpack %a {format = "i4", axis = 0} : tensor<32xi8, #tile.layout<regs = [], lanes = [[0], [1], [2], [4], [8]], warps = [[16]]>> -> tensor<64xi8, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[32]]>>

// -----

%a = "test.op"() : () -> tensor<64xi8, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[32]]>>
// expected-error@+1 {{two values of a byte are in different threads}}
%b = tile.pack %a {format = "i4", axis = 0} : tensor<64xi8, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[32]]>> -> tensor<32xi8, #tile.layout<regs = [], lanes = [[0], [1], [2], [4], [8]], warps = [[16]]>>

// -----

%a = "test.op"() : () -> tensor<32xi8, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>>
// expected-error@+1 {{the source's layout is #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, it must be #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [0]], warps = []>}}
%b = tile.repeat %a {axis = 0, count = 2} : tensor<32xi8, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>> -> tensor<64xi8, #tile.layout<regs = [[1], [2]], lanes = [[4], [8], [16], [32], [0]], warps = []>>
