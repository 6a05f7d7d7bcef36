// RUN: tileopt %s --split-input-file --verify-diagnostics

%b, %i = "test.op"() : () -> (!tile.buffer<4xf32>, i64)
// expected-error@+1 {{barriers are a !tile.buffer<Nxi64>, not !tile.buffer<4xf32>}}
gpu.mbarrier_wait %b[%i], %i : !tile.buffer<4xf32>

// -----

%b, %i = "test.op"() : () -> (!tile.buffer<4x4xi64>, i64)
// expected-error@+1 {{barriers are a !tile.buffer<Nxi64>, not !tile.buffer<4x4xi64>}}
gpu.mbarrier_arrive %b[%i] : !tile.buffer<4x4xi64>

// -----

%b, %i = "test.op"() : () -> (!tile.buffer<4xi64>, i64)
// expected-error@+1 {{a phase takes 1 to 1048575 arrivals, not 0}}
gpu.mbarrier_init %b[%i] {count = 0} : !tile.buffer<4xi64>

// -----

%b, %i = "test.op"() : () -> (!tile.buffer<4xi64>, i64)
// expected-error@+1 {{a phase takes 0 to 1048575 bytes, not 1048576}}
gpu.mbarrier_arrive %b[%i] {expect = 1048576} : !tile.buffer<4xi64>

// -----

// expected-error@+1 {{a thread has 24 to 256 registers, a multiple of 8, not 100}}
gpu.setmaxnreg {registers = 100, direction = 1}

// -----

// expected-error@+1 {{direction is 1 (take) or -1 (give), not 0}}
gpu.setmaxnreg {registers = 96, direction = 0}

// -----

// expected-error@+1 {{a barrier of some threads has both an id and their number}}
simt.barrier {id = 1}

// -----

// expected-error@+1 {{a barrier of some threads has an id from 1 to 15, not 16}}
simt.barrier {id = 16, threads = 32}

// -----

// expected-error@+1 {{whole warps meet, not 33 threads}}
simt.barrier {id = 1, threads = 33}
