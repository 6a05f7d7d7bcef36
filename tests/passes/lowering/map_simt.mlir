// RUN: tileopt %s --target sm_80 -p lower-tile-to-simt | filecheck %s

#rows = #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = []>
#along = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warps = [[1, 0]]>

// Elementwise ops work on whole fragments; what rests on no element is computed once.
// CHECK-LABEL: simt.kernel @elementwise
// CHECK:         %j = arith.addi %i, %i : i32
// CHECK-NEXT:    %f = arith.sitofp %j : i32 to f32
// CHECK-NEXT:    [[F:%.*]] = simt.splat %f : f32 -> vector<2xf32>
// CHECK-NEXT:    {{.*}} = arith.mulf {{.*}}, [[F]] : vector<2xf32>
// CHECK-NEXT:    simt.return
tile.kernel @elementwise(%s: f32, %i: i32) attributes {tile.num_warps = 1 : i64} {
  %a = tile.splat %s : f32 -> tensor<64xf32, #rows>
  %b = tile.map_simt %a : tensor<64xf32, #rows> -> tensor<64xf32, #rows> {
  ^bb0(%x: f32):
    %j = arith.addi %i, %i : i32
    %f = arith.sitofp %j : i32 to f32
    %y = arith.mulf %x, %f : f32
    tile.map_yield %y : f32
  }
  tile.return
}

// A loop runs for registers that hold elements alone: others might never end.
// CHECK-LABEL: simt.kernel @guarded
// CHECK:         [[IN:%.*]] = arith.cmpi slt, {{.*}} : vector<2xi32>
// CHECK:         [[A:%.*]] = simt.extract [[X:%.*]] {register = 0 : i64} : vector<2xf32> -> f32
// CHECK-NEXT:    [[C:%.*]] = simt.extract [[IN]] {register = 0 : i64} : vector<2xi1> -> i1
// CHECK-NEXT:    [[B:%.*]] = simt.extract [[X]] {register = 1 : i64} : vector<2xf32> -> f32
// CHECK-NEXT:    [[D:%.*]] = simt.extract [[IN]] {register = 1 : i64} : vector<2xi1> -> i1
// CHECK-NEXT:    [[R:%.*]] = scf.if [[C]] -> (f32) {
// CHECK-NEXT:      {{.*}} = scf.for
// CHECK:           arith.mulf {{.*}}, [[A]] : f32
// CHECK:         } else {
// CHECK-NEXT:      {{.*}} = arith.constant 0.000000e+00 : f32
// CHECK:         [[S:%.*]] = scf.if [[D]] -> (f32) {
// CHECK:         {{.*}} = simt.shift_in [[R]], [[S]] into {{.*}} : f32, f32 into vector<2xf32> -> vector<2xf32>
tile.kernel @guarded(%s: f32, %n: i64) attributes {tile.num_warps = 1 : i64} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %a = tile.splat %s : f32 -> tensor<50xf32, #rows>
  %b = tile.map_simt %a : tensor<50xf32, #rows> -> tensor<50xf32, #rows> {
  ^bb0(%x: f32):
    %y = scf.for %i = %zero to %n step %one iter_args(%v = %x) -> (f32) : i64 {
      %w = arith.mulf %v, %x : f32
      scf.yield %w : f32
    }
    tile.map_yield %y : f32
  }
  tile.return
}

// Lanes past the end of the axis hold the padding. The map has no loop, so what it does with the fourth row is nobody's.
// CHECK-LABEL: simt.kernel @lanes
// CHECK:         {{.*}} = simt.fragment_coord {{.*}}axis = 1 : i64} : vector<2xi32>
// CHECK-NEXT:    {{.*}} = arith.constant 20 : i32
// CHECK:         [[P:%.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:    [[Q:%.*]] = simt.splat [[P]] : f32 -> vector<2xf32>
// CHECK-NEXT:    [[X:%.*]] = arith.select {{.*}}, [[Q]] : vector<2xi1>, vector<2xf32>
// CHECK:         [[A:%.*]] = simt.extract [[X]] {register = 0 : i64}
// CHECK-NEXT:    [[B:%.*]] = simt.extract [[X]] {register = 1 : i64}
// CHECK-NEXT:    {{.*}} = simt.warp_reduce [[A]]
// CHECK-NEXT:    {{.*}} = simt.warp_reduce [[B]]
// CHECK-NEXT:    {{.*}} = simt.shift_in
tile.kernel @lanes(%s: f32) attributes {tile.num_warps = 2 : i64} {
  %a = tile.splat %s : f32 -> tensor<3x20xf32, #along>
  %b = tile.map_simt %a {axis = 1, padding = [2.0 : f32]} : tensor<3x20xf32, #along> -> tensor<3x20xf32, #along> {
  ^bb0(%x: f32):
    %y = simt.warp_reduce %x {kind = "sum"} : f32 -> f32
    tile.map_yield %y : f32
  }
  tile.return
}

// Of many registers a loop takes some at a time, which are in front; the rest follows it.
#many = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>
// CHECK-LABEL: simt.kernel @rolled
// CHECK:         [[N:%.*]] = arith.constant 6 : i64
// CHECK:         [[X:%.*]], [[R:%.*]] = scf.for {{.*}} to [[N]] step {{.*}} iter_args([[A:%.*]] = {{.*}}, [[B:%.*]] = {{.*}}) -> (vector<101xf32>, vector<101xf32>)
// CHECK:         {{.*}} = simt.extract [[A]] {register = 15 : i64}
// CHECK-NOT:     simt.extract [[A]] {register = 16 : i64}
// CHECK:         {{.*}} = simt.shift_in {{.*}} into [[B]]
// CHECK-NEXT:    {{.*}} = simt.fragment_select [[A]] {registers = array<i64: 16, 17,
// CHECK:         {{.*}} = simt.extract [[X]] {register = 0 : i64}
// CHECK:         {{.*}} = simt.extract [[X]] {register = 4 : i64}
// CHECK-NOT:     simt.extract
// CHECK:         {{.*}} = simt.shift_in {{.*}} into [[R]] : f32, f32, f32, f32, f32 into
tile.kernel @rolled(%s: f32, %n: f32) attributes {tile.num_warps = 1 : i64} {
  %a = tile.splat %s : f32 -> tensor<3232xf32, #many>
  %b = tile.map_simt %a : tensor<3232xf32, #many> -> tensor<3232xf32, #many> {
  ^bb0(%x: f32):
    %y = scf.while (%v = %x) : (f32) -> (f32) {
      %c = arith.cmpf olt, %v, %n : f32
      scf.condition(%c) %v : f32
    } do {
    ^bb0(%v: f32):
      %w = arith.mulf %v, %x : f32
      scf.yield %w : f32
    }
    tile.map_yield %y : f32
  }
  tile.return
}
