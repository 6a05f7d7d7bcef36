// RUN: tileopt %s -p verify-ownership --verify-diagnostics --split-input-file

// All threads of a block store to its place.
simt.kernel @blocks(%out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 64, 1, 1>} {
  %b = simt.block_id {axis = 0}
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: thread 0 of block 0 and thread 1 of block 0 both write out[0]}}
  simt.element_store %z, %out[%b] : f32, !tile.view<?xf32, owned>
  simt.return
}

// -----

// Blocks that step by less than they are long.
simt.kernel @short_step(%out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 2, 1, 1>} {
  %b = simt.block_id {axis = 0}
  %t = simt.thread_idx {axis = 0}
  %i = arith.addi %b, %t : i64
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: thread 1 of block 0 and thread 0 of block 1 both write out[1]}}
  simt.element_store %z, %out[%i] {witness} : f32, !tile.view<?xf32, owned>
  simt.return
}

// -----

// An axis of the block that the index leaves out.
simt.kernel @second_axis(%out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 4, 4, 1>} {
  %t = simt.thread_idx {axis = 0}
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: thread (0, 0) of block 0 and thread (0, 1) of block 0 both write out[0]}}
  simt.element_store %z, %out[%t] : f32, !tile.view<?xf32, owned>
  simt.return
}

// -----

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

// -----

// An index that was loaded.
simt.kernel @scatter(%idx: !tile.view<?xi64, shared>, %out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 4, 1, 1>} {
  %t = simt.thread_idx {axis = 0}
  %i = simt.element_load %idx[%t] : !tile.view<?xi64, shared> -> i64
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/data-dependent-store]: where this stores to out depends on loaded data, so two threads may write one element}}
  simt.element_store %z, %out[%i] : f32, !tile.view<?xf32, owned>
  simt.return
}

// -----

// How many threads there are is not said.
simt.kernel @unknown_block(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %t = simt.thread_idx {axis = 0}
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: cannot prove that two threads never write one element of out: out[thread_idx(0)]}}
  simt.element_store %z, %out[%t] : f32, !tile.view<?xf32, owned>
  simt.return
}
