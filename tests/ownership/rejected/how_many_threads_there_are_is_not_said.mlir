// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// How many threads there are is not said.
simt.kernel @unknown_block(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %t = simt.thread_idx {axis = 0}
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: cannot prove that two threads never write one element of out: out[thread_idx(0)]}}
  simt.element_store %z, %out[%t] : f32, !tile.view<?xf32, owned>
  simt.return
}
