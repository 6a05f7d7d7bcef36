// RUN: tileopt %s --split-input-file --verify-diagnostics

// What types and attributes refuse, where they are written.

// expected-error@+1 {{index is not an element type (i1, i8 to i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU)}}
"test.op"() {type = !tile.view<?xindex, shared>} : () -> ()

// -----

// expected-error@+1 {{i4 is not an element type (i1, i8 to i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU)}}
"test.op"() {type = !tile.view<?xi4, shared>} : () -> ()

// -----

// expected-error@+1 {{a view is shared, owned or atomic, not 'mutable'}}
"test.op"() {type = !tile.view<?xf32, mutable>} : () -> ()

// -----

// expected-error@+1 {{a view's extent is 0 to 2**63 - 1, or '?'}}
"test.op"() {type = !tile.view<9223372036854775808xf32, shared>} : () -> ()

// -----

// expected-error@+1 {{Expected ','}}
"test.op"() {type = !tile.view<f32>} : () -> ()

// -----

// expected-error@+1 {{a buffer needs static, positive extents}}
"test.op"() {type = !tile.buffer<4x?xf32>} : () -> ()

// -----

// expected-error@+1 {{a buffer needs static, positive extents}}
"test.op"() {type = !tile.buffer<0xf32>} : () -> ()

// -----

// expected-error@+1 {{si32 is not an element type (i1, i8 to i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU)}}
"test.op"() {type = !tile.buffer<4xsi32>} : () -> ()

// -----

// expected-error@+1 {{the layout orders 2 axes, the buffer has rank 1}}
"test.op"() {type = !tile.buffer<4xf32, #tile.shared<order = [0, 1]>>} : () -> ()

// -----

// expected-error@+1 {{a buffer's layout is #tile.shared, not "rows"}}
"test.op"() {type = !tile.buffer<4xf32, "rows">} : () -> ()

// -----

// expected-error@+1 {{a channel has at least one slot}}
"test.op"() {type = !pipe.channel<0, !tile.buffer<4xf32>>} : () -> ()

// -----

// expected-error@+1 {{a channel's slot holds at least one tile}}
"test.op"() {type = !pipe.channel<2>} : () -> ()

// -----

// expected-error@+1 {{a channel's slot holds !tile.buffer}}
"test.op"() {type = !pipe.channel<2, f32>} : () -> ()

// -----

// expected-error@+1 {{order [0, 0] is not a permutation of the axes}}
"test.op"() {type = #tile.shared<order = [0, 0]>} : () -> ()

// -----

// expected-error@+1 {{a swizzle is three small integers [bits, base, shift]}}
"test.op"() {type = #tile.shared<order = [0], swizzle = [2, 3]>} : () -> ()

// -----

// expected-error@+1 {{a swizzle is three small integers [bits, base, shift]}}
"test.op"() {type = #tile.shared<order = [0], swizzle = [2, 3, 99]>} : () -> ()

// -----

// expected-error@+1 {{a swizzle must shift by at least its number of bits}}
"test.op"() {type = #tile.shared<order = [0], swizzle = [3, 3, 2]>} : () -> ()

// -----

// expected-error@+1 {{a shared layout is padded or swizzled, not both}}
"test.op"() {type = #tile.shared<order = [0], swizzle = [1, 3, 3], pad = 8>} : () -> ()

// -----

// expected-error@+1 {{Expected integer literal}}
"test.op"() {type = #tile.shared<order = [-1]>} : () -> ()

// -----

// expected-error@+1 {{a layout has 5 lane bases, got 2}}
"test.op"() {type = #tile.layout<regs = [], lanes = [[1], [2]], warps = []>} : () -> ()

// -----

// expected-error@+1 {{basis [1, 0] has 2 coordinates, the tile has rank 1}}
"test.op"() {type = #tile.layout<regs = [[1, 0]], lanes = [[2], [4], [8], [16], [32]], warps = []>} : () -> ()

// -----

// expected-error@+1 {{basis [3] is not one power of two on one axis}}
"test.op"() {type = #tile.layout<regs = [[3]], lanes = [[1], [2], [4], [8], [16]], warps = []>} : () -> ()

// -----

// expected-error@+1 {{basis [1, 1] is not one power of two on one axis}}
"test.op"() {type = #tile.layout<regs = [[1, 1]], lanes = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warps = []>} : () -> ()

// -----

// expected-error@+1 {{two bases of the layout are [1]}}
"test.op"() {type = #tile.layout<regs = [[1]], lanes = [[1], [2], [4], [8], [16]], warps = []>} : () -> ()

// -----

// expected-error@+1 {{a register basis is zero: a thread would hold an element twice}}
"test.op"() {type = #tile.layout<regs = [[0]], lanes = [[1], [2], [4], [8], [16]], warps = []>} : () -> ()

// -----

// expected-error@+1 {{the bases of axis 0 leave a gap (they cover 0x6f)}}
"test.op"() {type = #tile.layout<regs = [[32]], lanes = [[1], [2], [4], [8], [64]], warps = []>} : () -> ()

// -----

// expected-error@+1 {{a block has at most 32 warps, got 64}}
"test.op"() {type = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[0], [0], [0], [0], [0], [0]]>} : () -> ()

// -----

// expected-error@+1 {{an outcome is one of proved, launch, hoisted, masked, checked}}
"test.op"() {type = #tile.bounds<unknown []>} : () -> ()

// -----

// expected-error@+1 {{the axes [1, 0] are not distinct and in order}}
"test.op"() {type = #tile.bounds<masked [1, 0]>} : () -> ()

// -----

// expected-error@+1 {{the axes [1, 1] are not distinct and in order}}
"test.op"() {type = #tile.bounds<masked [1, 1]>} : () -> ()

// -----

// expected-error@+1 {{a proved access leaves no axis to test, this one leaves [0]}}
"test.op"() {type = #tile.bounds<proved [0]>} : () -> ()

// -----

// expected-error@+1 {{alignment and divisors are powers of two, got 12}}
"test.op"() {type = #tile.contract<align = 12, unit = 0, shape = [1], stride = [1]>} : () -> ()

// -----

// expected-error@+1 {{alignment and divisors are powers of two, got 0}}
"test.op"() {type = #tile.contract<align = 16, unit = 0, shape = [0], stride = [1]>} : () -> ()

// -----

// expected-error@+1 {{shape and stride name each axis once, and unit is one of them or -1}}
"test.op"() {type = #tile.contract<align = 16, unit = 1, shape = [1], stride = [1]>} : () -> ()

// -----

// expected-error@+1 {{shape and stride name each axis once, and unit is one of them or -1}}
"test.op"() {type = #tile.contract<align = 16, unit = 0, shape = [1], stride = [1, 1]>} : () -> ()
