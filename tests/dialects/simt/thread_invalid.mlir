// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of threads, warps and atomics refuse.

// expected-error@+1 {{a block has the axes 0, 1 and 2}}
%i = simt.thread_idx {axis = 3}

// -----

// expected-error@+1 {{a block has the axes 0, 1 and 2}}
%i = simt.block_dim {axis = -1}

// -----

%x, %i = "test.op"() : () -> (!tile.view<?x16xf32, shared>, i64)
// expected-error@+1 {{1 index for !tile.view<?x16xf32, shared> of rank 2}}
%a = simt.element_load %x[%i] : !tile.view<?x16xf32, shared> -> f32

// -----

%x, %i = "test.op"() : () -> (!tile.view<?xf32, shared>, i64)
// expected-error@+1 {{an element of !tile.view<?xf32, shared> is not f64}}
%a = simt.element_load %x[%i] : !tile.view<?xf32, shared> -> f64

// -----

%x, %i = "test.op"() : () -> (!tile.view<?xf32, shared>, i64)
// expected-error@+1 {{an element is proved, launch, checked or unchecked, not masked}}
%a = simt.element_load %x[%i] {bounds = #tile.bounds<masked [0]>} : !tile.view<?xf32, shared> -> f32

// -----

%x, %i = "test.op"() : () -> (!tile.view<?xf32, shared>, i64)
// expected-error@+1 {{the bounds name axis 1 of an array of rank 1}}
%a = simt.element_load %x[%i] {bounds = #tile.bounds<checked [1]>} : !tile.view<?xf32, shared> -> f32

// -----

%x, %i = "test.op"() : () -> (!tile.view<?xf32, atomic>, i64)
// expected-error@+1 {{a plain load of an atomic view}}
%a = simt.element_load %x[%i] : !tile.view<?xf32, atomic> -> f32

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xf32, shared>, i64, f32)
// expected-error@+1 {{a plain store needs an owned view or a buffer}}
simt.element_store %v, %x[%i] : f32, !tile.view<?xf32, shared>

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xf32, atomic>, i64, f32)
// expected-error@+1 {{a plain store needs an owned view or a buffer}}
simt.element_store %v, %x[%i] : f32, !tile.view<?xf32, atomic>

// -----

%i = "test.op"() : () -> i64
// expected-error@+1 {{the bounds name axis 1 of an array of rank 1}}
simt.check_index %i below %i {array = "x", bounds = #tile.bounds<checked [1]>}

// -----

%i = "test.op"() : () -> i64
// expected-error@+1 {{a check is of index, row, column, start, count, rank, not of 'length'}}
simt.check_index %i below %i {array = "x", what = "length"}

// -----

// expected-error@+1 {{!tile.buffer<4xf32> cannot begin at byte 2: its elements take 4 bytes}}
%m = simt.dynamic_shared {offset = 2} : !tile.buffer<4xf32>

// -----

simt.kernel @k() attributes {simt.dynamic_shared = 16 : i64} {
  // expected-error@+1 {{the buffer ends at byte 32 of 16 of dynamic shared memory}}
  %m = simt.dynamic_shared {offset = 16} : !tile.buffer<4xf32>
  simt.return
}

// -----

simt.kernel @k() {
  // expected-error@+1 {{the buffer ends at byte 16 of 0 of dynamic shared memory}}
  %m = simt.dynamic_shared {offset = 0} : !tile.buffer<4xf32>
  simt.return
}

// -----

%v, %l = "test.op"() : () -> (f32, i32)
// expected-error@+1 {{a shuffle is one of idx, up, down, xor, not 'left'}}
%a = simt.shuffle %v, %l {kind = "left"} : f32 -> f32

// -----

%v, %l = "test.op"() : () -> (vector<2xf32>, i32)
// expected-error@+1 {{a shuffle takes a scalar, not vector<2xf32>}}
%a = simt.shuffle %v, %l {kind = "up"} : vector<2xf32> -> vector<2xf32>

// -----

%v, %l = "test.op"() : () -> (f32, i32)
// expected-error@+1 {{width is a power of two up to 32, not 64}}
%a = simt.shuffle %v, %l {kind = "up", width = 64} : f32 -> f32

// -----

%v, %l = "test.op"() : () -> (f32, i32)
// expected-error@+1 {{a shuffle of f32 does not give i32}}
%a = simt.shuffle %v, %l {kind = "up"} : f32 -> i32

// -----

%c = "test.op"() : () -> i1
// expected-error@+1 {{a vote is one of any, all, ballot, not 'most'}}
%a = simt.vote %c {kind = "most"} : i1

// -----

%c = "test.op"() : () -> i1
// expected-error@+1 {{the vote 'all' gives i1, not i32}}
%a = simt.vote %c {kind = "all"} : i32

// -----

%c = "test.op"() : () -> i32
// expected-error@+1 {{a match is one of any, all, not 'none'}}
%a = simt.match %c {kind = "none"} : i32 -> i32

// -----

%c = "test.op"() : () -> i16
// expected-error@+1 {{a match compares 32 or 64 bits, not i16}}
%a = simt.match %c {kind = "any"} : i16 -> i32

// -----

%c = "test.op"() : () -> index
// expected-error@+1 {{a warp's reduction takes a scalar, not index}}
%a = simt.warp_reduce %c {kind = "sum"} : index -> index

// -----

%c = "test.op"() : () -> f32
// expected-error@+1 {{xor reduces integers, not f32}}
%a = simt.warp_reduce %c {kind = "xor"} : f32 -> f32

// -----

%c = "test.op"() : () -> f32
// expected-error@+1 {{a reduction of f32 does not give f64}}
%a = simt.warp_reduce %c {kind = "sum"} : f32 -> f64

// -----

// expected-error@+1 {{a lane mask is one of eq, lt, le, gt, ge, not 'ne'}}
%a = simt.lane_mask {kind = "ne"}

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xf32, atomic>, i64, f32)
// expected-error@+1 {{an atomic is one of add, sub, max, min, umax, umin, and, or, xor, exch, inc, dec, not 'mul'}}
%a = simt.atomic_rmw %v, %x[%i] {kind = "mul"} : f32, !tile.view<?xf32, atomic> -> f32

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xf32, owned>, i64, f32)
// expected-error@+1 {{an atomic needs an atomic view or a buffer}}
%a = simt.atomic_rmw %v, %x[%i] {kind = "add"} : f32, !tile.view<?xf32, owned> -> f32

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xi8, atomic>, i64, i8)
// expected-error@+1 {{atomics work on 16, 32 and 64 bits, not on i8}}
%a = simt.atomic_rmw %v, %x[%i] {kind = "add"} : i8, !tile.view<?xi8, atomic> -> i8

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xf32, atomic>, i64, f32)
// expected-error@+1 {{the old value is f32, not i32}}
%a = simt.atomic_rmw %v, %x[%i] {kind = "add"} : f32, !tile.view<?xf32, atomic> -> i32

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xf32, atomic>, i64, f32)
// expected-error@+1 {{the atomic and works on integers, not on f32}}
%a = simt.atomic_rmw %v, %x[%i] {kind = "and"} : f32, !tile.view<?xf32, atomic> -> f32

// -----

%x, %i, %v = "test.op"() : () -> (!tile.view<?xf32, atomic>, i64, f32)
// expected-error@+1 {{an order is one of relaxed, acquire, release, acq_rel, not 'seq_cst'}}
%a = simt.atomic_rmw %v, %x[%i] {kind = "add", order = "seq_cst"} : f32, !tile.view<?xf32, atomic> -> f32

// -----

%x, %i, %v, %w = "test.op"() : () -> (!tile.view<?xi64, atomic>, i64, i32, i64)
// expected-error@+1 {{i32 is compared, i64 stored}}
%a = simt.atomic_cas %v, %w, %x[%i] : i32, i64, !tile.view<?xi64, atomic> -> i64

// -----

// expected-error@+1 {{a scope is one of block, cluster, device, system, not 'warp'}}
simt.fence {scope = "warp"}

// -----

// expected-error@+1 {{simt.block is three extents of at most 1024 threads, not array<i64: 64, 64, 1>}}
simt.kernel @k() attributes {simt.block = array<i64: 64, 64, 1>} {
  simt.return
}

// -----

// expected-error@+1 {{simt.block is three extents of at most 1024 threads, not array<i64: 64>}}
simt.kernel @k() attributes {simt.block = array<i64: 64>} {
  simt.return
}

// -----

// expected-error@+1 {{simt.cluster is three extents of at most 16 blocks, not array<i64: 32, 1, 1>}}
simt.kernel @k() attributes {simt.cluster = array<i64: 32, 1, 1>} {
  simt.return
}

// -----

// expected-error@+1 {{simt.requires is an array of strings, not "n > 0"}}
simt.kernel @k() attributes {simt.requires = "n > 0"} {
  simt.return
}

// -----

// expected-error@+1 {{simt.requires has "len(q) == 4": 'q' is the tile.name of no parameter}}
simt.kernel @k(%q: !tile.view<?xf32, shared>) attributes {simt.requires = ["len(q) == 4"]} {
  simt.return
}

// -----

// expected-error@+1 {{simt.requires has "n > m": 'm' is the tile.name of no parameter}}
simt.kernel @k(%q: !tile.view<?xf32, shared> {tile.name = "q"}, %n: i64 {tile.name = "n"}) attributes {simt.requires = ["n > m"]} {
  simt.return
}

// -----

// expected-error@+1 {{simt.requires has "q > 1": 'q' is an array: write len(q) or q.shape[axis]}}
simt.kernel @k(%q: !tile.view<?xf32, shared> {tile.name = "q"}, %n: i64 {tile.name = "n"}) attributes {simt.requires = ["q > 1"]} {
  simt.return
}

// -----

// expected-error@+1 {{simt.requires has "n.shape[0] > 1": 'n' is not an array, and has no extents}}
simt.kernel @k(%q: !tile.view<?xf32, shared> {tile.name = "q"}, %n: i64 {tile.name = "n"}) attributes {simt.requires = ["n.shape[0] > 1"]} {
  simt.return
}

// -----

// expected-error@+1 {{simt.guards is an array of strings, not "len(q) > 1"}}
simt.kernel @k(%q: !tile.view<?xf32, shared> {tile.name = "q"}) attributes {simt.guards = "len(q) > 1"} {
  simt.return
}

// -----

// expected-error@+1 {{simt.guards has "len(p) > 1": 'p' is the tile.name of no parameter}}
simt.kernel @k(%q: !tile.view<?xf32, shared> {tile.name = "q"}) attributes {simt.guards = ["len(p) > 1"]} {
  simt.return
}

// -----

// expected-error@+1 {{simt.requires has "n >": it is not an expression}}
simt.kernel @k(%q: !tile.view<?xf32, shared> {tile.name = "q"}, %n: i64 {tile.name = "n"}) attributes {simt.requires = ["n >"]} {
  simt.return
}

// -----

// expected-error@+1 {{simt.max_threads is 1 to 1024, not 0 : i64}}
simt.kernel @k() attributes {simt.max_threads = 0 : i64} {
  simt.return
}

// -----

// expected-error@+1 {{simt.grid_rank is 1, 2 or 3, not 4 : i64}}
simt.kernel @k() attributes {simt.grid_rank = 4 : i64} {
  simt.return
}
