// RUN: tileopt %s -p canonicalize | filecheck %s

// CHECK-LABEL: simt.kernel @selections
// CHECK-NEXT: %n = arith.constant 16 : i64
// CHECK-NEXT: %v = simt.fragment_load %x[%i, %n]
// CHECK-NEXT: %[[PICK:.*]] = simt.fragment_select %v {registers = array<i8: 1, 3>} : vector<4xf32> -> vector<2xf32>
// CHECK-NEXT: %[[SPLAT:.*]] = simt.splat %s : f32 -> vector<2xf32>
// CHECK-NEXT: "test.op"(%v, %[[PICK]], %[[SPLAT]])
// CHECK-NEXT: simt.return
simt.kernel @selections(%x: !tile.view<?x16xf32, owned>, %s: f32, %i: i64) {
  %n = simt.dim %x {axis = 1} : !tile.view<?x16xf32, owned>
  %v = simt.fragment_load %x[%i, %n] {layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>} : !tile.view<?x16xf32, owned> -> vector<4xf32>
  %all = simt.fragment_select %v {registers = array<i64: 0, 1, 2, 3>} : vector<4xf32> -> vector<4xf32>
  %three = simt.fragment_select %v {registers = array<i8: 3, 2, 1>} : vector<4xf32> -> vector<3xf32>
  %two = simt.fragment_select %three {registers = array<i64: 2, 0>} : vector<3xf32> -> vector<2xf32>
  %splat = simt.splat %s : f32 -> vector<4xf32>
  %part = simt.fragment_select %splat {registers = array<i64: 0, 3>} : vector<4xf32> -> vector<2xf32>
  "test.op"(%all, %two, %part) : (vector<4xf32>, vector<2xf32>, vector<2xf32>) -> ()
  simt.return
}

// CHECK-LABEL: simt.kernel @buffers
// CHECK-NEXT: %m = simt.alloc_shared
// CHECK-NEXT: "test.op"(%m)
// CHECK-NEXT: simt.return
simt.kernel @buffers() {
  %m = simt.alloc_shared : !tile.buffer<8x16xf32>
  %unused = simt.alloc_shared : !tile.buffer<8x16xf32>
  %v = simt.view_buffer %m : !tile.buffer<8x16xf32> -> !tile.buffer<8x16xf32>
  "test.op"(%v) : (!tile.buffer<8x16xf32>) -> ()
  simt.return
}
