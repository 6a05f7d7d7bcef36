// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of clusters refuse.

simt.kernel @k() {
// expected-error@+1 {{gpu.cluster_arrive needs a kernel whose blocks come in clusters (simt.cluster)}}
gpu.cluster_arrive
simt.return
}

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<8xf32>
// expected-error@+1 {{an element of !tile.buffer<8xf32> is not f16}}
%v = gpu.remote_load %m[%i] of %i : !tile.buffer<8xf32> -> f16

// -----

%i = "test.op"() : () -> i64
%v = "test.op"() : () -> i32
%m = "test.op"() : () -> !tile.buffer<8xf32>
// expected-error@+1 {{an element of !tile.buffer<8xf32> is not i32}}
gpu.remote_store %v, %m[%i] of %i : i32, !tile.buffer<8xf32>

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<8xf32>
// expected-error@+1 {{barriers are a !tile.buffer<Nxi64>, not !tile.buffer<8xf32>}}
gpu.remote_arrive %m[%i] of %i : !tile.buffer<8xf32>
