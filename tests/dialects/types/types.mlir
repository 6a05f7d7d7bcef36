// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s

// CHECK: "test.op"() {elements = [!tile.view<i1, shared>, !tile.view<i8, shared>, !tile.view<i16, shared>, !tile.view<i32, shared>, !tile.view<i64, shared>]}
"test.op"() {elements = [!tile.view<i1, shared>, !tile.view<i8, shared>, !tile.view<i16, shared>, !tile.view<i32, shared>, !tile.view<i64, shared>]} : () -> ()
// CHECK: "test.op"() {elements = [!tile.view<f16, owned>, !tile.view<bf16, owned>, !tile.view<f32, owned>, !tile.view<f64, owned>, !tile.view<f8E4M3FN, owned>, !tile.view<f8E5M2, owned>]}
"test.op"() {elements = [!tile.view<f16, owned>, !tile.view<bf16, owned>, !tile.view<f32, owned>, !tile.view<f64, owned>, !tile.view<f8E4M3FN, owned>, !tile.view<f8E5M2, owned>]} : () -> ()
// CHECK: "test.op"() {extents = [!tile.view<?x?x3xf32, shared>, !tile.view<0x9223372036854775807xf32, shared>]}
"test.op"() {extents = [!tile.view<?x?x3xf32, shared>, !tile.view<0x9223372036854775807xf32, shared>]} : () -> ()
// CHECK: "test.op"() {buffers = [!tile.buffer<f32>, !tile.buffer<7x96xi8>, !tile.buffer<7x96xi8, #tile.shared<order = [1, 0], pad = 16>>]}
"test.op"() {buffers = [!tile.buffer<f32>, !tile.buffer<7x96xi8>, !tile.buffer<7x96xi8, #tile.shared<order = [1, 0], pad = 16>>]} : () -> ()
// CHECK: "test.op"() {channels = [!pipe.channel<1, !tile.buffer<8xf32>>, !pipe.channel<4, !tile.buffer<8x8xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<8xi1>>]}
"test.op"() {channels = [!pipe.channel<1, !tile.buffer<8xf32>>, !pipe.channel<4, !tile.buffer<8x8xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<8xi1>>]} : () -> ()

// Layouts that do the same print the same: a swizzle of no bits and a pad of nothing are none.
// CHECK: "test.op"() {shared = [#tile.shared<order = []>, #tile.shared<order = [0, 2, 1]>, #tile.shared<order = [0, 1]>]}
"test.op"() {shared = [#tile.shared<order = []>, #tile.shared<order = [0, 2, 1], pad = 0>, #tile.shared<order = [0, 1], swizzle = [0, 4, 3]>]} : () -> ()
// CHECK: "test.op"() {layout = #tile.layout<regs = {{\[\[}}1], [2]], lanes = {{\[\[}}4], [8], [16], [0], [0]], warps = {{\[\[}}32], [0]]>}
"test.op"() {layout = #tile.layout<regs = [[1], [2]], lanes = [[4], [8], [16], [0], [0]], warps = [[32], [0]]>} : () -> ()

// CHECK: "test.op"() {bounds = [#tile.bounds<proved []>, #tile.bounds<launch [0] "n % 16 == 0">, #tile.bounds<hoisted [0, 1]>, #tile.bounds<masked [1]>, #tile.bounds<checked [0] "a \22quote\22">]}
"test.op"() {bounds = [#tile.bounds<proved []>, #tile.bounds<launch [0] "n % 16 == 0">, #tile.bounds<hoisted [0, 1]>, #tile.bounds<masked [1]>, #tile.bounds<checked [0] "a \"quote\"">]} : () -> ()
// CHECK: "test.op"() {contracts = [#tile.contract<align = 16, unit = 1, shape = [16, 1], stride = [8, 1], small>, #tile.contract<align = 1, unit = -1, shape = [], stride = []>]}
"test.op"() {contracts = [#tile.contract<align = 16, unit = 1, shape = [16, 1], stride = [8, 1], small>, #tile.contract<align = 1, unit = -1, shape = [], stride = []>]} : () -> ()
