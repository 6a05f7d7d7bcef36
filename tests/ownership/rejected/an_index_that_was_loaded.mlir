// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// An index that was loaded.
simt.kernel @scatter(%idx: !tile.view<?xi64, shared>, %out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 4, 1, 1>} {
  %t = simt.thread_idx {axis = 0}
  %i = simt.element_load %idx[%t] : !tile.view<?xi64, shared> -> i64
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/data-dependent-store]: where this stores to out depends on loaded data, so two threads may write one element}}
  simt.element_store %z, %out[%i] : f32, !tile.view<?xf32, owned>
  simt.return
}
