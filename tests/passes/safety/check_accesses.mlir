// RUN: tileopt %s -p check-accesses --target cpu-check --split-input-file | filecheck %s
// RUN: tileopt %s -p check-accesses --target cpu --split-input-file | filecheck %s --check-prefix=PLAIN

// What was proved, or left to the launch, is tested; what had to be tested claims nothing.
// CHECK-LABEL: simt.kernel @elements
// CHECK-SAME: simt.recorded
// CHECK: simt.element_load %x[%i, %j] {tile.claimed = array<i64: 0, 1>, bounds = #tile.bounds<checked [0, 1] "a proof">}
// CHECK: simt.element_load %x[%i, %j] {tile.claimed = array<i64: 0>, bounds = #tile.bounds<checked [0, 1] "half a proof">}
// CHECK: simt.element_load %x[%i, %j] {bounds = #tile.bounds<checked [0, 1]>}
// CHECK: simt.element_load %x[%i, %j] {bounds = #tile.bounds<checked [0, 1] "as asked">}
// CHECK: simt.check_index %i below %j {tile.claimed = array<i64: 0>, array = "x", bounds = #tile.bounds<checked [0] "for sure">}
// PLAIN-NOT: recorded
// PLAIN-NOT: claimed
simt.kernel @elements(%x: !tile.view<?x?xf32, shared> {tile.name = "x"}, %i: i64, %j: i64) attributes {simt.block = array<i64: 32, 1, 1>} {
  %a = simt.element_load %x[%i, %j] {bounds = #tile.bounds<proved [] "a proof">} : !tile.view<?x?xf32, shared> -> f32
  %b = simt.element_load %x[%i, %j] {bounds = #tile.bounds<checked [1] "half a proof">} : !tile.view<?x?xf32, shared> -> f32
  %c = simt.element_load %x[%i, %j] {bounds = #tile.bounds<checked [0, 1]>} : !tile.view<?x?xf32, shared> -> f32
  %d = simt.element_load %x[%i, %j] {bounds = #tile.bounds<unchecked [0, 1] "as asked">} : !tile.view<?x?xf32, shared> -> f32
  simt.check_index %i below %j {array = "x", bounds = #tile.bounds<proved [] "for sure">}
  simt.return
}

// -----

// CHECK-LABEL: simt.kernel @tiles
// CHECK: simt.fragment_load %x[%i] {tile.claimed = array<i64: 0>,
// CHECK-SAME: bounds = #tile.bounds<masked [0] "a proof">
simt.kernel @tiles(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %i: i64) {
  %a = simt.fragment_load %x[%i] {layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 32>, bounds = #tile.bounds<proved [] "a proof">} : !tile.view<?xf32, shared> -> vector<1xf32>
  simt.return
}
