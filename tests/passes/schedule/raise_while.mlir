// RUN: tileopt %s -p raise-while --split-input-file | filecheck %s

// The counter is the induction variable; what the test computes is made before the loop, and what it leaves behind it.
// CHECK-LABEL: tile.kernel @up
// CHECK:         [[D:%.*]] = tile.dim %x {axis = 0 : i64}
// CHECK:         [[R:%.*]] = arith.constant 63 : i64
// CHECK-NEXT:    [[S:%.*]] = arith.addi [[D]], [[R]] : i64
// CHECK-NEXT:    [[E:%.*]] = arith.divsi [[S]],
// CHECK-NEXT:    [[U:%.*]] = arith.constant 1 : i64
// CHECK-NEXT:    [[L:%.*]] = arith.maxsi %z, [[E]] : i64
// CHECK-NEXT:    %sum = scf.for %k = %z to [[E]] step [[U]] iter_args(%acc = %f) -> (f32)
// CHECK-NEXT:      arith.addf %acc, %f
// CHECK:           scf.yield %s : f32
// CHECK:         arith.addi [[L]], [[L]]
tile.kernel @up(%x: !tile.view<?xf32, shared>, %y: !tile.view<?xf32, owned>, %f: f32) {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %sum, %last = scf.while (%acc = %f, %k = %z) : (f32, i64) -> (f32, i64) {
    %p = arith.muli %k, %w : i64
    %d = tile.dim %x {axis = 0 : i64} : !tile.view<?xf32, shared>
    %c = arith.cmpi slt, %p, %d : i64
    scf.condition(%c) %acc, %k : f32, i64
  } do {
  ^bb0(%acc: f32, %k: i64):
    %s = arith.addf %acc, %f : f32
    %n = arith.addi %k, %u : i64
    scf.yield %s, %n : f32, i64
  }
  %at = arith.addi %last, %last : i64
  %t = tile.splat %sum : f32 -> tensor<64xf32>
  tile.store %t, %y[%at] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// A counter that goes down is made from the number of the iteration; where more than the last one is wanted of it, and
// its step is not one, the loop still carries it. Two conditions: the nearer end.
// CHECK-LABEL: tile.kernel @down
// CHECK:         [[A:%.*]] = arith.ceildivsi
// CHECK:         [[B:%.*]] = arith.ceildivsi
// CHECK:         [[N:%.*]] = arith.minsi [[A]], [[B]] : i32
// CHECK:         %last = scf.for [[I:%.*]] = {{%.*}} to [[N]] step {{%.*}} iter_args({{%.*}} = %top) -> (i32)
// CHECK-NEXT:      [[C:%.*]] = arith.constant -4 : i32
// CHECK-NEXT:      [[G:%.*]] = arith.muli [[I]], [[C]] : i32
// CHECK-NEXT:      [[K:%.*]] = arith.addi %top, [[G]] : i32
// CHECK:           arith.extsi [[K]] : i32 to i64
// CHECK:         arith.extsi %last : i32 to i64
tile.kernel @down(%y: !tile.view<?xf32, owned>, %f: f32, %h: i16, %g: i16) {
  %four = arith.constant 4 : i32
  %z = arith.constant 0 : i32
  %top = arith.extsi %h : i16 to i32
  %least = arith.extsi %g : i16 to i32
  %t = tile.splat %f : f32 -> tensor<64xf32>
  %last = scf.while (%k = %top) : (i32) -> i32 {
    %c = arith.cmpi sge, %k, %z : i32
    %d = arith.cmpi sgt, %k, %least : i32
    %both = arith.andi %c, %d : i1
    scf.condition(%both) %k : i32
  } do {
  ^bb0(%k: i32):
    %at = arith.extsi %k : i32 to i64
    tile.store %t, %y[%at] : tensor<64xf32>, !tile.view<?xf32, owned>
    %n = arith.subi %k, %four : i32
    scf.yield %n : i32
  }
  %at = arith.extsi %last : i32 to i64
  tile.store %t, %y[%at] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// With a step of two any n that is not the greatest number of its type would do, but it may be; a number that is read
// may be any, and a counter that starts behind its bound comes round to it.
// CHECK-LABEL: tile.kernel @stay
// CHECK-COUNT-3: scf.while
// CHECK-NOT:     scf.for
tile.kernel @stay(%n: i64, %m: i64) {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %a = scf.while (%k = %z) : (i64) -> i64 {
    %c = arith.cmpi slt, %k, %n : i64
    scf.condition(%c) %k : i64
  } do {
  ^bb0(%k: i64):
    %o = arith.addi %k, %two : i64
    scf.yield %o : i64
  }
  %b = scf.while (%k = %m) : (i64) -> i64 {
    %c = arith.cmpi ne, %k, %n : i64
    scf.condition(%c) %k : i64
  } do {
  ^bb0(%k: i64):
    %o = arith.addi %k, %u : i64
    scf.yield %o : i64
  }
  %d, %e = scf.while (%k = %z, %l = %z) : (i64, i64) -> (i64, i64) {
    %c = arith.cmpi slt, %k, %n : i64
    scf.condition(%c) %k, %l : i64, i64
  } do {
  ^bb0(%k: i64, %l: i64):
    %o = arith.xori %k, %n : i64
    scf.yield %o, %k : i64, i64
  }
  tile.return
}
