// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Reading what the next thread writes.
simt.kernel @neighbour(%out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 4, 1, 1>} {
  %c1 = arith.constant 1 : i64
  %t = simt.thread_idx {axis = 0}
  %n = arith.addi %t, %c1 : i64
  // expected-error@+1 {{[ownership/foreign-read]: thread 0 of block 0 reads out[1], which thread 1 of block 0 writes}}
  %v = simt.element_load %out[%n] : !tile.view<?xf32, owned> -> f32
  // expected-note@+1 {{the store is here}}
  simt.element_store %v, %out[%t] : f32, !tile.view<?xf32, owned>
  simt.return
}
